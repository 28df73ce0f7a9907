from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner, Result
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.moves import move_to_pb
from buraco_codec.records import record_from_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_codec.snapshots import match_to_pb
from buraco_notation import format_move, format_position, format_record, parse_position, parse_record
from buraco_rules import (
    PRESETS_BY_ID,
    VIOLATION_TEXT,
    LayMeld,
    LayOff,
    Match,
    MatchRecord,
    Move,
    Violation,
    deal_match,
    legal_moves,
    mix_seed,
    next_match,
    record_deal,
    score_deal,
)
from buraco_rules import replay_deal as replay_record
from buraco_rules.events import Event, TookRest
from buraco_service.commands.notation import explain, replay
from buraco_service.commands.wording import describe_event
from tests.rules.playouts import played as played_everywhere
from tests.service.scripts import dealt, played, short_rules, submitted, turns
from tests.service.table_server import records, serving, start

POSITION = "rules: closed | turn: 5 seat 0 meld lock Kd | hand 0: 3h 4h 5h Kd 2c Jo 7h | melds 0: 3s 4s [2d] 6s"
RULES = short_rules(9)


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """A command as the shell runs it; whatever it does not catch fails the test."""
    group = click.Group(commands={"replay": replay, "explain": explain}, context_settings={"help_option_names": ["-h"]})
    result = CliRunner().invoke(group, arguments, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def printed(*arguments: str, stdin: str | bytes | None = None) -> list[str]:
    """The lines that a command prints, which are at most 100 columns wide; it must succeed."""
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []
    return lines


@cache
def match_played() -> tuple[MatchRecord, table_service_pb2.GetRecordResponse]:
    """Two deals of nine turns with entropy: as a record, and as GetRecord answers, cards in any order there."""
    rng = random.Random("commands")
    entropies = [b"ab", b"", b"c" * 30, b""]
    match, deals, answer = Match(starter=3, target_score=2005), [], table_service_pb2.GetRecordResponse()
    for _ in range(2):
        server_seed = rng.randbytes(32)
        seed = mix_seed(server_seed, entropies)
        first, _ = deal_match(RULES, 4, seed, match)
        steps = list(played(first, rng))
        end = steps[-1].after
        moves = [step.move for step in steps]
        deals.append(record_deal(first, seed, moves, server_seed=server_seed, entropies=entropies))
        pb = answer.deals.add(
            deal_number=match.deal_number,
            rule_set=rule_set_to_pb(RULES),
            seats=4,
            match=match_to_pb(match),
            server_seed=server_seed,
            entropies=entropies,
            seed=seed,
            commitment=deals[-1].commitment,
            ending=table_pb2.DealRecord(ending=int(end.ending)).ending,  # type: ignore[arg-type]
            score=score_to_pb(score_deal(end)),
        )
        for step in steps:
            pb.moves.add(seat=step.seat, move=move_to_pb(shuffled(step.move, rng)))
        match = next_match(end)
    return MatchRecord(RULES, 4, 2005, 3, tuple(deals)), answer


def shuffled(move: Move, rng: random.Random) -> Move:
    """The same move, its cards named in another order."""
    if isinstance(move, LayMeld):
        return LayMeld(tuple(rng.sample(move.cards, len(move.cards))), move.wild_position)
    if isinstance(move, LayOff):
        return LayOff(move.meld, tuple(rng.sample(move.cards, len(move.cards))), move.wild_position)
    return move


def as_json(answer: table_service_pb2.GetRecordResponse | None = None) -> str:
    """GetRecord's answer as JSON."""
    return json_format.MessageToJson(answer or match_played()[1])


# ---- replay ------------------------------------------------------------------------------------------


def test_replay_reads_every_form(tmp_path: Path) -> None:
    """The text notation, GetRecord's JSON in either spelling and its binary form print the same, from file or stdin."""
    record, answer = match_played()
    expected = printed("replay", "-", stdin=format_record(record))
    forms = {
        "record.txt": format_record(record).encode(),
        "bom.txt": b"\xef\xbb\xbf" + format_record(record).encode(),
        "record.json": as_json().encode(),
        "names.json": json_format.MessageToJson(answer, preserving_proto_field_name=True).encode(),
        "record.binpb": answer.SerializeToString(),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        assert printed("replay", str(tmp_path / name)) == expected, name
        assert printed("replay", "-", stdin=data) == expected, name


def test_replay_turn_by_turn() -> None:
    """A replay tells of every turn who moved, what happened and how the table looks, and of every deal the score."""
    record, _ = match_played()
    named = record._replace(players=("Ann", "Bob", "Cy\u2603", "Di"))
    lines = printed("replay", "-", stdin=format_record(named))
    assert lines[:3] == [
        "Short (short-9), 4 seats, to 2005",
        "  side 0       Ann (seat 0)   Cy☃ (seat 2)",
        "  side 1       Bob (seat 1)   Di (seat 3)",
    ]
    starts = [line for line in lines if line.startswith("Deal ")]
    _, second = record.deals
    assert starts == ["Deal 1, 0 to 0: seat 3 starts", "Deal 2, {} to {}: seat 0 starts".format(*second.scores)]
    heads = [line for line in lines if line.startswith("Turn ")]
    assert heads[:4] == ["Turn 1, seat 3 (Di)", "Turn 2, seat 0 (Ann)", "Turn 3, seat 1 (Bob)", "Turn 4, seat 2 (Cy☃)"]
    assert len(heads) == 18
    turn = lines[lines.index(heads[0]) + 1 : lines.index(heads[1])]
    assert "discards " in "".join(turn)
    assert [line[2:15].strip() for line in turn if line[2:15].strip()][:4] == ["side 0", "side 1", "pile", "cards"]
    assert sum(line.startswith("The deal is over after 9 turns: the limit of turns was reached") for line in lines) == 2
    assert [total for line in lines for total in re.findall(r"^    total +(-?\d+)   match", line)] == [
        str(points) for deal in record.deals for points in deal.points
    ]
    assert re.findall(r"match (-?\d+)$", "\n".join(lines), re.MULTILINE)[:2] == [*map(str, second.scores)]


def test_replay_of_one_deal() -> None:
    """`--deal` prints that deal alone; a deal that is not there is bad input."""
    text = format_record(match_played()[0])
    lines = printed("replay", "-", "--deal", "2", stdin=text)
    assert [line for line in lines if line.startswith("Deal ")] == [
        "Deal 2, {} to {}: seat 0 starts".format(*match_played()[0].deals[1].scores)
    ]
    result = run("replay", "-", "--deal", "3", stdin=text)
    assert (result.exit_code, result.stderr) == (2, "Error: standard input: there is no deal 3; there are 1, 2\n")


def test_positions_of_a_replay() -> None:
    """Each position of a deal comes as a text that `explain` takes: before the first move of a turn, or after some."""
    record, _ = match_played()
    deal = record.deals[1]
    steps = list(replay_record(record, deal))
    turn, made = 0, 0
    for step in steps:
        made = made + 1 if step.before.turn.number == turn else 0
        turn = step.before.turn.number
        place = f"{turn}.{made}" if made else str(turn)
        told = run("replay", "-", "--deal", "2", "--position", place, stdin=format_record(record))
        assert (told.exit_code, told.stdout) == (0, format_position(step.before) + "\n")
        explained = run("explain", "-", stdin=told.stdout)
        assert f"Turn {turn}, seat {step.before.seat_to_move} is to move" in explained.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--position", "3"], "say which of the 2 deals: --deal NUMBER"),
        (["--position", "0", "--deal", "1"], "there is no turn 0"),
        (["--position", "10", "--deal", "1"], "there is no turn 10"),
        (["--position", "1.99", "--deal", "1"], "moves: 1.0 to 1."),
        (["--position", "1.", "--deal", "1"], "'1.' is not a turn, such as 12, or 12.1 after one of its moves"),
    ],
)
def test_no_position(options: list[str], problem: str) -> None:
    """A place that the deal does not have is bad input, and what there is is told."""
    result = run("replay", "-", *options, stdin=format_record(match_played()[0]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


def test_replay_quietly() -> None:
    """`--quiet` prints the scores only."""
    lines = printed("replay", "--quiet", "-", stdin=format_record(match_played()[0]))
    assert not [line for line in lines if line.startswith("Turn ")]
    assert sum(line.startswith("    total ") for line in lines) == 4
    assert not [line for line in lines if "pile" in line or "stock" in line]


def test_replay_as_notation() -> None:
    """`--notation` prints the record itself, which is how GetRecord's answer becomes a text."""
    record, _ = match_played()
    lines = run("replay", "--notation", "-", stdin=as_json()).stdout
    assert parse_record(lines) == record
    assert lines == format_record(record)


def test_replay_of_a_closed_pile_and_a_failed_opening() -> None:
    """Whatever happens in a deal of any rule set is printed within 100 columns."""
    for name in ("closed", "professional-direct", "open"):
        rng = random.Random(name)
        first, _ = deal_match(PRESETS_BY_ID[name], 4, bytes(32), Match(scores=(1200, 1500)))
        steps = list(played(first, rng))
        deal = record_deal(first, bytes(32), [step.move for step in steps])
        record = MatchRecord(first.rules, 4, 0, 0, (deal,))
        text = " ".join(printed("replay", "-", stdin=format_record(record)))
        for step in steps:
            assert all(describe_event(event).split(" ")[0] in text for event in step.events)


async def test_replay_of_a_real_table(tmp_path: Path) -> None:
    """What the service answers to GetRecord replays, entropy and all."""
    async with serving(tmp_path / "tables.db") as replica:
        players = await start(replica, rule_set_id="burraco", seats=2)
        steps = list(played(dealt(PRESETS_BY_ID["burraco"], 2), random.Random(5)))
        await submitted(players, turns(steps))
        answer = await records(replica, players[0].table_id)
    lines = printed("replay", "-", stdin=as_json(answer))
    assert [int(line.split()[1]) for line in lines if line.startswith("    total ")] == [
        side.total for side in score_deal(steps[-1].after).sides
    ]


def test_more_deals() -> None:
    """Where GetRecord says that there are more deals, that is told beside the output."""
    answer = table_service_pb2.GetRecordResponse()
    answer.CopyFrom(match_played()[1])
    answer.more = True
    result = run("replay", "-", stdin=as_json(answer))
    assert (result.exit_code, result.stderr) == (0, "GetRecord says that there are more deals than these.\n")


def test_tampered_text() -> None:
    """A record that does not play to its result is refused, with its place and a caret under it."""
    record, _ = match_played()
    text = format_record(record).replace(f"max_turns {record.deals[0].points[0]}", "max_turns 9999")
    result = run("replay", "-", stdin=text)
    line = next(number for number, line in enumerate(text.split("\n"), 1) if "9999" in line)
    points = "{} {}".format(*record.deals[0].points)
    told = result.stderr.split("\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert told[0] == "Error: standard input:"
    assert told[1] == f"{line}:9: the deal counts {' and '.join(points.split())}"
    assert told[2].startswith('  [Result "max_turns 9999')
    assert told[3].startswith("          ^^^^^")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda deals: deals[1]["moves"].pop(3), "deals[1].moves["),
        (lambda deals: deals[0].update(commitment=deals[0]["seed"]), "deals[0].commitment: not SHA-256"),
        (lambda deals: deals[0].update(seed="AAAA"), "deals[0].seed: 32 bytes, not 3"),
        (lambda deals: deals[0].update(entropies=["AAAA"]), "deals[0].entropies: one for each of 4 seats"),
        (lambda deals: deals[1]["match"].update(starter=1), "deals[1].match.starter: another than in the first deal"),
        (lambda deals: deals[1]["match"].update(dealNumber=1), "deals[1].match.deal_number: that of the deal, 2"),
        (lambda deals: deals[1].update(seats=3), "deals[1].seats: 2 or 4, not 3"),
        (lambda deals: deals[1]["ruleSet"].update(jokers=1), "deals[1].rule_set.jokers: must be 0 or 4"),
        (lambda deals: deals[0].pop("score"), "deals[0].score.sides: two sides, not 0"),
        (lambda deals: deals[0]["score"]["sides"][0].update(total=5), "deals[0].points: the deal counts"),
        (lambda deals: deals[0].pop("ending"), "deals[0].ending: 0 is not the ending of a finished deal"),
        (lambda deals: deals[0].update(ending="ENDING_CLOSED"), "deals[0].ending: the deal ends otherwise: max_turns"),
        (lambda deals: deals[0]["moves"][1].update(seat=1), "deals[0].moves[1].seat: seat 3 has the turn, not 1"),
        (lambda deals: deals[0]["moves"][1].update(move={}), "deals[0].moves[1].move: one of draw_stock"),
        (lambda deals: deals[0].update(wrong=1), "not GetRecord's answer: "),
        (lambda deals: deals.clear(), "deals: no deal is finished yet"),
        (lambda deals: deals.append(5), "not GetRecord's answer: "),
    ],
)
def test_tampered_json(change: object, problem: str) -> None:
    """A JSON record that is faulty or does not play to its result is refused with the path of what is wrong."""
    answer = json.loads(as_json())
    assert callable(change)
    change(answer["deals"])
    result = run("replay", "-", stdin=json.dumps(answer))
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "1:1: 'RuleSet' is missing"),
        (b"hello", "1:1: expected a header or a turn, not 'hello'"),
        (b"{", "1:2: not JSON: "),
        (b'{\n "deals": [1 2]}', "2:14: not JSON: "),
        (b"{" + b'"a":{' * 100_000, "not GetRecord's answer: nested too deeply"),
        (b'{"deals": ' + b"[" * 100_000, "not GetRecord's answer: nested too deeply"),
        (b'{"deals": ' + b"9" * 5000 + b"}", "not GetRecord's answer: "),
        (b"\xff\xfe\x00", "neither a record's text, nor GetRecord's answer"),
        (b"\x0a\xff\x01", "neither a record's text, nor GetRecord's answer"),
        (b"\x10\x01", "deals: no deal is finished yet"),
        (b'[RuleSet "open"]\x00', "1:17: "),
    ],
)
def test_no_record(data: bytes, problem: str) -> None:
    """What is no record is bad input, with the place where one can be told."""
    result = run("replay", "-", stdin=data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_mutated_files(seed: int) -> None:
    """Whatever is done to a record's file, it is replayed or refused as bad input; nothing else happens."""
    rng = random.Random(seed)
    data = bytearray(rng.choice([as_json().encode(), match_played()[1].SerializeToString()]))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        data[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 2))
    assert run("replay", "-", "--quiet", stdin=bytes(data)).exit_code in (0, 2)


def test_no_file(tmp_path: Path) -> None:
    """A file that cannot be read is bad input."""
    for name in (str(tmp_path / "none"), str(tmp_path), "a\0b", "x" * 5000):
        for command in ("replay", "explain"):
            result = run(command, name)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith("Error: ")


def test_more_than_a_terminal_can_show() -> None:
    """Where the output's encoding lacks a character, it is escaped."""
    named = match_played()[0]._replace(players=("Ann", "Bob", "Cy\u2603", "Di\ud800"))
    program = "from buraco_service.commands.notation import replay; replay()"
    result = subprocess.run(
        [sys.executable, "-c", program, "--quiet", "-"],
        input=format_record(named).encode(),
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert (
        b"  side 0       Ann (seat 0)   Cy\\u2603 (seat 2)\n  side 1       Bob (seat 1)   Di\\ud800 (seat 3)\n"
        in result.stdout
    )


# ---- explain -----------------------------------------------------------------------------------------


def test_explain_a_position(tmp_path: Path) -> None:
    """A position is shown whole, with whose move it is and the legal moves by kind; from argument, file or stdin."""
    lines = printed("explain", POSITION)
    assert lines[:2] == ["Closed (closed), 2 seats, one deal", "Deal 1, 0 to 0"]
    assert "  hand 0       3h 4h 5h 7h Kd 2c Jo" in lines
    assert "  side 0       0: 3s 4s [2d] 6s" in lines
    assert "Turn 5, seat 0 is to move: it may meld, then discards" in lines
    labels = [line[2:14].strip() for line in lines[lines.index("") + 2 :] if line[2:3] != " "]
    assert labels == ["bound", "new melds", "discards"]
    assert "  bound        the Kd that was taken is locked (R3.3)" in lines
    assert "  discards     -3h   -4h   -5h   -7h   -2c   -Jo" in lines
    path = tmp_path / "position"
    path.write_text(POSITION.replace(" | ", "\n"))
    assert printed("explain", str(path)) == lines
    assert printed("explain", "-", stdin=POSITION) == lines


def test_explain_all_legal_moves() -> None:
    """Every legal move of a position is listed, and each of them can be asked about."""
    deal = parse_position(POSITION)
    words = {format_move(move) for move in legal_moves(deal)}
    lines = printed("explain", POSITION)
    listed = " ".join([line[14:].strip() + "  " for line in lines[lines.index("") + 3 :]])
    assert {text.strip() for text in listed.split("   ") if text.strip()} == words
    for text in words:
        assert f"{text} is legal:" in printed("explain", POSITION, text)


def test_explain_a_legal_move() -> None:
    """Of a legal move it is told what happens and how the score changes, and what it comes to if that is not plain."""
    lines = printed("explain", POSITION, "=Jo 4h 3h")
    assert lines[-5:] == [
        "=Jo 4h 3h is legal, the same as =3h 4h [Jo]:",
        "               melds 3h 4h [Jo] (meld 1)",
        "  score as if the deal ended now:",
        "    side 0: -135 -> -75 (+60)",
        "    side 1: -190 -> -190 (+0)",
    ]


@pytest.mark.parametrize(
    ("move", "violations"),
    [
        ("-Kd", [Violation.CARD_LOCKED]),
        ("+", [Violation.ALREADY_DRAWN]),
        ("=3h 4h 9s", [Violation.CARD_NOT_IN_HAND, Violation.NO_MELD]),
        ("&0:Jo", [Violation.TOO_MANY_WILDS]),
        ("&7:Jo", [Violation.NO_SUCH_MELD]),
        ("~0@7", [Violation.WILD_STAYS]),
    ],
)
def test_explain_an_illegal_move(move: str, violations: list[Violation]) -> None:
    """Of an illegal move every rule that it breaks is told with its number, and the exit code is 1."""
    result = run("explain", POSITION, move)
    assert (result.exit_code, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    told = lines[lines.index(f"{move} is illegal:") + 1 :]
    assert told == [f"  {violation.name}: {VIOLATION_TEXT[violation]}" for violation in violations]


def test_explain_discards_that_look_like_options() -> None:
    """A discard is a move, whatever letters it has; help is asked for in full."""
    for move in ("-7h", "-3h", "-2c"):
        assert f"{move} is legal:" in printed("explain", POSITION, move)
    assert printed("explain", "--help")[0].startswith("Usage: ")


def test_explain_the_end() -> None:
    """Of a finished deal the score is shown; a move is illegal there."""
    steps = list(played(dealt(RULES, 2), random.Random(1)))
    text = format_position(steps[-1].after)
    lines = printed("explain", text)
    assert "The deal is over after 9 turns: the limit of turns was reached" in lines
    _, second = score_deal(steps[-1].after).sides
    assert re.fullmatch(rf"    total +{second.total}   match {second.match_total}", lines[-1])
    assert "DEAL_OVER" in run("explain", text, "+").stdout


def test_explain_every_position() -> None:
    """Every position of random deals can be explained, within 100 columns."""
    for name in ("professional-direct", "closed"):
        first, _ = deal_match(PRESETS_BY_ID[name], 2, bytes(32), Match(scores=(1200, 0)))
        for step in list(played(first, random.Random(3)))[::7]:
            assert printed("explain", format_position(step.before), format_move(step.move))[-3].startswith("  score")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["rules: open | hand 0: 3x"],
            ["POSITION:", "1:23: expected a card, not '3x'", "  rules: open | hand 0: 3x", 24],
        ),
        (["rules: open | pile: 3s"], ["POSITION:", "1:15: the deal begins with 0 cards in it (R2.2)", None, 16]),
        ([POSITION, "=3h 4"], ["MOVE:", "1:5: expected nothing more, not '4'", "  =3h 4", 6]),
        ([POSITION, ""], ["MOVE:", "1:1: expected a move: + ^ = & ~ or -", "", 2]),
    ],
)
def test_explain_bad_input(arguments: list[str], told: list[object]) -> None:
    """A position or move that cannot be read is bad input, told with its place and a caret under it."""
    result = run("explain", *arguments)
    lines = result.stderr.split("\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert lines[0] == f"Error: {told[0]}"
    assert lines[1] == told[1]
    assert told[2] is None or lines[2].rstrip() == told[2]
    assert lines[3].index("^") == told[3]


def test_closed_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no standard input, that is bad input."""
    monkeypatch.setattr(sys, "stdin", None)
    for command in (replay, explain):
        with pytest.raises(click.ClickException, match="standard input is closed") as refusal:
            command.main(["-"], standalone_mode=False)
        assert refusal.value.exit_code == 2


def test_explain_no_text() -> None:
    """Input that is no text is bad input."""
    result = run("explain", "-", stdin=b"rules: \xff")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: standard input: not UTF-8: invalid start byte at byte 7\n",
    )


# ---- around them -------------------------------------------------------------------------------------


def test_every_event_has_words() -> None:
    """There are words for every kind of event, but for the rest of a pile that had none."""
    events = [event for _, happened in played_everywhere(1) for event in happened]
    assert {type(event) for event in events} == set(get_args(Event))
    for event in events:
        assert bool(describe_event(event)) is not (isinstance(event, TookRest) and not event.size)


def test_without_the_server_extra() -> None:
    """The commands run where nothing of the server extra is installed, and without grpc."""
    foreign = ["grpc", "grpc_health", "grpc_reflection", "jwt", "prometheus_client", "structlog", "uvloop"]
    program = (
        "import sys\n"
        f"for name in {foreign}: sys.modules[name] = None\n"
        "from buraco_service.commands.notation import explain\n"
        "explain()\n"
    )
    command = [sys.executable, "-c", program, POSITION, "-Kd"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (1, "")
    assert "CARD_LOCKED" in result.stdout


def test_records_of_the_contract() -> None:
    """A record comes of GetRecord's answer without being played."""
    record, answer = match_played()
    read = record_from_pb(answer.deals)
    assert [len(deal.moves) for deal in read.deals] == [len(deal.moves) for deal in record.deals]
    assert read._replace(deals=record.deals) == record
