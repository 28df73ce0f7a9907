import random
from collections.abc import Iterator
from functools import cache
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco_notation import NotationError, format_move, format_record, parse_move, parse_record
from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    Ending,
    IllegalMove,
    LayMeld,
    LayOff,
    Match,
    MatchRecord,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    TakePile,
    apply,
    commitment,
    deal_match,
    legal_moves,
    match_result,
    mix_seed,
    next_match,
    normalise_move,
    normalise_record,
    record_deal,
    record_problems,
    replay_deal,
    score_deal,
)
from buraco_rules.cards import FACES
from tests.notation.test_positions import check_places, mutated
from tests.rules.positions import CLASSIC, OPEN, house, lay, lay_off

SHORT_RULES = house(CLASSIC, max_turns=5)


def played_out(dealt: Deal, rng: random.Random) -> tuple[list[Move], Deal]:
    """The moves of a random deal, cards of melds in any order and places mostly left out, and the deal at its end."""
    moves: list[Move] = []
    deal = dealt
    while deal.phase is not Phase.OVER:
        legal = legal_moves(deal)
        lays = [move for move in legal if isinstance(move, LayMeld | LayOff)]
        move = rng.choice(lays if lays and rng.random() < 0.8 else legal)
        if isinstance(move, LayMeld | LayOff) and rng.random() < 0.7:
            cards = tuple(rng.sample(move.cards, len(move.cards)))
            loose = LayMeld(cards) if isinstance(move, LayMeld) else LayOff(move.meld, cards)
            move = loose if is_legal(deal, loose) else move
        moves.append(move)
        deal, _ = apply(deal, move)
    return moves, deal


def is_legal(deal: Deal, move: Move) -> bool:
    """Whether a move is legal."""
    try:
        apply(deal, move)
    except IllegalMove:
        return False
    return True


def recorded(rules: RuleSet, seats: int, seed: str, *, deals: int = 2, entropy: bool = False) -> MatchRecord:
    """The record of a random match of at most so many deals."""
    rng = random.Random(seed)
    match = Match(deal_number=1, starter=rng.randrange(seats), target_score=rng.choice([300, 2005]))
    found = []
    for _ in range(deals):
        server_seed = rng.randbytes(32)
        entropies = [rng.randbytes(rng.randint(0, 9)) for _ in range(seats)] if entropy else []
        shuffled = mix_seed(server_seed, entropies)
        dealt, _ = deal_match(rules, seats, shuffled, match)
        moves, end = played_out(dealt, rng)
        seed_of_server = server_seed if entropy else None
        found.append(record_deal(dealt, shuffled, moves, server_seed=seed_of_server, entropies=entropies))
        if match_result(end) is not None:
            break
        match = next_match(end)
    players = tuple(f"Player {seat}" for seat in range(seats)) if entropy else ()
    return MatchRecord(rules, seats, match.target_score, match.starter, tuple(found), players)


@cache
def short_text() -> str:
    """A short record of two deals of five turns, as text."""
    return format_record(recorded(SHORT_RULES, 2, "short"))


def problems_of(text: str, *, verify: bool = True) -> list[tuple[int, int, str]]:
    """Line, column and problem of all that is wrong with a record."""
    with pytest.raises(NotationError) as refusal:
        parse_record(text, verify=verify)
    check_places(text, refusal.value.problems)
    return [(found.line, found.column, found.problem) for found in refusal.value.problems]


# ---- moves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("+", DrawStock()),
        ("^", TakePile()),
        ("=3h 4h 5h", lay("3h 4h 5h")),
        ("=3h 4h [Jo]", lay("3h 4h Jo", 5)),
        ("=[Jo] 3h 4h", lay("Jo 3h 4h", 2)),
        ("=Jo 3h 4h", lay("Jo 3h 4h")),
        ("=Jo 4h 3h @5", lay("Jo 4h 3h", 5)),
        ("=2h 3h 4h @2", lay("2h 3h 4h", 2)),
        ("=[2h] Kh Ah", lay("2h Kh Ah", 12)),
        ("=Ah [2c] 3h", lay("Ah 2c 3h", 2)),
        ("=Kh [2h]", lay("Kh 2h", 14)),
        ("=7s 7h [2c]", lay("7s 7h 2c")),
        ("=7s [2c] 7h", lay("7s 2c 7h")),
        ("=7s 7h 2c @3", lay("7s 7h 2c", 3)),
        ("=2s 2h [Jo]", lay("2s 2h Jo")),
        ("=2s 2h 2d", lay("2s 2h 2d")),
        ("=7s 7h Jo 2c", lay("7s 7h Jo 2c")),
        ("=Kd", lay("Kd")),
        ("&0:5h", lay_off(0, "5h")),
        ("&12:5h Jo @7", lay_off(12, "5h Jo", 7)),
        ("~2@9", MoveWild(2, 9)),
        ("-Kd", Discard(39)),
        ("-Jo", Discard(53)),
    ],
)
def test_moves(text: str, move: Move) -> None:
    """Every move has one text, and the text stands for that move alone."""
    assert parse_move(text) == move
    assert format_move(move) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" + # draw", "+"),
        ("=3h  4h Jo@5", "=3h 4h [Jo]"),
        ("= 3h\n4h [ Jo ]", "=3h 4h [Jo]"),
        ("& 2 : 5h", "&2:5h"),
        ("~2 @ 09", "~2@9"),
        ("- Kd", "-Kd"),
    ],
)
def test_moves_written_otherwise(text: str, canonical: str) -> None:
    """Spaces may be anywhere between the words, and a place may be asked for by sign or by brackets."""
    assert format_move(parse_move(text)) == canonical


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "expected a move: + ^ = & ~ or -"),
        ("3h", 1, "expected a move: + ^ = & ~ or -, not '3h'"),
        ("++", 2, "expected nothing more, not '+'"),
        ("=", 2, "expected a card"),
        ("=3h 4x", 5, "expected nothing more, not '4x'"),
        ("=3h [4h] 5h", 6, "only a joker or a 2 acts as a wild (R4.4)"),
        ("=[Jo] [2s] 5h", 8, "at most one card acts as a wild in a meld (R4.4)"),
        ("=4h 3h [Jo]", 9, "brackets want the cards in order of place around one that acts as a wild"),
        ("=[2h] 3h 4h", 3, "brackets want the cards in order of place around one that acts as a wild"),
        ("=[2h] 2s 2d", 3, "a 2 is a natural in a set of 2s: no brackets (R4.3)"),
        ("=3h 4h [Jo] @5", 13, "the place of the wild is given twice: by brackets and by '@'"),
        ("=3h 4h [Jo", 11, "expected ']' after the card that acts as a wild"),
        ("=3h 4h Jo @", 12, "expected a place of a run, 1 to 14"),
        ("=3h 4h Jo @15", 12, "expected a place of a run, 1 to 14, not '15'"),
        ("=3h 4h Jo @0", 12, "expected a place of a run, 1 to 14, not '0'"),
        ("&:5h", 2, "expected the number of a meld, not ':'"),
        ("&5h", 2, "expected the number of a meld, not '5h'"),
        ("&100:5h", 2, "expected the number of a meld, not '100'"),
        ("&1 5h", 4, "expected ':', not '5h'"),
        ("&1:", 4, "expected a card"),
        ("&1:5h [Jo]", 8, "no brackets in a lay-off: '@' and a place ask where the wild shall stand"),
        ("~1", 3, "expected '@'"),
        ("~@4", 2, "expected the number of a meld, not '@'"),
        ("~1@x", 4, "expected a place of a run, 1 to 14, not 'x'"),
        ("-", 2, "expected the card discarded"),
        ("-Kd Kd", 5, "expected nothing more, not 'Kd'"),
        ("-K", 2, "expected the card discarded, not 'K'"),
    ],
)
def test_wrong_moves(text: str, column: int, problem: str) -> None:
    """What is wrong with a move is reported where it stands, and what should stand there."""
    with pytest.raises(NotationError) as refusal:
        parse_move(text)
    check_places(text, refusal.value.problems)
    assert (column, problem) in [(found.column, found.problem[: len(problem)]) for found in refusal.value.problems]


CARDS = st.lists(st.sampled_from([2, 3, 4, 15, 16, 17, 28, 53, *FACES]), min_size=1, max_size=6).map(tuple)
PLACES = st.none() | st.integers(1, 14)
MOVES = st.one_of(
    st.just(DrawStock()),
    st.just(TakePile()),
    st.builds(LayMeld, CARDS, PLACES),
    st.builds(LayOff, st.integers(0, 99), CARDS, PLACES),
    st.builds(MoveWild, st.integers(0, 99), st.integers(1, 14)),
    st.builds(Discard, st.sampled_from(FACES)),
)


@given(MOVES)
def test_any_move(move: Move) -> None:
    """Every move comes back from its text, be it legal or not."""
    assert parse_move(format_move(move)) == move


@pytest.mark.parametrize(
    "move", [lay("3h", 15), lay(""), lay_off(-1, "3h"), lay_off(100, "3h"), MoveWild(0, 0), Discard(0), Discard(54)]
)
def test_no_move(move: Move) -> None:
    """A move with numbers that are no card, meld or place has no text."""
    with pytest.raises(ValueError, match="has no text form"):
        format_move(move)


@given(st.text(max_size=20) | st.text("=&~@:[]-+^3h4JoKd 29", max_size=20))
def test_any_text_of_a_move(text: str) -> None:
    """Any text is a move with a canonical text, or refused with places."""
    try:
        move = parse_move(text)
    except NotationError as refusal:
        check_places(text, refusal.problems)
    else:
        assert parse_move(format_move(move)) == move


# ---- records -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_round_trip(rules: RuleSet, seats: int) -> None:
    """A random match of every rule set comes back from its text, plays to its result, and has one text."""
    record = recorded(rules, seats, rules.id, deals=1 + seats // 4, entropy=seats == 2)
    text = format_record(record)
    assert parse_record(text) == record
    assert format_record(parse_record(text)) == text
    assert record_problems(record) == ()
    assert normalise_record(record) == record


@pytest.mark.parametrize("rules", PRESETS[::2], ids=lambda rules: rules.id)
def test_every_move(rules: RuleSet) -> None:
    """Every legal move at every step of a random deal comes back from its text, and is its own normal form."""
    for step in steps_of(recorded(rules, 2, f"{rules.id} moves", deals=1)):
        for move in legal_moves(step):
            assert parse_move(format_move(move)) == move == normalise_move(step, move)


def steps_of(record: MatchRecord) -> Iterator[Deal]:
    """Every position of the record's first deal but the last."""
    for step in replay_deal(record, record.deals[0]):
        yield step.before


def test_normal_moves_lead_to_the_same(subtests: pytest.Subtests) -> None:
    """A recorded deal plays to the very same positions, its moves being in normal form or as they were made."""
    for rules in PRESETS:
        with subtests.test(rules.id):
            rng = random.Random(rules.id)
            seed = rng.randbytes(32)
            dealt, _ = deal_match(rules, 2, seed, Match(scores=(1200, 0)))
            moves, end = played_out(dealt, rng)
            record = MatchRecord(rules, 2, 0, 0, (record_deal(dealt, seed, moves),))
            after = dealt
            for step, move in zip(replay_deal(record, record.deals[0]), moves, strict=True):
                after, events = apply(after, move)
                assert (step.after, step.events) == (after, events)
            assert after == end


def test_text_of_a_record() -> None:
    """A record has headers, then every deal with its headers and a turn a line."""
    seed = bytes(range(32))
    dealt, _ = deal_match(SHORT_RULES, 2, seed, Match(starter=1, target_score=2005))
    moves: list[Move] = []
    deal = dealt
    while deal.phase is not Phase.OVER:
        for move in (DrawStock(), Discard(deal.hand[0])):
            moves.append(move)
            deal, _ = apply(deal, move)
    record = MatchRecord(SHORT_RULES, 2, 2005, 1, (record_deal(dealt, seed, moves),), ('Ann "A"', "Böb\n"))
    first, second = score_deal(deal).sides
    text = format_record(record)
    assert text.split("\n") == [
        '[RuleSet "buraco-plus-classic{max_turns=5}"]',
        '[Seats "2"]',
        '[Target "2005"]',
        '[Starter "1"]',
        '[Players "Ann \\"A\\"" "Böb\\u000a"]',
        "",
        '[Deal "1"]',
        f'[Seed "{seed.hex()}"]',
        f'[Commitment "{commitment(seed).hex()}"]',
        f'[Result "max_turns {first.total} {second.total}"]',
        "",
        *[f"{number + 1}. {(number + 1) % 2}: + {format_move(moves[2 * number + 1])}" for number in range(5)],
        "",
    ]
    assert parse_record(text) == record


def test_spaces_and_comments_do_not_matter() -> None:
    """White space may be any, and comments anywhere."""
    text = short_text()
    assert parse_record(text.replace("\n", "  # comment [Deal\n").replace(": ", ":\n\n\t")) == parse_record(text)
    assert parse_record(text.replace("\n", " ")) == parse_record(text)


def test_house_rules_in_quotes() -> None:
    """House rules with a quoted name stand in a header, and their problems are reported where they are."""
    rules = house(SHORT_RULES, display_name='My "own" \\ rules')
    record = recorded(rules, 2, "house", deals=1)
    assert parse_record(format_record(record)) == record
    text = short_text().replace("max_turns=5", "display_name='\\\"',max_turns=x")
    assert problems_of(text)[0] == (1, 59, "expected a number, not 'x'")


def edited(old: str, new: str) -> str:
    """The short record with something in it changed, once."""
    text = short_text()
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "problem"),
    [
        ('[RuleSet "buraco-plus-classic{max_turns=5}"]\n', "", 1, 1, "'RuleSet' is missing"),
        ("max_turns=5", "max_turn=5", 1, 31, "expected an option of a rule set, not 'max_turn'"),
        ("=5}", "=5} open", 1, 44, "expected the end of the field, not 'open'"),
        ('[Seats "2"]', '[Seats "3"]', 2, 9, "expected 2 or 4 seats (R2.1), not '3'"),
        ('[Seats "2"]', "[Seats]", 2, 7, "expected 2 or 4 seats (R2.1)"),
        ('[Seats "2"]', '[Seats ""]', 2, 9, "expected 2 or 4 seats (R2.1)"),
        ('[Seats "2"]', '[Seats "2" "2"]', 2, 13, "expected the end of the field, not '2'"),
        ('[Seats "2"]', '[Seats "2', 2, 8, "expected ']' at the end of the header, not '\"'"),
        (
            '[Seats "2"]',
            '[Seat "2"]',
            2,
            2,
            "expected one of RuleSet, Seats, Target, Starter, Players, or Deal, not 'Seat'",
        ),
        ('[Seats "2"]', '[Seats "2"][Seats "2"]', 2, 13, "'Seats' is given twice"),
        ('[Seats "2"]', '[Seats "2"]\n[Players "A"]', 3, 13, "expected 2 texts in quotes, one a seat"),
        ('[Seats "2"]', '[Seats "2"] Kd Ks + 5', 2, 13, "expected a header or a turn, not 'Kd'"),
        ('[Target "', '[Target "9999', 3, 9, "0 to 1000000, not 9999"),
        ('[Target "', '[Target "x', 3, 10, "expected a number, not 'x"),
        ('[Starter "', '[Starter "2', 4, 10, "a seat, 0 to 1, not 2"),
        ('[Deal "1"]', "", 7, 2, "expected one of RuleSet, Seats, Target, Starter, Players, or Deal, not 'Seed'"),
        ('[Deal "1"]', '[Deal "0"]', 6, 7, "1 to 1000000, not 0"),
        ('[Deal "1"]', '[Deal "1"][Scores "5"]', 6, 21, "expected two numbers, one a side"),
        ('[Deal "1"]', '[Deal "1"][Seats "2"]', 6, 12, "expected one of Deal, Scores, Seed, Commitment, ServerSeed"),
        ('[Deal "1"]', '[Deal "1"][Entropies "" "0"]', 6, 25, "expected pairs of hexadecimal digits in lower case"),
        ('[Seed "', '[Seed "g', 7, 8, "expected pairs of hexadecimal digits in lower case"),
        ('[Seed "', '[Seed "00', 7, 8, "expected 64 hexadecimal digits in lower case"),
        ('[Seed "', '[Sead "', 6, 1, "'Seed' is missing"),
        ('[Commitment "', '[Commitmend "', 6, 1, "'Commitment' is missing"),
        (
            '"max_turns ',
            '"turns ',
            9,
            10,
            "expected how the deal ended: closed, stock, max_turns, twos_buraco, not 'turns'",
        ),
        ('"max_turns ', '"max_turns 1 ', 9, 0, "expected the end of the field, n"),
        ("1. ", "2. ", 11, 1, "expected turn 1, not '2'"),
        ("1. ", "1. x", 11, 4, "expected the seat that moves, not 'x"),
        ("\n2. ", "\n2. 7: +\n3. ", 12, 4, "expected seat "),
        (": ", " ", 11, 6, "expected ':' after the seat, not "),
        ("\n2. ", "\n2. Kd ", 12, 4, "expected the seat that moves, not 'Kd'"),
        ("\n2. ", " +\n2. ", 11, 0, "a turn begins with its one draw, + or ^ (R3.1, R3.2)"),
        ("\n2. ", " =3h ? -\n2. ", 11, 0, "expected a move: + ^ = & ~ or -, not '?'"),
    ],
)
def test_problems(old: str, new: str, line: int, column: int, problem: str) -> None:
    """What is wrong with a record is reported where it stands, and what should stand there; column 0 stands for any."""
    places = [(at, where if column else 0, found[: len(problem)]) for at, where, found in problems_of(edited(old, new))]
    assert (line, column, problem) in places


def test_no_deal() -> None:
    """A record without a deal is none; turns without a deal are reported."""
    heads = short_text().split("\n\n")[0]
    assert (4, 14, "a record has a deal at least: the header 'Deal' is missing") in problems_of(heads)
    assert (5, 1, "the header 'Deal' comes before the turns of a deal") in problems_of(f"{heads}\n1. 0: +")
    assert problems_of("")[0][:2] == (1, 1)


def test_illegal_move_is_reported_where_it_stands() -> None:
    """A move that the rules refuse is reported with the rule at its place; without `verify` the text alone counts."""
    text = short_text()
    lines = text.split("\n")
    lines[10] = lines[10].replace(" -", " &99:Kd -")
    broken = "\n".join(lines)
    assert problems_of(broken) == [
        (11, lines[10].index("&99") + 1, "illegal: the side has no such meld (R4.6)"),
    ]
    assert parse_record(broken, verify=False).deals[1] == parse_record(text).deals[1]


def test_record_that_does_not_fit_together() -> None:
    """Seeds, results and scores that do not agree with the moves are reported at their headers, all at once."""
    record = parse_record(short_text())
    first, second = record.deals
    broken = record._replace(
        deals=(
            first._replace(commitment=bytes(32), points=(1, 2), ending=Ending.STOCK),
            second._replace(deal_number=4, scores=(7, 7), server_seed=bytes(32)),
        )
    )
    found = {(told.split(" ")[0], line) for line, _, told in problems_of(format_record(broken))}
    lines = format_record(broken).split("\n")
    heads = {line.split(" ")[0].strip("["): number for number, line in enumerate(lines, 1) if line.startswith("[")}
    assert {line for _, line in found} == {
        *(8, 9, heads["Deal"], heads["Scores"], heads["Seed"], heads["Commitment"]),
        *[line for word, line in found if word == "the"],
    }
    assert {problem.path.partition(".")[2] for problem in record_problems(broken)} >= {
        *("commitment", "seed", "ending", "points", "deal_number", "scores"),
    }


def test_record_beyond_its_end() -> None:
    """Moves after the end of a deal, moves that do not end it, and deals after the end of the match are refused."""
    record = parse_record(short_text())
    first, second = record.deals
    longer = first._replace(moves=(*first.moves, DrawStock(), Discard(1)))
    shorter = first._replace(moves=first.moves[:-1])
    (found,) = record_problems(record._replace(deals=(longer,)))
    assert found == (f"deals[0].moves[{len(first.moves)}]", "illegal: the deal is over (R3.2)")
    (found,) = record_problems(record._replace(deals=(shorter,)))
    assert found == (f"deals[0].moves[{len(first.moves) - 1}]", "the deal is not over with its last move")
    (found, *_) = record_problems(record._replace(target_score=0))
    assert found == ("deals[1].deal_number", "the match is over with the deal before (R10.1)")
    text = format_record(record._replace(deals=(shorter, second)))
    assert [told for _, _, told in problems_of(text)] == ["the deal is not over with its last move"]


def test_no_record() -> None:
    """What no text stands for is refused: other numbers of seats or players, no deal, no draw at the beginning."""
    record = parse_record(short_text())
    (first, _) = record.deals
    for broken in (
        record._replace(seats=3),
        record._replace(seats=0),
        record._replace(players=("Ann",)),
        record._replace(deals=()),
        record._replace(deals=(first._replace(moves=first.moves[1:]),)),
        record._replace(deals=(first._replace(seed=b""),)),
        record._replace(deals=(first._replace(ending=Ending.NONE),)),
        record._replace(starter=5),
    ):
        with pytest.raises(ValueError, match="has no text form"):
            format_record(broken)


def test_only_finished_deals() -> None:
    """A deal that is not over has no record, and one with an illegal move neither."""
    dealt, _ = deal_match(OPEN, 2, bytes(32), Match())
    with pytest.raises(ValueError, match="only finished deals"):
        record_deal(dealt, bytes(32), [DrawStock()])
    with pytest.raises(IllegalMove):
        record_deal(dealt, bytes(32), [TakePile()])


@given(st.integers(0, 10**9))
def test_mutated_texts(seed: int) -> None:
    """Whatever is done to the text of a record, it is read or refused with places; nothing else is ever raised."""
    rng = random.Random(seed)
    text = mutated(short_text(), rng)
    for verify in (False, True):
        try:
            record = parse_record(text, verify=verify)
        except NotationError as refusal:
            check_places(text, refusal.problems)
        else:
            assert parse_record(format_record(record), verify=verify) == record


def test_every_kind_of_move_is_recorded() -> None:
    """The random matches hold moves of every kind, so that the round trip proves something."""
    record = recorded(CLASSIC, 2, "kinds")
    assert {type(move) for deal in record.deals for move in deal.moves} == set(get_args(Move))
