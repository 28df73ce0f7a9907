"""Events of a deal, hidden cards included: they are redacted for their receiver before they leave the service."""

from buraco_rules._values import value
from buraco_rules.deal import Ending
from buraco_rules.meld import Meld
from buraco_rules.scores import DealScore


@value
class Dealt:
    """The deal was dealt (R2)."""

    deal_number: int
    starter: int
    upcard: int
    """The first discard; 0 where none is turned up."""
    hands: tuple[tuple[int, ...], ...]
    """One a seat, sorted."""
    stock_count: int
    """Cards left in the stock, here and below."""


@value
class Drew:
    """A card was drawn from the stock."""

    seat: int
    card: int
    stock_count: int


@value
class TookPile:
    """The pile was taken."""

    seat: int
    cards: tuple[int, ...]
    """All of an open pile, only the top card of a closed one."""
    size: int
    """How many cards the pile had."""


@value
class TookRest:
    """The rest of a closed pile joined the hand (R3.4)."""

    seat: int
    cards: tuple[int, ...]
    """Without the top card, which was melded."""
    size: int
    """How many cards these are."""


@value
class Melded:
    """A new meld was laid."""

    seat: int
    meld_index: int
    """Index among the side's melds, here and below."""
    meld: Meld


@value
class LaidOff:
    """Cards were laid off."""

    seat: int
    meld_index: int
    cards: tuple[int, ...]
    """Those laid, in order of place."""
    meld: Meld
    """The whole meld afterwards, in the arrangement chosen (R5.4)."""


@value
class WildMoved:
    """A wild was moved to the other end of a run, which is `meld` now (R5.2)."""

    seat: int
    meld_index: int
    meld: Meld


@value
class Discarded:
    """A card was discarded, which ended the turn."""

    seat: int
    card: int


@value
class PotTaken:
    """A pot was picked up (R6.1)."""

    seat: int
    in_flight: bool
    """Whether the last card was melded, so that the turn goes on."""
    cards: tuple[int, ...]
    """The pot, sorted."""
    size: int
    """How many cards the pot had."""


@value
class PotsJoined:
    """The pots left became the stock (R8.2)."""

    stock_count: int


@value
class Opened:
    """A side reached its opening minimum (R11.2)."""

    seat: int
    points: int
    """Those of the cards melded."""


@value
class OpeningFailed:
    """An opening attempt fell short, or a turn went by without one where `every_turn` wants it (R11.2)."""

    seat: int
    cards: tuple[int, ...]
    """Those that return to the hand, which everybody saw; none without an attempt."""
    penalty: int
    next_required: int
    """The side's minimum from now on."""


@value
class Undone:
    """The newest play of the turn was taken back (R11.4); `meld` is the one before it, None if the play made it."""

    seat: int
    meld_index: int
    cards: tuple[int, ...]
    """Those back in the hand; none for a moved wild."""
    meld: Meld | None


@value
class DealEnded:
    """The deal is over; now everybody may see the hands."""

    ending: Ending
    seat: int | None
    """The seat that closed or melded the buraco of 2s; None if the stock or the turns ran out."""
    score: DealScore
    hands: tuple[tuple[int, ...], ...]


@value
class MatchEnded:
    """The match is over (R10)."""

    winner: int | None
    """The side, 0 or 1; None in a draw."""
    scores: tuple[int, int]
    """One a side, the last deal counted."""


Event = (
    Dealt
    | Drew
    | TookPile
    | TookRest
    | Melded
    | LaidOff
    | WildMoved
    | Discarded
    | PotTaken
    | PotsJoined
    | Opened
    | OpeningFailed
    | Undone
    | DealEnded
    | MatchEnded
)
