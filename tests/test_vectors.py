"""The vectors hold over gRPC, say what they seem to say, and leave out no rule, no option and no sentence."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog
from google.protobuf.json_format import ParseDict

from buraco.v1 import deal_pb2, score_pb2
from buraco_rules import OpeningMinimum, RuleSet
from buraco_rules.presets import FROM_SOURCES
from tests.service.table_server import Replica, serving
from tests.vectors import compare, load
from tests.vectors.dealer import dealt, first_words
from tests.vectors.expand import BadVector, expanded, expanded_under
from tests.vectors.flips import flipped
from tests.vectors.load import Json, Vector
from tests.vectors.runner import Runner

COVERAGE: Json = json.loads(load.COVERAGE.read_text())
WRITTEN: dict[str, Json] = {vector["name"]: vector for source in load.sources() for vector in source.vectors}
"""Every vector as people write it, by name."""
VECTORS: list[Vector] = [vector for path in load.files() for vector in load.vectors_in(path)]
"""Every vector under each of its rule sets."""
REFUSALS = ("refused", "violations", "defects")


on_the_replica = pytest.mark.asyncio(loop_scope="module")
"""The replica serves all tests of this module from one loop."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replica(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replica]:
    """The service as `buraco serve` composes it; of thousands of calls it logs only what goes wrong."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    async with serving(tmp_path_factory.mktemp("vectors") / "tables.db") as running:
        yield running
    structlog.reset_defaults()


# ---- they hold -------------------------------------------------------------------------------------


@on_the_replica
@pytest.mark.parametrize("path", load.files(), ids=lambda path: path.stem)
async def test_vectors(path: Path, replica: Replica) -> None:
    """The service answers every vector of a file as it expects."""
    runner = Runner(replica.channel)
    failures = []
    for vector in load.vectors_in(path):
        differences = await runner.check(vector)
        if differences:
            failures.append("\n".join([f"{vector.title} ({', '.join(vector.rules)})", *differences]))
    assert failures == [], "\n\n".join(["", *failures])


def asked(body: Json) -> Json:
    """Return a vector without its expectations."""
    names = {"snapshot", "seat", "request", "seed", "cards", "turns", "words"}
    if body.keys() & {"events", "violations", "refused"}:
        names.add("moves")
    if "defects" in body:
        names.add("record")
    found = {name: body[name] for name in names if name in body}
    if "steps" in body:
        found["steps"] = [(step["seat"], step.get("moves")) for step in body["steps"]]
    return found


def changes(value: Any) -> Iterator[Any]:
    """Yield the value with one part changed, for each part."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, list) and value:
        yield value[1:]
        for index, entry in enumerate(value):
            if isinstance(entry, dict):
                yield from [[*value[:index], changed, *value[index + 1 :]] for changed in changes(entry)]
    elif isinstance(value, dict):
        for key in value:
            yield from [value | {key: changed} for changed in changes(value[key])]


KINDS = sorted({vector.kind for vector in VECTORS})


@on_the_replica
@pytest.mark.parametrize("kind", KINDS)
async def test_wrong_expectations_are_noticed(kind: str, replica: Replica) -> None:
    """A vector with any of its expectations changed fails."""
    runner = Runner(replica.channel)
    vectors = [vector for vector in VECTORS if vector.kind == kind]
    tried, passed = 0, []
    few = 3 if kind in ("replay", "table") else 12  # those two make many calls for every change
    for vector in vectors[:: max(1, len(vectors) // few)]:
        for body in changes(vector.body):
            if asked(body) == asked(vector.body):
                tried += 1
                if not await runner.check(vector._replace(body=body)):
                    passed.append((vector.title, body))
    assert passed == []
    assert tried >= 5


@pytest.mark.parametrize("wrong", ["nothing", "another's", "not as they lie"])
def test_sheets_without_their_melds_are_noticed(wrong: str) -> None:
    """A score whose sheets lack the melds that they count fails, whatever else is right."""
    body = next(vector.body for vector in VECTORS if vector.kind == "score" and len(_melds_of(vector.body, 0)) > 1)
    deal = ParseDict(body["snapshot"], deal_pb2.Snapshot()).deal
    sheets = [score_pb2.SideScore(side=number, melds=side.melds) for number, side in enumerate(deal.sides)]
    assert list(compare.score({}, score_pb2.DealScore(sides=sheets), deal)) == []
    melds = {"nothing": [], "another's": deal.sides[1].melds, "not as they lie": reversed(deal.sides[0].melds)}[wrong]
    told = score_pb2.DealScore(sides=[score_pb2.SideScore(side=0, melds=melds), sheets[1]])
    assert [line.partition(":")[0] for line in compare.score({}, told, deal)] == ["melds 0 of the score"]


def _melds_of(body: Json, side: int) -> list[Json]:
    melds: list[Json] = body["snapshot"]["deal"]["sides"][side].get("melds", [])
    return melds


# ---- they say what they seem to say ----------------------------------------------------------------


def test_expanded_is_up_to_date() -> None:
    """`python -m tests.vectors.expand` would change nothing."""
    files = {written.path: written.text for written in expanded()}
    assert set(files) == set(load.files())
    assert [path.name for path, text in files.items() if path.read_text() != text] == []


def test_names_are_unique() -> None:
    """Names of vectors are unique, and none names a rule set twice."""
    names = Counter(vector["name"] for source in load.sources() for vector in source.vectors)
    assert [name for name, count in names.items() if count > 1] == []
    assert len({vector.title for vector in VECTORS}) == len(VECTORS)


def test_all_means_the_presets() -> None:
    """`all` stands for the presets of the sources."""
    assert tuple(preset.id for preset in FROM_SOURCES) == load.PRESETS


def test_dealt_cards_by_a_second_opinion() -> None:
    """R2.1 to R2.3: hands, pots, upcard and stock are what the published shuffle makes of the seed."""
    vectors = [vector for vector in VECTORS if "dealt" in vector.body]
    assert len(vectors) >= 50
    for vector in vectors:
        body, record = vector.body, vector.record
        seed, request = bytes.fromhex(body["seed"]), body["request"]
        match = request.get("match", {"deal_number": 1})
        deal = dealt(
            seed,
            seats=request["seats"],
            jokers=record.get("jokers", 0),
            upcard=record.get("upcard", False),
            starter=match.get("starter", request.get("starter")),
            deal_number=match["deal_number"],
        )
        expected = {key: body["dealt"][key] for key in ("seat_to_move", "hands", "pots", "pile", "stock")}
        assert list(expected.values()) == list(deal), vector.title
        assert body["words"] == first_words(seed, len(body["words"])), vector.title
        assert body["dealt"]["commitment"] == sha256(seed).hexdigest(), vector.title


def test_replays_commit_to_their_seeds() -> None:
    """A replayed deal shows SHA-256 of its seed as the commitment."""
    replays = [vector.body for vector in VECTORS if vector.kind == "replay"]
    assert replays
    for body in replays:
        assert body["commitment"] == sha256(bytes.fromhex(body["seed"])).hexdigest()


# ---- they leave nothing out ------------------------------------------------------------------------


def test_every_rule_is_shown_both_ways() -> None:
    """Every numbered rule has vectors that it allows, and vectors that it refuses."""
    allowed = {rule for vector in VECTORS if not vector.shows_illegal for rule in vector.rules}
    refused = {rule for vector in VECTORS if vector.shows_illegal for rule in vector.rules}
    assert sorted(COVERAGE["rules"]) == sorted(allowed) == sorted(refused)


def test_every_option_is_listed() -> None:
    """Every option of a rule set is listed with its vectors, or with the reason why it has none."""
    names = {option.name for option in fields(RuleSet) if option.init}
    names |= {f"opening_minimum.{option.name}" for option in fields(OpeningMinimum)}
    listed = {**COVERAGE["options"], **COVERAGE["options_without_effect"]}
    assert len(listed) == len(COVERAGE["options"]) + len(COVERAGE["options_without_effect"])
    assert set(listed) == names


@on_the_replica
@pytest.mark.parametrize("option", COVERAGE["options"])
async def test_both_values_of_every_option(option: str, replica: Replica) -> None:
    """For every preset of the sources and every other value of the option, a listed vector tells the two apart."""
    runner = Runner(replica.channel)
    entry = COVERAGE["options"][option]
    excused = entry.get("not_in", {})
    alike = []
    for preset in FROM_SOURCES:
        if preset.id in excused:
            continue
        vectors = [WRITTEN[name] for name in entry["vectors"] if preset.id in WRITTEN[name]["rule_sets"]]
        for house_rules in flipped(preset, option):
            for vector in vectors:
                if await tells_apart(runner, vector, house_rules):
                    break
            else:
                alike.append(house_rules)
    assert alike == []


async def tells_apart(runner: Runner, vector: Json, house_rules: str) -> bool:
    """Return True if a vector fails under other rules, under which its position is also possible."""
    try:
        record, body = expanded_under(vector, house_rules)
    except BadVector:
        return False
    other = Vector("", vector["name"], load.kind_of(vector), tuple(vector["rules"]), house_rules, record, body)
    return bool(await runner.check(other))


def test_known_mistakes_are_shown() -> None:
    """Each of the cases that other programs got wrong has vectors."""
    assert len(COVERAGE["cases"]) == 15
    assert {name for case in COVERAGE["cases"] for name in case["vectors"]} <= set(WRITTEN)
    assert all(case["vectors"] for case in COVERAGE["cases"])


def rows() -> list[tuple[str, Json]]:
    """Every sentence of the sources, with its document."""
    return [(document, row) for document, part in COVERAGE["sources"].items() for row in part["table"]]


def test_every_sentence_is_listed() -> None:
    """Every document lists as many sentences as it has, each with rules and vectors or with a reason."""
    counts = {document: part["sentences"] for document, part in COVERAGE["sources"].items()}
    assert counts == Counter(document for document, _ in rows())
    assert sum(counts.values()) == 342
    for _, row in rows():
        shown = bool(row.get("rules")) and bool(row.get("vectors"))
        assert shown != bool(row.get("reason")), row
        assert 0 < len(row["text"]) <= 60


def test_sentences_name_rules_and_vectors_that_exist() -> None:
    """A sentence names rules by their numbers, and vectors of which some show each of these rules."""
    for document, row in rows():
        if "reason" in row:
            continue
        assert set(row["rules"]) <= set(COVERAGE["rules"]), (document, row)
        assert set(row["vectors"]) <= set(WRITTEN), (document, row)
        cited = {rule for name in row["vectors"] for rule in WRITTEN[name]["rules"]}
        assert set(row["rules"]) <= cited, (document, row, cited)


def test_sentences_are_shown_under_their_rule_sets() -> None:
    """For every preset that a sentence is about, one of its vectors runs under that very preset."""
    for document, row in rows():
        runs = {rule_set for name in row.get("vectors", ()) for rule_set in WRITTEN[name]["rule_sets"]}
        assert set(row.get("presets", ())) <= runs, (document, row)


def test_every_vector_has_a_purpose() -> None:
    """Every vector cites a rule that exists."""
    assert [name for name, vector in WRITTEN.items() if not set(vector["rules"]) & set(COVERAGE["rules"])] == []
    assert [name for name, vector in WRITTEN.items() if not set(vector["rules"]) <= set(COVERAGE["rules"])] == []


def test_every_kind_is_documented() -> None:
    """The README describes every kind of vector."""
    readme = (load.FOLDER / "README.md").read_text()
    assert [kind for kind in KINDS if f"### `{kind}`" not in readme] == []


# ---- the command -----------------------------------------------------------------------------------


@on_the_replica
async def test_command_checks_a_server(replica: Replica) -> None:
    """`python -m tests.vectors --server` checks any server and sums up by rule number."""
    assert replica.server.address is not None
    command = (sys.executable, "-m", "tests.vectors", "--server", replica.server.address, "--rule", "R6.3")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=load.FOLDER.parent.parent, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
    table = {line.split()[0]: line.split()[1:5] for line in output.decode().splitlines()[1:]}
    count = sum("R6.3" in vector.rules for vector in VECTORS)
    assert int(table["R6.3"][0]) == int(table["all"][0]) == count
    assert table["all"][3] == "0"
