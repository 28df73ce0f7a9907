import pytest

from buraco_notation import parse_cards
from buraco_rules import (
    CloseBy,
    Deal,
    Discard,
    DrawStock,
    Ending,
    IllegalMove,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    TakePile,
    Violation,
    apply_for,
)
from buraco_rules.events import Discarded, Drew, PotTaken, TookPile, TookRest
from tests.rules.positions import (
    CLASSIC,
    CLEAN_BURACO,
    CLOSED,
    CLOSED_DIRTY,
    DIRECT,
    DIRTY_BURACO,
    DIRTY_OPEN,
    INDIRECT,
    OPEN,
    discard,
    events_of,
    hand,
    house,
    lay,
    lay_off,
    play,
    position,
    reason,
    reasons,
    table,
)

# ---- R3.1 draw, meld, discard ----------------------------------------------------------------------


def test_draw_from_the_stock() -> None:
    """R3.1: a turn may begin with the top card of the stock, which joins the hand."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", next_cards="9c 8c", stock=30)
    after = play(deal, DrawStock())
    assert (hand(after), after.phase, len(after.stock)) == ("3h Kd 9c", Phase.MELD, 29)
    assert events_of(deal, DrawStock()) == [Drew(0, parse_cards("9c")[0], 29)]


def test_draw_the_whole_pile() -> None:
    """R3.1: a turn may begin with the whole discard pile, and leaves none of it."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", pile="9c 2h Jo")
    after = play(deal, TakePile())
    assert (hand(after), after.phase, after.pile) == ("2h 3h Kd 9c Jo", Phase.MELD, ())
    assert events_of(deal, TakePile()) == [TookPile(0, parse_cards("9c 2h Jo"), 3)]


def test_a_whole_turn() -> None:
    """R3.1: after the draw come any number of melds and lay-offs, then one discard, then the next seat's draw."""
    deal = position(
        CLASSIC, seats=4, seat=3, phase=Phase.DRAW, hand="3h 4h 5h 6h 8s 8d 8c Kd Qd", next_cards="7h", pile="5c"
    )
    after = play(deal, DrawStock(), lay("3h 4h 5h"), lay_off(0, "6h 7h"), lay("8s 8d 8c"), discard("Kd"))
    assert table(after, 1) == ["3h 4h 5h 6h 7h", "8s 8d 8c"]
    assert (hand(after, 3), after.pile) == ("Qd", parse_cards("5c Kd"))
    assert (after.seat_to_move, after.phase, after.turn.number) == (0, Phase.DRAW, 6)


def test_a_turn_without_melds() -> None:
    """R3.1: nobody has to meld."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h 4h 5h Kd", next_cards="7h")
    assert play(deal, DrawStock(), discard("7h")).seat_to_move == 1
    assert events_of(deal, DrawStock(), discard("7h"))[-1] == Discarded(0, parse_cards("7h")[0])


@pytest.mark.parametrize("move", [lay("3h 4h 5h"), lay_off(0, "9h"), MoveWild(0, 9), discard("3h")], ids=str)
def test_nothing_before_the_draw(move: Move) -> None:
    """R3.1: a turn begins with a draw; melding, laying off, moving a wild and discarding come after it."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h 4h 5h 9h Kd", melds=["Jo@5 6h 7h 8h"])
    assert reasons(deal, move) == (Violation.NOT_DRAWN,)
    assert reason(play(deal, DrawStock()), move) is None


def test_empty_stock() -> None:
    """R3.1: an empty stock cannot be drawn from."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", pile="9c", stock=0)
    assert reasons(deal, DrawStock()) == (Violation.STOCK_EMPTY,)


@pytest.mark.parametrize(
    "move", [lay("3h 4h 6h"), lay_off(0, "9s"), discard("Qd"), lay("5h 5h 5s"), lay_off(0, "9h 9h")], ids=str
)
def test_only_cards_of_the_hand(move: Move) -> None:
    """R3.1: cards that the hand does not hold, or not so often, cannot be played."""
    deal = position(CLASSIC, hand="3h 4h 5h 5s 9h Kd", melds=["6h 7h 8h"])
    assert Violation.CARD_NOT_IN_HAND in reasons(deal, move)


# ---- R3.2 what a turn does not hold ----------------------------------------------------------------


def test_empty_pile() -> None:
    """R3.2: an empty pile cannot be taken."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd")
    assert reasons(deal, TakePile()) == (Violation.PILE_EMPTY,)


@pytest.mark.parametrize("first", [DrawStock(), TakePile()], ids=str)
@pytest.mark.parametrize("second", [DrawStock(), TakePile()], ids=str)
def test_no_second_draw(first: Move, second: Move) -> None:
    """R3.2: there is no second draw."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd 9s", pile="9c 8d")
    assert reasons(play(deal, first), second) == (Violation.ALREADY_DRAWN,)


@pytest.mark.parametrize("seat", [1, 2, 3])
@pytest.mark.parametrize("move", [DrawStock(), TakePile(), lay("3h 4h 5h"), discard("Kd")], ids=str)
def test_no_play_out_of_turn(seat: int, move: Move) -> None:
    """R3.2: no seat plays out of turn, the partner neither, whatever the move."""
    for phase in (Phase.DRAW, Phase.MELD):
        deal = position(CLASSIC, seats=4, hand="3h 4h 5h Kd Qd", pile="9c", phase=phase)
        with pytest.raises(IllegalMove) as refusal:
            apply_for(deal, seat, move)
        assert refusal.value.violations == (Violation.NOT_YOUR_TURN,)


def test_the_seat_to_move_may_play() -> None:
    """R3.2: the seat to move plays."""
    deal = position(CLASSIC, seats=4, seat=2, hand="3h 4h 5h Kd Qd")
    assert apply_for(deal, 2, discard("Kd"))[0].seat_to_move == 3


def test_nothing_after_the_discard() -> None:
    """R3.2: after its discard the seat plays nothing more in that turn."""
    after = play(position(CLASSIC, hand="3h 4h 5h Kd Qd"), discard("Kd"))
    for move in (lay("3h 4h 5h"), discard("Qd"), DrawStock()):
        with pytest.raises(IllegalMove) as refusal:
            apply_for(after, 0, move)
        assert refusal.value.violations == (Violation.NOT_YOUR_TURN,)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "move", [DrawStock(), TakePile(), lay("3h 4h 5h"), lay_off(0, "Ts"), MoveWild(0, 2), discard("Kd")], ids=str
)
def test_nothing_after_the_deal(seat: int, move: Move) -> None:
    """R3.2: nothing is played once the deal is over."""
    deal = play(position(CLASSIC, hand="Kd", melds=[DIRTY_BURACO], taken=1), discard("Kd"))
    assert deal.ending is Ending.CLOSED
    with pytest.raises(IllegalMove) as refusal:
        apply_for(deal, seat, move)
    assert refusal.value.violations == (Violation.DEAL_OVER,)


# ---- R3.3 the single-card lock ---------------------------------------------------------------------


def took(pile: str, cards: str, **options: object) -> Deal:
    """A seat that holds `cards` has taken the pile."""
    return play(position(house(CLASSIC, **options), phase=Phase.DRAW, hand=cards, pile=pile), TakePile())


def test_lock() -> None:
    """R3.3: the only card of a pile that was taken cannot be discarded in the same turn; any other card can."""
    deal = took("9c", "3h Kd")
    assert reasons(deal, discard("9c")) == (Violation.CARD_LOCKED,)
    assert play(deal, discard("Kd")).seat_to_move == 1


def test_lock_is_an_option() -> None:
    """R3.3: without `single_card_lock` the card may go at once."""
    assert reason(took("9c", "3h Kd", single_card_lock=False), discard("9c")) is None


def test_larger_pile_locks_nothing() -> None:
    """R3.3: no card of a pile of two is locked."""
    deal = took("9c 8c", "3h Kd")
    assert reason(deal, discard("9c")) is None
    assert reason(deal, discard("8c")) is None


def test_drawn_card_is_not_locked() -> None:
    """R3.3: a card drawn from the stock may be discarded at once."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", next_cards="9c", pile="8c")
    assert reason(play(deal, DrawStock()), discard("9c")) is None


def test_twin_of_the_locked_card() -> None:
    """R3.3: the card is locked, not its face: with a twin in hand one of the two may go."""
    after = play(took("9c", "9c Kd"), discard("9c"))
    assert (hand(after), after.pile) == ("Kd 9c", parse_cards("9c"))


def test_lock_ends_when_the_card_is_melded() -> None:
    """R3.3: once the locked card is melded or laid off, its twin may be discarded."""
    deal = took("9c", "9c Tc Jc Kd")
    assert reason(play(deal, lay("9c Tc Jc")), discard("9c")) is None
    on_table = play(
        position(CLASSIC, phase=Phase.DRAW, hand="9c Kd", pile="9c", melds=["Tc Jc Qc"]), TakePile(), lay_off(0, "9c")
    )
    assert reason(on_table, discard("9c")) is None


def test_lock_lasts_one_turn() -> None:
    """R3.3: in its next turn the seat may discard the card."""
    deal = play(took("9c", "3h Kd"), discard("Kd"), DrawStock())
    deal = play(deal, Discard(deal.hand[0]))
    assert deal.seat_to_move == 0
    assert reason(play(deal, DrawStock()), discard("9c")) is None


def test_locked_last_card() -> None:
    """R3.3, R3.6: melding all but the locked card is a dead end, for it can neither be discarded nor laid off."""
    deal = took("9c", "3h 4h 5h")
    assert reasons(deal, lay("3h 4h 5h")) == (Violation.DEAD_END,)


def test_lock_ends_with_a_pot() -> None:
    """R3.3, R6.1: a twin of the locked card that comes with a pot in flight may be discarded."""
    deal = position(
        CLASSIC,
        phase=Phase.DRAW,
        hand="Tc Jc",
        pile="9c",
        pots=["9c 3s 4s 5s 6s 7s 8s 9s Ts Js Qs", "3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh"],
    )
    after = play(deal, TakePile(), lay("9c Tc Jc"))
    assert reason(after, discard("9c")) is None


# ---- R3.4 the closed pile --------------------------------------------------------------------------


def test_closed_pile_with_a_meld() -> None:
    """R3.4: the pile may be taken where its top card melds with the hand; the rest joins once it is melded."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h Kd", pile="9c 8c 5h")
    took_top = play(deal, TakePile())
    assert (hand(took_top), took_top.pile) == ("3h 4h 5h Kd", parse_cards("9c 8c"))
    after = play(took_top, lay("3h 4h 5h"))
    assert (hand(after), after.pile, table(after)) == ("Kd 8c 9c", (), ["3h 4h 5h"])
    assert play(after, discard("9c")).seat_to_move == 1


def test_closed_pile_with_a_lay_off() -> None:
    """R3.4: the pile may be taken where its top card fits on a meld of one's own side, the partner's included."""
    deal = position(CLOSED, seats=4, seat=2, phase=Phase.DRAW, hand="Kd 9d", pile="9c 6h", melds=["3h 4h 5h"])
    after = play(deal, TakePile(), lay_off(0, "6h"))
    assert (hand(after, 2), table(after)) == ("9d Kd 9c", ["3h 4h 5h 6h"])


def test_closed_pile_on_the_opponents_meld() -> None:
    """R3.4, R4.6: a meld of the opponents does not help to take the pile."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="Kd 9d", pile="9c 6h", their_melds=["3h 4h 5h"])
    assert reasons(deal, TakePile()) == (Violation.TOP_CARD_UNUSABLE,)


def test_other_pile_cards_do_not_help() -> None:
    """R3.4: the top card must be melded with cards held before; other cards of the pile do not help."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h Kd", pile="4h 5h")
    assert reasons(deal, TakePile()) == (Violation.TOP_CARD_UNUSABLE,)


def test_open_pile_needs_no_use() -> None:
    """R3.4: an open pile may be taken for nothing."""
    assert reason(position(DIRTY_OPEN, phase=Phase.DRAW, hand="3h Kd", pile="4h 5h"), TakePile()) is None


@pytest.mark.parametrize("move", [lay("8s 8d 8c"), lay_off(0, "9h"), discard("Kd"), discard("5h")], ids=str)
def test_top_card_first(move: Move) -> None:
    """R3.4: the next move must meld the top card; until then there is no other meld, no lay-off and no discard."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h 8s 8d 8c 9h Kd", pile="9c 5h", melds=["6h 7h 8h"])
    took_top = play(deal, TakePile())
    assert reasons(took_top, move) == (Violation.TOP_CARD_FIRST,)
    assert reason(play(took_top, lay("3h 4h 5h")), move) is (
        Violation.CARD_NOT_IN_HAND if move == discard("5h") else None
    )


def test_top_card_before_a_wild_moves() -> None:
    """R3.4: no wild moves before the top card is melded."""
    rules = house(CLASSIC, closed_pile=True)
    deal = position(rules, phase=Phase.DRAW, hand="3h 4h Kd", pile="9c 5h", melds=["Jo@6 7h 8h 9h"])
    took_top = play(deal, TakePile())
    assert reasons(took_top, MoveWild(0, 10)) == (Violation.TOP_CARD_FIRST,)
    assert reason(play(took_top, lay("3h 4h 5h")), MoveWild(0, 10)) is None


def test_twin_in_hand_may_serve_as_the_top_card() -> None:
    """R3.4: two copies of a face are one and the same, so a copy from the hand may be melded for the top card."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="5h 3h 4h Kd", pile="9c 5h")
    assert hand(play(deal, TakePile(), lay("3h 4h 5h"))) == "5h Kd 9c"


def test_top_card_used_in_any_legal_way() -> None:
    """R3.4: a top card that is a wild may be used as a wild."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h Kd", pile="9c Jo")
    assert table(play(deal, TakePile(), lay("3h 4h Jo"))) == ["3h 4h Jo@5"]


def test_rest_of_the_pile_is_taken_into_account() -> None:
    """R3.4, R3.6: emptying the hand with the top card is no dead end where the rest of the pile joins it."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h", pile="9c 8c 5h", taken=1)
    assert events_of(deal, TakePile(), lay("3h 4h 5h"))[-1] == TookRest(0, parse_cards("9c 8c"), 2)
    assert hand(play(deal, TakePile(), lay("3h 4h 5h"))) == "8c 9c"


def test_top_card_that_leads_to_a_dead_end() -> None:
    """R3.4, R3.6: a top card whose only use leaves a card that cannot go does not let the pile be taken."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h", pile="9c 5h", taken=1)
    assert reasons(deal, TakePile()) == (Violation.TOP_CARD_UNUSABLE,)
    alone = position(CLOSED, phase=Phase.DRAW, hand="3h 4h", pile="5h", taken=1)
    assert reasons(alone, TakePile()) == (Violation.TOP_CARD_UNUSABLE,)


def test_only_card_of_a_closed_pile() -> None:
    """R3.3, R3.4: the only card of a closed pile is melded, and so its twin may be discarded."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h 5h Kd", pile="5h")
    assert reason(play(deal, TakePile(), lay("3h 4h 5h")), discard("5h")) is None


def test_closed_pile_in_flight() -> None:
    """R3.4, R6.1: a pile of one card melded with all of the hand empties it, and a pot follows."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h", pile="5h")
    happened = events_of(deal, TakePile(), lay("3h 4h 5h"))
    assert isinstance(happened[-1], PotTaken)
    assert len(play(deal, TakePile(), lay("3h 4h 5h")).hand) == 11


# ---- R3.5 makart -----------------------------------------------------------------------------------

MAKART = house(INDIRECT, makart=True)


def test_makart() -> None:
    """R3.5: with one card in hand and one in the pile the stock must be drawn."""
    deal = position(MAKART, phase=Phase.DRAW, hand="Kd", pile="9c")
    assert reasons(deal, TakePile()) == (Violation.MAKART,)
    assert reason(deal, DrawStock()) is None


@pytest.mark.parametrize(
    ("rules", "cards", "pile", "stock"),
    [
        (INDIRECT, "Kd", "9c", None),
        (MAKART, "Kd Qd", "9c", None),
        (MAKART, "Kd", "9c 8c", None),
        (MAKART, "Kd", "9c", 0),
    ],
    ids=["not chosen", "two in hand", "two in the pile", "stock empty"],
)
def test_makart_does_not_bind(rules: RuleSet, cards: str, pile: str, stock: int | None) -> None:
    """R3.5: the pile may be taken without the option, with two cards in hand or pile, and where the stock is empty."""
    deal = position(rules, phase=Phase.DRAW, hand=cards, pile=pile, stock=stock)
    assert reason(deal, TakePile()) is None


# ---- R3.6 no dead ends -----------------------------------------------------------------------------


def test_coming_down_to_nothing() -> None:
    """R3.6: nobody melds the last cards where neither a pot nor a close follows."""
    deal = position(CLOSED_DIRTY, hand="3h 4h 5h", taken=1)
    assert reasons(deal, lay("3h 4h 5h")) == (Violation.CLOSE_NEEDS_BURACO,)


def test_coming_down_to_one_card() -> None:
    """R3.6: nobody comes down to one card that cannot be discarded."""
    deal = position(CLOSED_DIRTY, hand="3h 4h 5h Kd", taken=1)
    assert reasons(deal, lay("3h 4h 5h")) == (Violation.DEAD_END,)


def test_coming_down_to_two_cards() -> None:
    """R3.6: with two cards left a turn can be finished."""
    deal = position(CLOSED_DIRTY, hand="3h 4h 5h Kd Qd", taken=1)
    assert play(deal, lay("3h 4h 5h"), discard("Kd")).seat_to_move == 1


def test_one_card_and_a_pot() -> None:
    """R3.6, R6.1: coming down to one card is legal where its discard brings a pot, not where only flight does."""
    assert reason(position(CLASSIC, hand="3h 4h 5h Kd"), lay("3h 4h 5h")) is None
    direct = position(DIRECT, hand="3h 4h 5h Kd", melds=[CLEAN_BURACO])
    assert reasons(direct, lay("3h 4h 5h")) == (Violation.DEAD_END,)


def test_one_card_and_a_close() -> None:
    """R3.6, R7.1: coming down to one card is legal where its discard closes."""
    deal = position(CLASSIC, hand="3h 4h 5h Kd", taken=1, melds=[DIRTY_BURACO])
    assert play(deal, lay("3h 4h 5h"), discard("Kd")).ending is Ending.CLOSED


def test_last_card_may_be_laid_off_in_flight() -> None:
    """R3.6: one last card that cannot be discarded is no dead end where it can be laid off in flight."""
    deal = position(DIRECT, hand="3h 4h 5h Kd", melds=[CLEAN_BURACO, "Td Jd Qd"])
    after = play(deal, lay("3h 4h 5h"))
    assert reasons(after, discard("Kd")) == (Violation.POT_ONLY_IN_FLIGHT,)
    assert len(play(after, lay_off(1, "Kd")).hand) == 11


def test_last_card_that_makes_the_buraco() -> None:
    """R3.6, R7.1: the state after the last meld counts, so a last card that makes the buraco closes in flight."""
    deal = position(CLOSED_DIRTY, hand="3h 4h 5h 9s", taken=1, melds=["3s 4s 5s 6s 7s 8s"])
    after = play(deal, lay("3h 4h 5h"))
    assert play(after, lay_off(0, "9s")).ending is Ending.CLOSED


def test_last_card_that_only_fits() -> None:
    """R3.6, R7.2: a last card that cannot close by discard is a dead end, though it fits on a meld."""
    deal = position(CLASSIC, hand="3h 4h 5h Jo", taken=1, melds=[CLEAN_BURACO])
    assert reasons(deal, lay("3h 4h 5h")) == (Violation.DEAD_END,)
    assert reasons(deal, lay("3h 4h 5h Jo")) == (Violation.CLOSE_ONLY_BY_DISCARD,)


def test_a_wild_that_comes_home_saves_the_turn() -> None:
    """R3.6, R5.2: moving a 2 to its own place may make the clean buraco without which the last card could not go."""
    rules = house(CLASSIC, close_needs_clean=True)
    deal = position(rules, hand="6h 7h 8h Kd", taken=1, melds=["3s 4s 5s 6s 7s 8s 2s@9"])
    after = play(deal, lay("6h 7h 8h"))
    assert reasons(after, discard("Kd")) == (Violation.CLOSE_NEEDS_CLEAN,)
    assert play(after, MoveWild(0, 2), discard("Kd")).ending is Ending.CLOSED


def test_a_wild_that_cannot_come_home() -> None:
    """R3.6, R5.2: a 2 of another suit has no way home, and so the same melds are a dead end."""
    rules = house(CLASSIC, close_needs_clean=True)
    deal = position(rules, hand="6h 7h 8h Kd", taken=1, melds=["3s 4s 5s 6s 7s 8s 2d@9"])
    assert reasons(deal, lay("6h 7h 8h")) == (Violation.DEAD_END,)


def test_discard_that_would_leave_nothing() -> None:
    """R3.6: the last card is not discarded where neither a pot nor a close follows."""
    deal = position(CLASSIC, hand="Kd", taken=1)
    assert reasons(deal, discard("Kd")) == (Violation.CLOSE_NEEDS_BURACO,)


def test_a_draw_is_never_a_dead_end() -> None:
    """R3.6: with one card in hand either draw leaves two cards, one of which may go, locked or not."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="Kd", pile="9c", taken=1)
    assert reason(play(deal, TakePile()), discard("Kd")) is None
    assert reason(play(deal, DrawStock()), discard("Kd")) is None


@pytest.mark.parametrize("close_by", CloseBy)
def test_last_two_cards_in_one_lay_off(close_by: CloseBy) -> None:
    """R3.6, R7.2: laying off both last cards closes where closing in flight is allowed, and is refused elsewhere."""
    rules = house(OPEN, close_by=close_by, close_needs_clean=False, close_discard_wild=close_by is not CloseBy.FLIGHT)
    deal = position(rules, hand="Ts Js", taken=1, melds=[CLEAN_BURACO])
    expected = () if close_by is not CloseBy.DISCARD else (Violation.CLOSE_ONLY_BY_DISCARD,)
    assert reasons(deal, lay_off(0, "Ts Js")) == expected


@pytest.mark.parametrize("number", [0, -1, 54, 1000])
def test_a_number_that_is_no_card_is_in_no_hand(number: int) -> None:
    """R3.1: a number that stands for no card is refused like any card that the hand does not hold."""
    deal = position(CLASSIC, hand="4s 5s 6s 9d Kc", melds=["7h 8h 9h"])
    assert reasons(deal, LayMeld((4, 5, number))) == (Violation.CARD_NOT_IN_HAND,)
    assert reasons(deal, LayOff(0, (number,))) == (Violation.CARD_NOT_IN_HAND,)
    assert reasons(deal, Discard(number)) == (Violation.CARD_NOT_IN_HAND,)
