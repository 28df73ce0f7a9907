"""What laying cards does to a deal, and whether the turn can be finished afterwards (R3.6, R4, R5)."""

from buraco_rules.cards import RANK
from buraco_rules.deal import MAX_UNDO_STEPS, Deal, Side, Turn, UndoStep
from buraco_rules.meld import SET, Meld, card_points, is_winning_twos, ranks_taken
from buraco_rules.melds.candidates import offers
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.melds.outcomes import Outcome
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.play.going_out import Emptied, emptied, is_pot_sure, may_be_emptied
from buraco_rules.violations import Violation


def without(hand: tuple[int, ...], cards: tuple[int, ...]) -> tuple[int, ...]:
    """The hand without these cards. Raises ValueError where it does not hold them."""
    rest = list(hand)
    for card in cards:
        rest.remove(card)
    return tuple(rest)


def outcome_of(deal: Deal, move: LayMeld | LayOff) -> Outcome | None:
    """What the seat to move would make by a meld or lay-off; None where the cards do not fit."""
    base = deal.side.melds[move.meld] if isinstance(move, LayOff) else None
    return meld_book(deal.rules).choose(base, move.cards, move.wild_position)


def lay(deal: Deal, index: int | None, outcome: Outcome) -> Deal:
    """The deal after cards of the hand were laid, as a new meld or on the meld `index`; the hand may then be empty.

    Judges nothing: see `lay_violation`.
    """
    cards, meld, pile, seat = outcome.cards, outcome.meld, deal.pile, deal.seat_to_move
    melds, pots_taken, unplayed_pots, required, penalties = deal.sides[seat & 1]
    number, locked, must, _, undo = deal.turn
    hand, before = without(deal.hands[seat], cards), None if index is None else melds[index]
    melds = (*melds, meld) if index is None else _with_meld(melds, index, meld)
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
        undo = _remembering(undo, UndoStep(place, before, cards, locked, must, unplayed))
    if must:
        hand, pile = tuple(sorted(hand + pile)), ()
    if locked in cards:
        locked = 0
    if unplayed:
        unplayed_pots = tuple([pot for pot in unplayed_pots if pot != seat])
    side = Side(melds, pots_taken, unplayed_pots, required, penalties)
    turn = Turn(number, locked, 0, attempt, undo)
    return deal.played(stock=deal.stock, pile=pile, hand=hand, side=side, turn=turn)


def lay_violation(deal: Deal, index: int | None, outcome: Outcome) -> Violation | None:
    """Why the turn may not go on with this lay; None if it may. Only what hands and obligations say: the cards fit."""
    turn = deal.turn
    if turn.must_meld and turn.must_meld not in outcome.cards:
        return Violation.TOP_CARD_FIRST
    meld = outcome.meld
    if index is None and meld.kind is SET and RANK[meld.natural] in ranks_taken(deal.rules, deal.side.melds):
        return Violation.SECOND_SET
    left = len(deal.hand) - len(outcome.cards) + (len(deal.pile) if turn.must_meld else 0)
    if left >= 2:
        return None
    return turn_violation(lay(deal, index, outcome), meld)


def legal_lays(deal: Deal) -> list[LayMeld | LayOff]:
    """Every legal meld and lay-off of the seat to move, which has drawn. Each once, its wild's place given if one
    acts.
    """
    hand, must = deal.hand, deal.turn.must_meld
    moves = offers(deal.rules, hand, deal.side.melds, must)
    if must:
        moves = [move for move in moves if must in move.cards]
    if is_pot_sure(deal) and not deal.turn.locked_card:
        return moves
    # With two cards left a turn can always be finished (R3.6).
    safe = len(hand) - 2 + (len(deal.pile) if must else 0)
    return [move for move in moves if len(move.cards) <= safe or _can_go_on(deal, move)]


def _can_go_on(deal: Deal, move: LayMeld | LayOff) -> bool:
    outcome = outcome_of(deal, move)
    index = move.meld if isinstance(move, LayOff) else None
    return outcome is not None and lay_violation(deal, index, outcome) is None


def turn_violation(after: Deal, meld: Meld | None = None) -> Violation | None:
    """Why the turn cannot be finished legally from here; None if it can. `meld` is the one just laid (R3.6)."""
    if meld is not None and is_winning_twos(after.rules, meld):
        return None
    if not after.hand:
        follows = emptied(after, after.side)
        return follows if isinstance(follows, Violation) else None
    return None if len(after.hand) >= 2 or _last_card_can_go(after) else Violation.DEAD_END


def discard_violation(deal: Deal, card: int) -> Violation | None:
    """Why this card of the hand may not be discarded now; None if it may (R3.3, R3.4, R3.6, R6, R7)."""
    turn = deal.turn
    if turn.must_meld:
        return Violation.TOP_CARD_FIRST
    if turn.locked_card and turn.locked_card == card and _is_locked(deal):  # 0 is no lock, nor a card
        return Violation.CARD_LOCKED
    if len(deal.hand) > 1 or turn.opening_attempt:  # a failed attempt returns its cards before the hand is judged
        return None
    follows = emptied(deal, deal.side, discard=card)
    return follows if isinstance(follows, Violation) else None


def discardable(deal: Deal) -> list[int]:
    """Every face of the hand that may be discarded now, once."""
    hand = deal.hand
    if len(hand) == 1 or deal.turn.must_meld:
        return [card for card in hand if discard_violation(deal, card) is None]
    cards = list(dict.fromkeys(hand))
    if deal.turn.locked_card in cards and _is_locked(deal):
        cards.remove(deal.turn.locked_card)
    return cards


def _is_locked(deal: Deal) -> bool:
    """Whether the hand holds only the locked copy of the locked card: with a twin, one of the two may go (R3.3)."""
    return deal.hand.count(deal.turn.locked_card) < 2


def with_moved_wild(deal: Deal, index: int, meld: Meld) -> Deal:
    """The deal after a wild moved in the meld `index`, which is now `meld`."""
    side, turn = deal.side, deal.turn
    melds = _with_meld(side.melds, index, meld)
    undo = turn.undo
    if not side.opening_required:
        unplayed = deal.seat_to_move in side.unplayed_pots
        undo = _remembering(undo, UndoStep(index, side.melds[index], (), turn.locked_card, 0, unplayed))
    return deal._replace(sides=deal.with_side(side._replace(melds=melds)), turn=turn._replace(undo=undo))


def _with_meld(melds: tuple[Meld, ...], index: int, meld: Meld) -> tuple[Meld, ...]:
    """The melds, the one of the index replaced."""
    replaced = list(melds)
    replaced[index] = meld
    return tuple(replaced)


def _remembering(undo: tuple[UndoStep, ...], step: UndoStep) -> tuple[UndoStep, ...]:
    """The steps with one more; of a turn without end only the newest are kept."""
    return (*undo[1 - MAX_UNDO_STEPS :], step)


def _last_card_can_go(deal: Deal) -> bool:
    """Whether the last card of the hand can be discarded or laid off, after moving wilds where that helps (R3.6)."""
    (card,) = deal.hand
    if discard_violation(deal, card) is None:
        return True
    if not may_be_emptied(deal):
        return False
    for move in offers(deal.rules, deal.hand, deal.side.melds, card):
        outcome = outcome_of(deal, move)
        # One card is no meld, and what is offered can be laid.
        assert isinstance(move, LayOff)
        assert outcome is not None
        after = lay(deal, move.meld, outcome)
        if is_winning_twos(deal.rules, outcome.meld) or isinstance(emptied(after, after.side), Emptied):
            return True
    return any(_last_card_can_go(after) for after in _after_wilds_came_home(deal))


def _after_wilds_came_home(deal: Deal) -> list[Deal]:
    """The deals after one wild was moved to its natural place: the only such move that opens new ways to finish."""
    deals = []
    book = meld_book(deal.rules)
    for index, meld in enumerate(deal.side.melds):
        moved = book.move_wild(meld)
        if moved is not None and moved[0].wild_index is None:
            deals.append(with_moved_wild(deal, index, moved[0]))
    return deals
