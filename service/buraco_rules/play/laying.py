"""What laying cards does to a deal, and whether the turn can be finished afterwards (R3.6, R4, R5)."""

from buraco_rules.cards import RANK
from buraco_rules.deal import MAX_UNDO_STEPS, Deal, Side, Turn, UndoStep, remove_cards
from buraco_rules.meld import SET, Meld, card_points, is_winning_twos, ranks_taken
from buraco_rules.melds.candidates import candidate_moves
from buraco_rules.melds.meld_book import Outcome, meld_book
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.play.going_out import can_hand_be_emptied, is_pot_certain, last_card_violation
from buraco_rules.violations import Violation


def choose_outcome(deal: Deal, move: LayMeld | LayOff) -> Outcome | None:
    """Return what a meld or lay-off of the seat to move makes (R5.4); None if the cards do not fit.

    Whether the hand has the cards and the turn allows it is not judged. Raise IndexError for a meld beyond those of the
    side.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))
    >>> choose_outcome(deal, LayMeld((5, 3, 4))).meld.cards
    (3, 4, 5)
    """
    base = deal.side.melds[move.meld] if isinstance(move, LayOff) else None
    return meld_book(deal.rules).choose(base, move.cards, move.wild_position)


def lay(deal: Deal, index: int | None, outcome: Outcome) -> Deal:
    """Return the deal after cards of the hand were laid, as a new meld or on the meld `index`.

    Whether the turn allows it is not checked: `lay_violation` does. The hand may be empty then. Raise ValueError if it
    does not hold the cards.
    """
    cards, meld, pile, seat = outcome.cards, outcome.meld, deal.pile, deal.seat_to_move
    melds, pots_taken, unplayed_pots, required, penalties = deal.sides[seat & 1]
    number, locked, must, _, undo = deal.turn
    hand, before = remove_cards(deal.hands[seat], cards), None if index is None else melds[index]
    melds = (*melds, meld) if index is None else _replace_meld(melds, index, meld)
    unplayed, attempt = seat in unplayed_pots, False
    if required:
        points = sum([card_points(deal.rules, meld.cards) for meld in melds])
        attempt = points < required
        if not attempt:
            required = 0
    elif must and pile:
        undo = ()  # the rest of the pile is revealed to the player
    else:
        place = len(melds) - 1 if index is None else index
        undo = _add_step(undo, UndoStep(place, before, cards, locked, must, unplayed))
    if must:
        hand, pile = tuple(sorted(hand + pile)), ()
    if locked in cards:
        locked = 0
    if unplayed:
        unplayed_pots = tuple([pot for pot in unplayed_pots if pot != seat])
    side = Side(melds, pots_taken, unplayed_pots, required, penalties)
    turn = Turn(number, locked, 0, attempt, undo)
    return deal.continue_turn(stock=deal.stock, pile=pile, hand=hand, side=side, turn=turn)


def with_moved_wild(deal: Deal, index: int, meld: Meld) -> Deal:
    """Return the deal after a wild moved in the meld `index`, which is now `meld`."""
    side, turn = deal.side, deal.turn
    undo = turn.undo
    if not side.opening_required:
        unplayed = deal.seat_to_move in side.unplayed_pots
        undo = _add_step(undo, UndoStep(index, side.melds[index], (), turn.locked_card, 0, unplayed))
    side = side._replace(melds=_replace_meld(side.melds, index, meld))
    return deal._replace(sides=deal.replace_side(side), turn=turn._replace(undo=undo))


def spare_cards(deal: Deal) -> int:
    """Return how many cards the seat to move may lay, whichever they are, and still finish its turn (R3.6).

    Two have to stay, of which one can always be discarded; below 0 not even the hand as it is need be enough. The rest
    of a closed pile joins the hand with the card that must be melded.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> spare_cards(deal_first(PRESETS_BY_ID["open"], 2, bytes(32))[0])
    9
    """
    return len(deal.hands[deal.seat_to_move]) - 2 + (len(deal.pile) if deal.turn.must_meld else 0)


def legal_lays(deal: Deal) -> list[LayMeld | LayOff]:
    """Return every legal meld and lay-off of the seat to move, which must have drawn, in the form of `legal_moves`.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))
    >>> legal_lays(deal._replace(hands=((3, 4, 5, 22, 48),) * 2))
    [LayMeld(cards=(3, 4, 5), wild_position=None)]
    """
    moves = candidate_moves(deal.rules, deal.hand, deal.side.melds, deal.turn.must_meld)
    if is_pot_certain(deal) and not deal.turn.locked_card:
        return moves
    spare = spare_cards(deal)
    return [move for move in moves if len(move.cards) <= spare or _can_finish_after(deal, move)]


def _can_finish_after(deal: Deal, move: LayMeld | LayOff) -> bool:
    outcome = choose_outcome(deal, move)
    assert outcome is not None  # every candidate can be laid
    return turn_violation(lay(deal, move.meld if isinstance(move, LayOff) else None, outcome), outcome.meld) is None


def lay_violation(deal: Deal, index: int | None, outcome: Outcome) -> Violation | None:
    """Return why the turn may not go on with this lay; None if it may. The turn must have drawn, and the cards fit."""
    must, meld = deal.turn.must_meld, outcome.meld
    if must and must not in outcome.cards:
        return Violation.TOP_CARD_FIRST
    if index is None and meld.kind is SET and RANK[meld.natural] in ranks_taken(deal.rules, deal.side.melds):
        return Violation.SECOND_SET
    if len(outcome.cards) <= spare_cards(deal):
        return None
    return turn_violation(lay(deal, index, outcome), meld)


def turn_violation(after: Deal, meld: Meld | None = None) -> Violation | None:
    """Return why the turn cannot be finished legally from here; None if it can (R3.6). `meld` is the one just laid."""
    if spare_cards(after) >= 0 or (meld is not None and is_winning_twos(after.rules, meld)):
        return None
    if not after.hand:
        return last_card_violation(after, after.side)
    return None if _can_last_card_go(after) else Violation.DEAD_END


def discard_violation(deal: Deal, card: int) -> Violation | None:
    """Return why this card of the hand may not be discarded now; None if it may (R3.3, R3.4, R3.6, R6, R7).

    That the turn has drawn and the hand holds the card is not checked.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["professional-direct"], 2, bytes(32))
    >>> discard_violation(deal._replace(hands=((9,), (9,))), 9)
    <Violation.POT_ONLY_IN_FLIGHT: 31>
    """
    turn = deal.turn
    if turn.must_meld:
        return Violation.TOP_CARD_FIRST
    if turn.locked_card and turn.locked_card == card and deal.hand.count(card) < 2:  # of twins one may go; 0 is no lock
        return Violation.CARD_LOCKED
    if len(deal.hand) > 1 or turn.opening_attempt:  # a failed attempt returns its cards before the hand is judged
        return None
    return last_card_violation(deal, deal.side, discard=card)


def _replace_meld(melds: tuple[Meld, ...], index: int, meld: Meld) -> tuple[Meld, ...]:
    replaced = list(melds)
    replaced[index] = meld
    return tuple(replaced)


def _add_step(undo: tuple[UndoStep, ...], step: UndoStep) -> tuple[UndoStep, ...]:
    """Return the steps with one more; of a turn without end only the newest are kept."""
    return (*undo[1 - MAX_UNDO_STEPS :], step)


def _can_last_card_go(deal: Deal) -> bool:
    """Return True if the last card of the hand can be discarded or laid off, after wild moves that help (R3.6)."""
    (card,) = deal.hand
    if discard_violation(deal, card) is None:
        return True
    if not can_hand_be_emptied(deal):
        return False
    moves = candidate_moves(deal.rules, deal.hand, deal.side.melds, card)
    if any([_can_finish_after(deal, move) for move in moves]):
        return True
    return any([_can_last_card_go(after) for after in _move_wilds_home(deal)])


def _move_wilds_home(deal: Deal) -> list[Deal]:
    """Return the deals after one wild became a natural by its move: no other wild move opens new ways to finish."""
    book, deals = meld_book(deal.rules), []
    for index, meld in enumerate(deal.side.melds):
        moved = book.move_wild(meld)
        if moved is not None and moved[0].wild_index is None:
            deals.append(with_moved_wild(deal, index, moved[0]))
    return deals
