import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco_notation import (
    NotationError,
    TextProblem,
    format_cards,
    format_meld,
    format_position,
    format_rule_set,
    parse_position,
    parse_rule_set,
    point_out,
)
from buraco_notation.reading import TextProblems, Token, quote, unquote
from buraco_rules import (
    PRESETS,
    PRESETS_BY_ID,
    CloseBy,
    Deal,
    Ending,
    MeldKind,
    OpeningMinimum,
    Phase,
    PotBy,
    RuleSet,
    StockEnd,
    Tie,
    UndoStep,
    WildEnd,
    WildMoves,
    deal_problems,
)
from buraco_rules.cards import deck
from tests.rules.house_rules import house_rules
from tests.rules.playouts import played, playout
from tests.rules.positions import CLASSIC, CLOSED, INDIRECT, OPEN, all_cards, house, position

SHORT = "rules: open | turn: seat 0 meld | hand 0: 3h 4h 5h Kd | melds 0: 3s 4s [2d] 6s"
STRANGE = replace(
    CLOSED,
    id="strange-1",
    display_name='It\'s \\ "strange" {|}, # ünd',
    wild_moves=WildMoves.FREE_END,
    wild_end=WildEnd.LOW,
    pot_by=PotBy.FLIGHT,
    close_by=CloseBy.DISCARD,
    stock_end=StockEnd.AT_TWO,
    tie=Tie.DRAW,
    value_two=17,
    single_card_lock=False,
    opening_minimum=OpeningMinimum(threshold=-5, every_turn=True),
    usual_targets=(),
)


def problems_of(text: str, *, verify: bool = True) -> list[tuple[int, int, str]]:
    """Line, column and problem of all that is wrong with a position."""
    with pytest.raises(NotationError) as refusal:
        parse_position(text, verify=verify)
    return [(found.line, found.column, found.problem) for found in refusal.value.problems]


# ---- there and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_round_trip(rules: RuleSet) -> None:
    """Every position of a random deal comes back from its text, from one line or many, and is sound there."""
    for number, (deal, _) in enumerate(playout(rules, 2 + 2 * (PRESETS.index(rules) % 2), 7)):
        text = format_position(deal, lines=number % 2 == 0)
        assert parse_position(text, verify=number % 4 == 0) == deal
        assert ("\n" in text) is (number % 2 == 0)


def test_every_part_is_written() -> None:
    """The random deals hold all that a position can tell, so that the round trip proves something."""
    deals = [deal for deal, _ in played(1)]
    steps = [step for deal in deals for step in deal.turn.undo]
    assert {deal.phase for deal in deals} == set(Phase)
    assert {bool(deal.turn.locked_card) for deal in deals} == {True, False}
    assert {bool(deal.turn.must_meld) for deal in deals} == {True, False}
    assert {deal.turn.opening_attempt for deal in deals} == {True, False}
    assert {(step.before is None, bool(step.cards)) for step in steps} == {(True, True), (False, True), (False, False)}
    assert any(step.unplayed_pot for step in steps)
    assert any(side.opening_penalties for deal in deals for side in deal.sides)
    assert any(meld.stays_dirty for deal in deals for side in deal.sides for meld in side.melds)


@pytest.mark.parametrize("ending", list(Ending)[1:])
def test_endings(ending: Ending) -> None:
    """A finished deal tells how it ended."""
    deal = position(CLASSIC, hand="3h", phase=Phase.OVER)._replace(ending=ending)
    text = format_position(deal)
    assert f" over {ending.name.lower()} |" in text
    assert parse_position(text, verify=False) == deal


def test_house_rules_in_a_position() -> None:
    """House rules come back whole, whatever their name holds."""
    deal = position(STRANGE, hand="3h 4h")
    assert parse_position(format_position(deal), verify=False).rules == STRANGE


@given(st.permutations(range(6)), st.sampled_from([" | ", "\n", " |\n\n|", "  # five | six\n"]))
def test_order_and_spaces_do_not_matter(order: list[int], between: str) -> None:
    """Fields in any order, with comments, blank lines and spaces, tell of one position with one canonical form."""
    deal = position(CLASSIC, hand="3h 4h", melds=["3s 4s Jo@5"], pile="9c", turn=3, scores=(5, -5))
    fields = format_position(deal).split(" | ")
    first, rest = fields[:6], fields[6:]
    text = between.join([first[index].replace(" ", "\t ") for index in order] + rest)
    assert parse_position(text, verify=False) == deal


def test_canonical() -> None:
    """The canonical form leaves out what need not be given and names every card."""
    text = format_position(parse_position(SHORT))
    assert text.startswith(
        "rules: open | turn: 1 seat 0 meld | hand 0: 3h 4h 5h Kd | hand 1: As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js"
        " | melds 0: 3s 4s [2d] 6s | pots: Qs Ks Ah 2h 3h 4h 5h 6h 7h 8h 9h, "
    )
    assert [field.split(":")[0] for field in text.split(" | ")] == [
        *("rules", "turn", "hand 0", "hand 1", "melds 0", "pots", "stock"),
    ]
    assert format_position(parse_position(text)) == text


# ---- cards left unnamed ------------------------------------------------------------------------------


def test_unnamed_cards_in_deck_order() -> None:
    """Unnamed cards go in the order of the deck to every `?n`: hands, pots, pile, stock; what is left goes to `?`."""
    text = "rules: open | hand 0: 3s ?2 4s | hand 1: ?3 | pots: ?1 Kc, ? | pile: ?1 9c | stock: ?2 Qc"
    deal = parse_position(text, verify=False)
    assert format_cards(deal.hands[0]) == "As 2s 3s 4s"
    assert format_cards(deal.hands[1]) == "3s 4s 5s"
    assert format_cards(deal.pots[0]) == "6s Kc"
    assert format_cards(deal.pile) == "7s 9c"
    assert format_cards(deal.stock) == "8s 9s Qc"
    assert len(deal.pots[1]) == 104 - 14
    assert all_cards(deal) == sorted(deck(0))


def test_left_out_fields() -> None:
    """Hands and pots that are left out have eleven cards, and the stock the rest; taken pots are not on the table."""
    deal = parse_position("rules: closed | seats: 4 | side 1: pots 1 | melds 0: 3h 4h 5h", verify=False)
    assert [len(hand) for hand in deal.hands] == [11] * 4
    assert [len(pot) for pot in deal.pots] == [11]
    assert len(deal.stock) == 108 - 58
    assert (deal.pile, deal.phase, deal.seat_to_move, deal.turn.number) == ((), Phase.DRAW, 0, 1)
    assert all_cards(deal) == sorted(deck(4))


@pytest.mark.parametrize(
    ("fields", "seat", "number"),
    [
        ("turn: draw", 0, 1),
        ("seats: 4 | turn: seat 3 draw", 3, 4),
        ("seats: 4 | turn: 7 draw", 2, 7),
        ("seats: 4 | match: starter 3 deal 2 | turn: seat 3 meld", 3, 4),
        ("match: deal 2 | turn: meld", 1, 1),
        ("turn: seat 1 meld 8", 1, 8),
    ],
)
def test_turn_left_out(fields: str, seat: int, number: int) -> None:
    """Seat and number of the turn follow from each other: the first turn of the seat, the seat whose turn it is."""
    deal = parse_position(f"rules: open | {fields}", verify=False)
    assert (deal.seat_to_move, deal.turn.number) == (seat, number)


def test_no_cards() -> None:
    """A dash stands for no cards, melds, pots or undo steps."""
    text = "rules: open | hand 0: - | melds 0: - | melds 1: 3h 4h 5h | pots: - | pile: ? | stock: - | undo: -"
    deal = parse_position(text, verify=False)
    assert (deal.hands[0], deal.sides[0].melds, deal.pots, deal.stock, deal.turn.undo) == ((), (), (), (), ())
    assert parse_position(format_position(deal), verify=False) == deal


# ---- melds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "low", "wild_index", "canonical"),
    [
        ("3h 4h [Jo] 6h", MeldKind.RUN, 3, 2, None),
        ("7s 7h 7d [2c]", MeldKind.SET, 0, 3, None),
        ("[2c] 7d 7h 7s", MeldKind.SET, 0, 3, "7s 7h 7d [2c]"),
        ("Ah 2h 3h", MeldKind.RUN, 1, None, None),
        ("Qh Kh Ah", MeldKind.RUN, 12, None, None),
        ("[2h] Kh Ah", MeldKind.RUN, 12, 0, None),
        ("Ah [2c] 3h", MeldKind.RUN, 1, 1, None),
        ("Ah 2h [Jo]", MeldKind.RUN, 1, 2, None),
        ("[Jo] 2h 3h [", MeldKind.RUN, 1, 0, "[Jo] 2h 3h"),
        ("2s 2h [Jo]", MeldKind.SET, 0, 2, None),
        ("As Ah Ad", MeldKind.SET, 0, None, None),
        ("Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah", MeldKind.RUN, 1, None, None),
        ("3c 4c 5c 6c 7c 8c 9c !", MeldKind.RUN, 3, None, None),
    ],
)
def test_melds(text: str, kind: MeldKind, low: int, wild_index: int | None, canonical: str | None) -> None:
    """Kind, low place and acting wild of a meld follow from the order of its cards and the brackets."""
    deal = parse_position(f"rules: closed | melds 1: {text.removesuffix(' [')}", verify=False)
    (meld,) = deal.sides[1].melds
    assert (meld.kind, meld.low_position, meld.wild_index) == (kind, low, wild_index)
    assert meld.stays_dirty is text.endswith("!")
    assert format_meld(meld) == (canonical or text)


def test_a_dirty_buraco_stays_dirty() -> None:
    """R9.3: where dirt sticks, a buraco with an acting wild stays dirty whether its text says so or not."""
    for mark in ("", " !"):
        deal = parse_position(f"rules: professional-direct | pile: 9s | melds 0: 3c 4c 5c [2d] 7c 8c 9c{mark}")
        assert deal.sides[0].melds[0].stays_dirty
        assert " | melds 0: 3c 4c 5c [2d] 7c 8c 9c ! | " in format_position(deal)


@pytest.mark.parametrize(
    ("meld", "column", "problem"),
    [
        ("3h 4h 6h", 7, "expected 5h or a wild in brackets at this place of the run, not '6h'"),
        ("3h [2d] 4h", 9, "expected 5h at this place of the run, not '4h'"),
        ("3h 4h 5d", 7, "expected 5h or a wild in brackets at this place of the run, not '5d'"),
        ("3h 4h 2d", 7, "expected 5h or a wild in brackets at this place of the run, not '2d'"),
        ("2d 4h 5h", 1, "expected 3h or a wild in brackets at this place of the run, not '2d'"),
        ("3h 4h Jo", 7, "expected 5h or a wild in brackets at this place of the run, not 'Jo'"),
        ("Jo [2s] Jo", 1, "a joker acts as a wild: it stands in brackets (R4.4)"),
        ("[2h] 3h 4h", 2, "a 2 at its natural place does not act as a wild: no brackets (R4.4)"),
        ("[3h] 4h 5h", 2, "only a joker or a 2 acts as a wild (R4.4)"),
        ("[Jo] 4h [2s] 6h", 10, "at most one card acts as a wild in a meld (R4.4)"),
        ("[2h] 2s 2d", 2, "a 2 is a natural in a set of 2s: no brackets (R4.3)"),
        ("Kh Ah 2h", 7, "a run has no place here: it goes from the low ace to the high ace (R4.1)"),
        ("[Jo] Ah 2h", 2, "a run has no place here: it goes from the low ace to the high ace (R4.1)"),
        ("3h 4h", 1, "a meld has at least three cards (R4.1, R4.2)"),
        ("", 1, "a meld has at least three cards (R4.1, R4.2)"),
        ("3h 4h 5x", 7, "expected a card, not '5x'"),
        ("3h 4h [Jo 6h", 11, "expected ']' after the card that acts as a wild, not '6h'"),
        ("3h 4h 5h ! 6h", 12, "expected the end of the field, not '6h'"),
        ("3h 4h 5h, ", 10, "a meld has at least three cards (R4.1, R4.2)"),
    ],
)
def test_wrong_melds(meld: str, column: int, problem: str) -> None:
    """A meld that is none is refused at the card that does not fit."""
    before = "rules: closed | melds 0: "
    problems = problems_of(before + meld)
    place = len(before.rstrip() if not meld else before) + column
    assert (1, place, problem) in problems


# ---- rule sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules", [*PRESETS, STRANGE, house(OPEN, makart=True), replace(INDIRECT, opening_minimum=None)]
)
def test_rule_sets(rules: RuleSet) -> None:
    """Every rule set comes back from its text."""
    assert parse_rule_set(format_rule_set(rules)) == rules


@given(house_rules(), st.sampled_from(["house-rules", "x", "open"]))
def test_any_house_rules(rules: RuleSet, name: str) -> None:
    """Any house rules come back from their text, under the name of a preset, too."""
    named = replace(rules, id=name)
    assert parse_rule_set(format_rule_set(named)) == named


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("open{}", "open"),
        ("open { makart = yes , }", "open{makart=yes}"),
        ("open{makart=no}", "open{id=house-rules}"),
        ("open{id=open,makart=yes}", "open{id=open,makart=yes}"),
        ("open{opening_minimum=yes,opening_minimum.points=90}", None),
        ("professional-direct{opening_minimum.step=0}", None),
        ("professional-direct{opening_minimum=no}", None),
        ("closed{usual_targets=0/500,display_name='My ''s'}", "error"),
        ("closed{usual_targets=none,display_name='My \\'s'}", None),
    ],
)
def test_rule_set_texts(text: str, canonical: str | None) -> None:
    """House rules name what differs from a preset; their id is house-rules where they name none."""
    if canonical == "error":
        with pytest.raises(NotationError):
            parse_rule_set(text)
        return
    rules = parse_rule_set(text)
    written = format_rule_set(rules)
    assert parse_rule_set(written) == rules
    if canonical is not None:
        assert written == canonical
    else:
        assert sorted(written.strip("}").split("{")[1]) == sorted(text.strip("}").split("{")[1])


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("opn", 1, "expected the id of a preset"),
        ("", 1, "expected the id of a preset"),
        ("open{makrt=yes}", 6, "expected an option of a rule set, not 'makrt'"),
        ("open{makart}", 12, "expected '=' after the option, not '}'"),
        ("open{makart=maybe}", 13, "expected no or yes, not 'maybe'"),
        ("open{makart=yes royal=1}", 17, "expected ',' or '}' after an option, not 'royal'"),
        ("open{makart=yes", 16, "expected ',' or '}' after an option"),
        ("open{", 6, "expected '}' or ','"),
        ("open{royal=1,royal=2}", 14, "given twice"),
        ("open{royal=1.5}", 12, "expected a number, not '1.5'"),
        ("open{tie=nobody}", 10, "expected draw or starter, not 'nobody'"),
        ("open{usual_targets=1//2}", 20, "expected targets as 2000/3000/0, or none, not '1//2'"),
        ("open{display_name=Me}", 19, "expected a name in single quotes, not 'Me'"),
        ("open{display_name='Me}", 19, 'expected a name in single quotes, not "\'"'),
        ("open{display_name='\\u12'}", 20, "this is no escape sequence"),
        ("open{id=Mine}", 6, "id: lower-case words joined by hyphens, at most 64 characters"),
        ("open{value_joker=20}", 6, "value_joker: there are no jokers"),
        ("open{value_two=2000,set_of_twos=yes}", 21, "set_of_twos: sets are not allowed"),
        ("open{opening_minimum.step=5}", 6, "there is no opening minimum: opening_minimum=yes gives one"),
        ("closed{two_aces=no}", 1, "ace_to_ace: a run may not hold an ace at both ends"),
        ("open{makart=yes} {", 18, "expected nothing more, not '{'"),
    ],
)
def test_wrong_rule_sets(text: str, column: int, problem: str) -> None:
    """What is wrong with a rule set is reported at the option at fault."""
    with pytest.raises(NotationError) as refusal:
        parse_rule_set(text)
    places = [(found.column, found.problem[: len(problem)]) for found in refusal.value.problems]
    assert (column, problem) in places


# ---- what is wrong, and where ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("seats: 2", 9, "'rules' is missing"),
        ("rules: open | sets: 2", 15, "expected a label and ':'; labels are rules, seats, match"),
        ("rules: open | Kd", 15, "expected a label and ':'; labels are rules, seats, match"),
        ("rules: open | : 5", 15, "expected a label and ':'; labels are rules, seats, match"),
        ("rules: open | seats: 2 | seats: 2", 26, "'seats' is given twice"),
        ("rules: open 2", 13, "expected the end of the field, not '2'"),
        ("rules: open | seats: 3", 22, "expected 2 or 4 seats (R2.1), not '3'"),
        ("rules: open | hand 2: 3h", 15, "there are 2 seats: see the field 'seats'"),
        ("rules: open | match: scores 5", 30, "expected two numbers, one a side"),
        ("rules: open | match: deal x", 27, "expected a number, not 'x'"),
        ("rules: open | match: deal -1", 27, "expected a number from 0 on, not '-1'"),
        ("rules: open | match: deal 0", 22, "1 to 1000000, not 0"),
        ("rules: open | match: starter 2", 22, "a seat, 0 to 1, not 2"),
        ("rules: open | match: deal 1 deal 1", 29, "given twice"),
        ("rules: open | match: round 1", 22, "expected deal or scores or starter or target, not 'round'"),
        ("rules: open | match: target 12345678901", 29, "expected a number, not '12345678901'"),
        ("rules: open | turn: seat 2", 26, "expected a seat, 0 to 1, not '2'"),
        ("rules: open | turn: over", 25, "expected how the deal ended: closed, stock, max_turns, twos_buraco"),
        ("rules: open | turn: over won", 26, "expected how the deal ended: closed, stock, max_turns, twos_buraco, not"),
        ("rules: open | turn: meld lock 3", 31, "expected a card, not '3'"),
        ("rules: open | turn: meld draw", 26, "given twice"),
        ("rules: open | turn: 5 meld 6", 28, "given twice"),
        ("rules: open | side 0: unplayed", 31, "expected a number"),
        ("rules: open | hand 0:", 22, "expected cards, '?', or '-' for none"),
        ("rules: open | hand 0: 3h | pots: ?11,", 38, "expected cards, '?', or '-' for none"),
        ("rules: open | hand 0: 3h, 4h", 25, "expected the end of the field, not ','"),
        ("rules: open | hand 0: 3h ?x 4h", 26, "expected a card, not '?x'"),
        ("rules: open | hand 0: 3h 3h | pile: 3h", 37, "3h is named too often: there are 2 (R1.1)"),
        ("rules: open | pile: Jo", 21, "this rule set has no jokers (R1.1)"),
        ("rules: closed | pile: Jo Jo Jo Jo Jo", 35, "Jo is named too often: there are 4 (R1.1)"),
        ("rules: open | hand 0: ?99 | hand 1: ?9", 37, "only 5 cards are not named anywhere"),
        (
            "rules: open | hand 0: ? | stock: ?",
            34,
            "only one '?' can take all that is left: say how many cards, as in ?11",
        ),
        ("rules: open | stock: 3h", 24, "59 cards are missing, and no '?' takes them: 6c 7c 8c"),
        ("rules: open | undo: 3h", 21, "expected '=', '&' or '~', not '3h'"),
        ("rules: open | undo: =", 22, "expected the cards laid"),
        ("rules: open | undo: &0 3h was 4h 5h 6h", 24, "expected ':' and the cards laid off, not '3h'"),
        ("rules: open | undo: ~0 3h", 24, "expected 'was' and the meld as it was, not '3h'"),
        ("rules: open | undo: ~0 was 3h 4h", 28, "a meld has at least three cards (R4.1, R4.2)"),
        ("rules: open | undo: =3h 4h 5h lock 9", 36, "expected a card, not '9'"),
        ("rules: open | undo: =3h 4h 5h must", 35, "expected a card"),
        ("rules: open | undo: =3h 4h 5h unplayed lock Kd", 40, "expected ',' or the end of the field, not 'lock'"),
    ],
)
def test_problems(text: str, column: int, problem: str) -> None:
    """What is wrong with a position is reported where it stands, and what should stand there."""
    places = [(at, found[: len(problem)]) for line, at, found in problems_of(text) if line == 1]
    assert (column, problem) in places


def test_all_problems_at_once() -> None:
    """All problems of a text are reported at once, in their order, each with its line."""
    text = "rules: opn\nhand 0: 3h 4x\n\nmelds 0: 3h 4h 6h # comment\n  match: deal | seats: 5"
    assert [(line, column) for line, column, _ in problems_of(text)] == [(1, 8), (2, 12), (4, 16), (5, 14), (5, 24)]


def test_too_many_problems() -> None:
    """Of a text that is wrong all over only the first hundred problems are reported."""
    assert len(problems_of("rules: open | hand 0: " + "x " * 500)) == 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SHORT.replace("seat 0", "7 ^seat 1"), "another seat has turn 7: seat 0 started (R2.3)"),
        (SHORT + " | side 0: ^pots 3 | pots: -", "0 to 1 (R6.2), not 3"),
        (SHORT + ", ^7s 7h 7d", "there are no sets in this rule set (R4.3)"),
        (SHORT.replace("3s", "^3s") + " !", "cannot have been a buraco with an acting wild, so it does not stay dirty"),
        (SHORT + " | pots: ?11, ^?10", "a pot has 11 cards (R2.1), not 10"),
        (SHORT + " | undo: ^=3h 4h 5h", "the meld is not what this step made of the one before"),
        (SHORT.replace("meld |", "meld ^lock 9c |"), "not the only card of the pile, taken and still in the hand"),
        (SHORT.replace("turn: seat 0 meld |", "^turn: must 9c |"), "nothing binds before the draw and after the end"),
        ("rules: open | ^pile: 9c", "the deal begins with 0 cards in it (R2.2)"),
        ("rules: burraco^", "pile: the deal begins with 1 cards in it (R2.2)"),
        ("rules: open | turn: ^over stock", "there are cards left to draw (R8.2)"),
        ("rules: open | ^hand 1: -", "empty, but the deal was not closed by it (R6.1, R7.1)"),
    ],
)
def test_unsound(text: str, problem: str) -> None:
    """What no play can have led to is reported at the field that says it, unless that is not asked."""
    column, text = text.index("^") + 1, text.replace("^", "")
    places = [(at, found[: len(problem)]) for _, at, found in problems_of(text)]
    assert (column, problem) in places
    parse_position(text, verify=False)


def test_as_soundness_says() -> None:
    """A text is refused for exactly the problems that its deal has."""
    for _, change in enumerate(
        (" | side 1: pots 2 opening 5", " | side 0: unplayed 1 0", " | turn: 2000 meld attempt")
    ):
        text = SHORT.replace("turn: seat 0 meld | ", "") + change
        problems = deal_problems(parse_position(text, verify=False))
        told = [problem for _, _, problem in problems_of(text)]
        assert len(problems) == len(told) > 0
        assert all(any(line.endswith(problem) for line in told) for _, problem in problems)


@pytest.mark.parametrize(
    "deal",
    [
        position(OPEN, hand="3h 4h")._replace(hands=((16, 15), (1,))),
        position(OPEN, hand="3h 4h")._replace(seats=3),
        position(OPEN, hand="3h 4h")._replace(stock=()),
        position(OPEN, hand="3h 4h", phase=Phase.OVER),
        position(OPEN, hand="3h 4h")._replace(seat_to_move=7),
        position(OPEN, hand="3h 4h", melds=["4h 5h 6h 7h 8h 9h Th"])._replace(rules=CLASSIC),
    ],
)
def test_no_text(deal: Deal) -> None:
    """A deal that no text stands for is refused, not written as something else."""
    with pytest.raises(ValueError, match="has no text form"):
        format_position(deal)


def test_undo_steps_in_order() -> None:
    """Undo steps of new melds name no index: it follows from the melds laid since."""
    deal = position(OPEN, hand="3h 4h", melds=["3s 4s 5s", "3c 4c 5c", "9d Td Jd"])
    first, second, third = deal.sides[0].melds
    steps = (
        UndoStep(1, None, second.cards, 39, 0, True),
        UndoStep(2, None, third.cards, 0, 0, False),
        UndoStep(0, first, (), 0, 39, False),
    )
    bound = deal._replace(turn=deal.turn._replace(undo=steps))
    text = format_position(bound)
    assert text.endswith(" | undo: =3c 4c 5c lock Kd unplayed, =9d Td Jd, ~0 was 3s 4s 5s must Kd")
    assert parse_position(text, verify=False) == bound


# ---- texts that are none -----------------------------------------------------------------------------

WORDS = [
    *" \n|:,{}=?-![]'#&~\\",
    "Kd",
    "Jo",
    "?",
    "?11",
    "-1",
    "99999999999",
    "hand 0:",
    "undo:",
    "over",
    "\0",
    "é",
    "²",
]


def mutated(text: str, rng: random.Random) -> str:
    """A text with some characters or words lost, doubled, exchanged or put in."""
    for _ in range(rng.randint(1, 4)):
        words = text.split(" ")
        at, other = rng.randrange(len(text) + 1), rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                text = text[:at] + rng.choice(WORDS) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 6) :]
            case 2:
                words[other] = rng.choice(WORDS)
                text = " ".join(words)
            case 3:
                words.insert(rng.randrange(len(words)), words[other])
                text = " ".join(words)
            case _:
                text = text[:at] + text[at:][::-1][: rng.randint(0, 40)]
    return text


def check_position(text: str) -> None:
    """A text is a position that reads back, or is refused with places that are in it."""
    for verify in (False, True):
        try:
            deal = parse_position(text, verify=verify)
        except NotationError as refusal:
            check_places(text, refusal.problems)
        else:
            assert parse_position(format_position(deal), verify=verify) == deal


def check_places(text: str, problems: tuple[TextProblem, ...]) -> None:
    """There are problems, each within a line of the text, and they can be pointed out."""
    lines = text.split("\n")
    assert problems
    assert list(problems) == sorted(problems, key=lambda found: found[:2])
    for found in problems:
        assert 1 <= found.line <= len(lines)
        assert 1 <= found.column <= len(lines[found.line - 1]) + 1
        assert found.problem
    assert all(len(line) <= 100 for line in point_out(text, problems).split("\n") if line.startswith("  "))


@given(st.integers(0, 10**9))
def test_mutated_texts(seed: int) -> None:
    """Whatever is done to the text of a position, it is read or refused with places; nothing else is ever raised."""
    rng = random.Random(seed)
    steps = played(1)
    text = rng.choice([SHORT, format_position(steps[rng.randrange(len(steps))][0], lines=rng.random() < 0.5)])
    check_position(mutated(text, rng))


@given(st.text() | st.lists(st.sampled_from(["rules: open", *WORDS])).map(" ".join))
def test_any_text(text: str) -> None:
    """Any text at all is read or refused with places."""
    check_position(text)


def test_quotations() -> None:
    """Quotations come back, and every character of them has its place."""
    for text in ("", "plain", "quote \" and '", "back\\slash\\", "line\nend\t\0\x7f\x85\u2028", "\ud800 \U0010ffff é"):
        for mark in "'\"":
            written = quote(text, mark)
            problems = TextProblems(written)
            read, places = unquote(Token(written, 0), problems)
            assert (read, bool(problems)) == (text, False)
            assert "\n" not in written
            assert len(places) == len(text) + 1


def test_point_out() -> None:
    """Problems are shown with their line, in part where it is long, and carets under what is at fault."""
    text = "first\n" + "x" * 300 + "wrong" + "y" * 300
    assert point_out(text, [TextProblem(1, 1, 5, "bad"), TextProblem(2, 301, 5, "worse")]).split("\n") == [
        *("1:1: bad", "  first", "  ^^^^^"),
        *("2:301: worse", "  " + "x" * 48 + "wrong" + "y" * 43, "  " + " " * 48 + "^^^^^"),
    ]


def test_presets_are_few_changes_apart() -> None:
    """A preset is written by its id alone, and house rules from the preset nearest to them."""
    assert [format_rule_set(rules) for rules in PRESETS] == list(PRESETS_BY_ID)
    assert format_rule_set(house(PRESETS_BY_ID["closed-wtcc"], makart=True)) == "closed-wtcc{makart=yes}"
