"""Positions in words: a whole deal from the few cards that matter, every other card of the deck dealt somewhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from buraco_notation import format_cards, parse_cards
from buraco_rules import (
    HAND_SIZE,
    POTS,
    PRESETS_BY_ID,
    Deal,
    Discard,
    IllegalMove,
    LayMeld,
    LayOff,
    Match,
    Meld,
    MeldKind,
    Move,
    Phase,
    RuleSet,
    Side,
    Turn,
    Violation,
    apply,
    make_meld,
)
from buraco_rules.cards import ACE, ACE_HIGH, RANK, SUIT, WILDS, deck
from buraco_rules.events import Event

CLASSIC = PRESETS_BY_ID["buraco-plus-classic"]
INDIRECT = PRESETS_BY_ID["professional-indirect"]
DIRECT = PRESETS_BY_ID["professional-direct"]
OPEN = PRESETS_BY_ID["open"]
DIRTY_OPEN = PRESETS_BY_ID["dirty-open"]
CLOSED = PRESETS_BY_ID["closed"]
WTCC = PRESETS_BY_ID["closed-wtcc"]
CLOSED_DIRTY = PRESETS_BY_ID["closed-dirty"]
BURRACO = PRESETS_BY_ID["burraco"]
FIBUR = PRESETS_BY_ID["burraco-fibur"]

DIRTY_BURACO = "3s 4s 5s 6s 2d@7 8s 9s"
CLEAN_BURACO = "3s 4s 5s 6s 7s 8s 9s"


def house(base: RuleSet, **options: Any) -> RuleSet:
    """House rules: a rule set with some options changed."""
    return replace(base, id="house-rules", **options)


def meld_of(rules: RuleSet, text: str) -> Meld:
    """A meld from text in order of place; a card that acts as a wild bears its place, `Jo@5`, in a set a star, `Jo*`.

    A trailing `!` says that the meld stays dirty (R9.3).
    """
    words = text.removesuffix("!").split()
    cards = parse_cards(" ".join(word.split("@")[0].rstrip("*") for word in words))
    marks = [index for index, word in enumerate(words) if "@" in word or "*" in word]
    wild_index = marks[0] if marks else None
    assert len(marks) <= 1, f"two wilds act in {text}"
    naturals = [(index, card) for index, card in enumerate(cards) if index != wild_index]
    if len({SUIT[card] for _, card in naturals}) > 1 or len({RANK[card] for _, card in naturals}) == 1:
        assert len({RANK[card] for _, card in naturals}) == 1, f"{text} is no set"
        return make_meld(rules, MeldKind.SET, cards, 0, wild_index, stays_dirty=text.endswith("!"))
    index, card = next(((i, c) for i, c in naturals if RANK[c] != ACE), naturals[0])
    low = RANK[card] - index
    for place, natural in ((low + i, c) for i, c in naturals):
        assert place == RANK[natural] or (place, RANK[natural]) == (ACE_HIGH, ACE), f"{text} is no run"
    if wild_index is not None:
        assert words[wild_index].endswith(f"@{low + wild_index}"), f"{text} names another place for its wild"
        assert cards[wild_index] in WILDS, f"{text} has a wild that is none"
    return make_meld(rules, MeldKind.RUN, cards, low, wild_index, stays_dirty=text.endswith("!"))


def show(meld: Meld) -> str:
    """A meld as `meld_of` reads it, without the mark of what stays dirty."""
    words = format_cards(meld.cards).split()
    if meld.wild_index is not None:
        words[meld.wild_index] += "*" if meld.kind is MeldKind.SET else f"@{meld.low_position + meld.wild_index}"
    return " ".join(words)


def position(
    rules: RuleSet,
    *,
    hand: str,
    seats: int = 2,
    seat: int = 0,
    others: dict[int, str] | None = None,
    melds: Sequence[str] = (),
    their_melds: Sequence[str] = (),
    pile: str = "",
    next_cards: str = "",
    stock: int | None = None,
    pots: int | Sequence[str] | None = None,
    taken: int = 0,
    they_took: int = 0,
    unplayed: Sequence[int] = (),
    they_unplayed: Sequence[int] = (),
    required: int = 0,
    penalties: int = 0,
    they_require: int = 0,
    phase: Phase = Phase.MELD,
    locked: str = "",
    turn: int = 5,
    scores: tuple[int, int] = (0, 0),
    target: int = 0,
    starter: int = 0,
    deal_number: int = 1,
) -> Deal:
    """A deal in the middle of a turn of `seat`, all of the deck's cards in it.

    `hand` and `melds` are those of the seat to move and its side; `others` gives the hands of other seats. The pots not
    taken lie on the table where `pots` does not say otherwise; `next_cards` are those drawn next, `stock` is how many
    cards the stock has in all. Cards that nothing names are dealt out: 11 to each other hand and pot, the rest to the
    stock, and what a short stock does not take to the seat before the one to move.
    """
    others = dict(others or {})
    left = deck(rules.jokers)

    def take(cards: Sequence[int]) -> tuple[int, ...]:
        for card in cards:
            assert card in left, f"{format_cards((card,))} is used once too often"
            left.remove(card)
        return tuple(cards)

    own = Side(tuple(meld_of(rules, text) for text in melds), taken, tuple(unplayed), required, penalties)
    their = Side(tuple(meld_of(rules, text) for text in their_melds), they_took, tuple(they_unplayed), they_require)
    for meld in (*own.melds, *their.melds):
        take(meld.cards)
    pots = max(0, POTS - taken - they_took) if pots is None else pots
    fixed_pots = [] if isinstance(pots, int) else [take(parse_cards(text)) for text in pots]
    held = {seat: take(parse_cards(hand)), **{other: take(parse_cards(text)) for other, text in others.items()}}
    on_pile = take(parse_cards(pile))
    top = take(parse_cards(next_cards))[::-1]
    left = left[::2] + left[1::2]
    if isinstance(pots, int):
        fixed_pots = [tuple(left.pop() for _ in range(HAND_SIZE)) for _ in range(pots)]
    for other in range(seats):
        if other not in held:
            held[other] = tuple(left.pop() for _ in range(HAND_SIZE))
    if stock is not None:
        before = (seat - 1) % seats
        surplus = len(left) + len(top) - stock
        assert 0 <= surplus <= len(left), f"no stock of {stock} is left"
        held[before] += tuple(left[:surplus])
        left = left[surplus:]
    assert set(held) == set(range(seats))
    return Deal(
        rules=rules,
        seats=seats,
        match=Match(deal_number, scores, starter, target),
        stock=(*left, *top),
        pile=on_pile,
        pots=tuple(fixed_pots),
        hands=tuple(tuple(sorted(held[number])) for number in range(seats)),
        sides=(their, own) if seat & 1 else (own, their),
        seat_to_move=seat,
        phase=phase,
        turn=Turn(turn, parse_cards(locked)[0] if locked else 0),
    )


def all_cards(deal: Deal) -> list[int]:
    """Every card of a deal, sorted, wherever it lies."""
    melded = [card for side in deal.sides for meld in side.melds for card in meld.cards]
    return sorted([*deal.stock, *deal.pile, *melded, *(card for part in (*deal.pots, *deal.hands) for card in part)])


def lay(cards: str, at: int | None = None) -> LayMeld:
    """A new meld, its wild at a place where one is given."""
    return LayMeld(parse_cards(cards), at)


def lay_off(meld: int, cards: str, at: int | None = None) -> LayOff:
    """A lay-off on the meld of this index, the wild at a place where one is given."""
    return LayOff(meld, parse_cards(cards), at)


def discard(card: str) -> Discard:
    """A discard."""
    return Discard(parse_cards(card)[0])


def play(deal: Deal, *moves: Move) -> Deal:
    """The deal after these moves of whoever is to move."""
    for move in moves:
        deal, _ = apply(deal, move)
    return deal


def events_of(deal: Deal, *moves: Move) -> list[Event]:
    """What happens when these moves are made, one list for all."""
    seen: list[Event] = []
    for move in moves:
        deal, events = apply(deal, move)
        seen += events
    return seen


def reasons(deal: Deal, move: Move) -> tuple[Violation, ...]:
    """Why a move is refused, the principal reason first; nothing where it is accepted."""
    try:
        apply(deal, move)
    except IllegalMove as refusal:
        return refusal.violations
    return ()


def reason(deal: Deal, move: Move) -> Violation | None:
    """The principal reason why a move is refused; None where it is accepted."""
    return next(iter(reasons(deal, move)), None)


def table(deal: Deal, side: int = 0) -> list[str]:
    """The melds of a side as text."""
    return [show(meld) for meld in deal.sides[side].melds]


def hand(deal: Deal, seat: int = 0) -> str:
    """The hand of a seat as text, in the order of the deck."""
    return format_cards(deal.hands[seat])


def melded(rules: RuleSet, cards: str, at: int | None = None) -> str:
    """The meld that comes of laying these cards, two more being in the hand, or the reason why none comes."""
    return _tried(position(rules, hand=_with_spares(rules, cards)), lay(cards, at))


def laid_off(rules: RuleSet, meld: str, cards: str, at: int | None = None) -> str:
    """The meld that comes of laying these cards off on a meld, two more being in the hand, or the reason why not."""
    return _tried(position(rules, hand=_with_spares(rules, cards, meld), melds=[meld]), lay_off(0, cards, at))


def _with_spares(rules: RuleSet, cards: str, meld: str = "3h 4h 5h") -> str:
    left = deck(rules.jokers)
    for card in (*parse_cards(cards), *meld_of(rules, meld).cards):
        if card in left:
            left.remove(card)
    return f"{cards} {format_cards(left[:2])}"


def _tried(deal: Deal, move: Move) -> str:
    refused = reason(deal, move)
    return table(play(deal, move))[-1] if refused is None else refused.name
