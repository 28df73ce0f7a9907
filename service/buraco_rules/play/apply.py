"""Play a move: `apply(deal, move)` returns the next deal and the events, or raises with the rules that it breaks."""

from collections.abc import Callable
from typing import Any, Final

from buraco_rules.cards import JOKER
from buraco_rules.deal import DRAW, OVER, RUNNING, Deal, Ending, Turn, add_card, remove_cards
from buraco_rules.events import (
    DealEnded,
    Discarded,
    Drew,
    Event,
    LaidOff,
    MatchEnded,
    Melded,
    Opened,
    OpeningFailed,
    PotsJoined,
    PotTaken,
    TookPile,
    TookRest,
    WildMoved,
)
from buraco_rules.match.result import match_result
from buraco_rules.match.scoring import score_deal
from buraco_rules.meld import Meld, card_points, is_winning_twos
from buraco_rules.melds.meld_book import Outcome, meld_book
from buraco_rules.melds.refusal import why_not_laid, why_wild_stays
from buraco_rules.moves import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.play.drawing import draw_violation, take_pile
from buraco_rules.play.going_out import LastCard, judge_last_card
from buraco_rules.play.laying import (
    discard_violation,
    lay,
    lay_violation,
    turn_violation,
    with_moved_wild,
)
from buraco_rules.rule_sets import AT_TWO, StockEnd
from buraco_rules.violations import IllegalMove, Violation

Applied = tuple[Deal, tuple[Event, ...]]
"""The deal after a move, and what happened, in order."""


def apply(deal: Deal, move: Move) -> Applied:
    """Return the deal after a move of the seat to move, and the events. Raise IllegalMove if a rule forbids it.

    A pot, the end of the deal or the end of the match follows at once, each with its event.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32), starter=0)
    >>> after, events = apply(deal, DrawStock())
    >>> events
    (Drew(seat=0, card=24, stock_count=62),)
    >>> apply(after, DrawStock())
    Traceback (most recent call last):
    buraco_rules.violations.IllegalMove: there is no second draw (R3.2)
    """
    if deal.phase is OVER:
        raise IllegalMove(Violation.DEAL_OVER)
    return _APPLY_BY_TYPE[type(move)](deal, move)


def apply_for(deal: Deal, seat: int, move: Move) -> Applied:
    """Return what `apply` does, for a move of a given seat. Raise IllegalMove out of turn as well (R3.2).

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32), starter=0)
    >>> apply_for(deal, 1, DrawStock())
    Traceback (most recent call last):
    buraco_rules.violations.IllegalMove: another seat is to move (R3.2)
    """
    if deal.phase is not OVER and seat != deal.seat_to_move:
        raise IllegalMove(Violation.NOT_YOUR_TURN)
    return apply(deal, move)


def _draw_stock(deal: Deal, move: DrawStock) -> Applied:
    _raise_if_any(draw_violation(deal, move))
    card = deal.stock[-1]
    stock = deal.stock[:-1]
    hand = add_card(deal.hand, card)
    after = deal.continue_turn(stock=stock, pile=deal.pile, hand=hand, side=deal.side, turn=deal.turn)
    return after, (Drew(deal.seat_to_move, card, len(stock)),)


def _take_pile(deal: Deal, move: TakePile) -> Applied:
    _raise_if_any(draw_violation(deal, move))
    pile = deal.pile
    shown = pile[-1:] if deal.rules.closed_pile else pile
    return take_pile(deal), (TookPile(deal.seat_to_move, shown, len(pile)),)


def _lay_meld(deal: Deal, move: LayMeld) -> Applied:
    return _lay(deal, None, move.cards, move.wild_position)


def _lay_off(deal: Deal, move: LayOff) -> Applied:
    return _lay(deal, move.meld, move.cards, move.wild_position)


def _lay(deal: Deal, index: int | None, cards: tuple[int, ...], wild_position: int | None) -> Applied:
    if deal.phase is DRAW:
        raise IllegalMove(Violation.NOT_DRAWN)
    side, seat, pile, turn = deal.side, deal.seat_to_move, deal.pile, deal.turn
    if index is not None and not 0 <= index < len(side.melds):
        raise IllegalMove(Violation.NO_SUCH_MELD)
    base = None if index is None else side.melds[index]
    outcome = _choose_outcome(deal, base, cards, wild_position)
    _raise_if_any(lay_violation(deal, index, outcome))
    after = lay(deal, index, outcome)
    events: list[Event] = [_laid_event(seat, index, len(side.melds), outcome)]
    if side.opening_required and not after.side.opening_required:
        events.append(Opened(seat, sum(card_points(deal.rules, meld.cards) for meld in after.side.melds)))
    if turn.must_meld:
        events.append(TookRest(seat, pile, len(pile)))
    if is_winning_twos(deal.rules, outcome.meld):
        return _end_deal(after, Ending.TWOS_BURACO, events)
    if not after.hand:
        if judge_last_card(after, after.side) is LastCard.CLOSE:
            return _end_deal(after, Ending.CLOSED, events)
        after = _take_pot(after, events, in_flight=True)
    return after, tuple(events)


def _choose_outcome(deal: Deal, base: Meld | None, cards: tuple[int, ...], wild_position: int | None) -> Outcome:
    """Return what laying these cards makes. Raise IllegalMove if they do not fit or are not in the hand."""
    if not all([0 < card <= JOKER for card in cards]):
        raise IllegalMove(Violation.CARD_NOT_IN_HAND)
    outcome = meld_book(deal.rules).choose(base, cards, wild_position)
    reasons = [] if _has_cards(deal.hand, cards) else [Violation.CARD_NOT_IN_HAND]
    if outcome is None:
        reasons += why_not_laid(deal.rules, base, cards, wild_position)
    if reasons or outcome is None:
        raise IllegalMove(*reasons)
    return outcome


def _laid_event(seat: int, index: int | None, melds: int, outcome: Outcome) -> Event:
    if index is None:
        return Melded(seat, melds, outcome.meld)
    return LaidOff(seat, index, outcome.cards, outcome.meld)


def _move_wild(deal: Deal, move: MoveWild) -> Applied:
    if deal.phase is DRAW:
        raise IllegalMove(Violation.NOT_DRAWN)
    if deal.turn.must_meld:
        raise IllegalMove(Violation.TOP_CARD_FIRST)
    melds = deal.side.melds
    if not 0 <= move.meld < len(melds):
        raise IllegalMove(Violation.NO_SUCH_MELD)
    moved = meld_book(deal.rules).move_wild(melds[move.meld])
    if moved is None:
        raise IllegalMove(why_wild_stays(deal.rules, melds[move.meld]))
    meld, place = moved
    if place != move.wild_position:
        raise IllegalMove(Violation.WILD_POSITION)
    after = with_moved_wild(deal, move.meld, meld)
    _raise_if_any(turn_violation(after))
    return after, (WildMoved(deal.seat_to_move, move.meld, meld),)


def _discard(deal: Deal, move: Discard) -> Applied:
    if deal.phase is DRAW:
        raise IllegalMove(Violation.NOT_DRAWN)
    card, hand, seat, side = move.card, deal.hand, deal.seat_to_move, deal.side
    if card not in hand:
        raise IllegalMove(Violation.CARD_NOT_IN_HAND)
    _raise_if_any(discard_violation(deal, card))
    events: list[Event] = [Discarded(seat, card)]
    pile, hand = (*deal.pile, card), remove_cards(hand, (card,))
    if seat in side.unplayed_pots:
        side = side._replace(unplayed_pots=tuple([s for s in side.unplayed_pots if s != seat]))
    if hand and not side.opening_required and not _ending(deal):
        return deal.end_turn(pile, hand, side), tuple(events)  # as nearly all turns end
    after = deal.continue_turn(stock=deal.stock, pile=pile, hand=hand, side=side, turn=deal.turn)
    if side.opening_required:
        after = _settle_opening(after, events)
    if not after.hand:
        if judge_last_card(after, after.side, discard=card) is LastCard.CLOSE:
            return _end_deal(after, Ending.CLOSED, events)
        after = _take_pot(after, events, in_flight=False)
    return _end_turn(after, events)


def _settle_opening(deal: Deal, events: list[Event]) -> Deal:
    """Return the deal with the cards of a side that did not reach its opening minimum back in the hand (R11.2)."""
    minimum, side, attempt = deal.rules.opening_minimum, deal.side, deal.turn.opening_attempt
    if minimum is None or not (attempt or minimum.every_turn):
        return deal
    cards = tuple(sorted(card for meld in side.melds for card in meld.cards))  # a side has none before it opens
    failed = side._replace(
        melds=(),
        opening_required=side.opening_required + minimum.step,
        opening_penalties=side.opening_penalties + minimum.penalty,
    )
    events.append(OpeningFailed(deal.seat_to_move, cards, minimum.penalty, failed.opening_required))
    return deal._replace(
        hands=deal.replace_hand(tuple(sorted(deal.hand + cards))),
        sides=deal.replace_side(failed),
    )


def _take_pot(deal: Deal, events: list[Event], *, in_flight: bool) -> Deal:
    """Return the deal after the seat to move took the next pot (R6.1). Nothing before it can be undone (R11.4)."""
    seat, side, pot = deal.seat_to_move, deal.side, deal.pots[0]
    events.append(PotTaken(seat, in_flight, tuple(sorted(pot)), len(pot)))
    unplayed = tuple(sorted({*side.unplayed_pots, seat}))
    taken = side._replace(pots_taken=side.pots_taken + 1, unplayed_pots=unplayed)
    return deal._replace(
        pots=deal.pots[1:],
        hands=deal.replace_hand(tuple(sorted(pot))),
        sides=deal.replace_side(taken),
        turn=Turn(deal.turn.number),
    )


def _end_turn(deal: Deal, events: list[Event]) -> Applied:
    """Return the deal at the next seat's turn, or over if the stock or the turns have run out (R8)."""
    if not deal.stock and deal.pots and deal.rules.stock_end is StockEnd.POTS_JOIN:
        deal = deal._replace(stock=tuple(card for pot in reversed(deal.pots) for card in pot), pots=())
        events.append(PotsJoined(len(deal.stock)))
    ending = _ending(deal)
    if ending:
        return _end_deal(deal, ending, events)
    return deal.end_turn(deal.pile, deal.hand, deal.side), tuple(events)


def _ending(deal: Deal) -> Ending:
    """Return why the deal ends with this turn, unless pots join the stock; NONE if another turn follows (R8)."""
    rules = deal.rules
    if len(deal.stock) <= (2 if rules.stock_end is AT_TWO else 0):
        return Ending.STOCK
    return Ending.MAX_TURNS if deal.turn.number >= rules.max_turns else RUNNING


def _end_deal(deal: Deal, ending: Ending, events: list[Event]) -> Applied:
    over = deal._replace(phase=OVER, ending=ending, turn=Turn(deal.turn.number))
    by_seat = over.seat_to_move if ending in (Ending.CLOSED, Ending.TWOS_BURACO) else None
    events.append(DealEnded(ending, by_seat, score_deal(over), over.hands))
    result = match_result(over)
    if result is not None:
        events.append(MatchEnded(result.winner, result.scores))
    return over, tuple(events)


def _has_cards(hand: tuple[int, ...], cards: tuple[int, ...]) -> bool:
    try:
        remove_cards(hand, cards)
    except ValueError:
        return False
    return True


def _raise_if_any(violation: Violation | None) -> None:
    if violation is not None:
        raise IllegalMove(violation)


_APPLY_BY_TYPE: Final[dict[type, Callable[[Deal, Any], Applied]]] = {
    DrawStock: _draw_stock,
    TakePile: _take_pile,
    LayMeld: _lay_meld,
    LayOff: _lay_off,
    MoveWild: _move_wild,
    Discard: _discard,
}
