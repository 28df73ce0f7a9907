"""`python -m tests.vectors.expand` writes, from the vectors as people write them, the JSON that needs no text parser.

What is written stands in `expanded/`, one file for each file of vectors. Rule sets under which a vector comes to the
same JSON share it.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from google.protobuf.json_format import ParseError

from buraco.v1 import deal_pb2, event_pb2, rules_service_pb2
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.snapshots import snapshot_to_pb
from buraco_notation import NotationError, parse_move, parse_position, parse_record, parse_rule_set
from buraco_rules import Deal
from tests.vectors import layout, words
from tests.vectors.load import EXPANDED, Source, kind_of, sources
from tests.vectors.messages import as_json, normal, normal_event, normal_move, rule_set_json
from tests.vectors.words import Json


class BadVector(ValueError):
    """A vector cannot be expanded; the text says which and why."""


class Written(NamedTuple):
    """A file to be written."""

    path: Path
    text: str


def expanded() -> Iterator[Written]:
    """Yield the expanded form of every file of vectors. Raise BadVector."""
    for source in sources():
        yield Written(EXPANDED / source.path.name, layout.dumps(_file(source)))


def expanded_under(vector: Json, rule_set: str) -> tuple[Json, Json]:
    """Return the rule set as JSON, and what a vector asks and expects under it. Raise BadVector."""
    try:
        record = as_json(rule_set_to_pb(parse_rule_set(rule_set)))
        return record, _EXPANDERS[kind_of(vector)](vector, rule_set, record)
    except (ValueError, KeyError, StopIteration, ParseError) as error:
        raise BadVector(str(error)) from error


def _file(source: Source) -> Json:
    rule_sets: Json = {}
    vectors: list[Json] = []
    for vector in source.vectors:
        bodies: list[tuple[list[str], Json]] = []
        for text in vector["rule_sets"]:
            try:
                rule_sets[text], body = expanded_under(vector, text)
            except BadVector as error:
                raise BadVector(f"{source.path.name}: {vector['name']} [{text}]: {error}") from error
            alike = next((texts for texts, known in bodies if known == body), None)
            if alike is None:
                bodies.append(([text], body))
            else:
                alike.append(text)
        head = {"name": vector["name"], "kind": kind_of(vector), "rules": vector["rules"]}
        vectors += [head | {"rule_sets": texts} | body for texts, body in bodies]
    return {"about": source.about, "rule_sets": rule_sets, "vectors": vectors}


# ---- requests on a position --------------------------------------------------------------------------


def _parse_position(vector: Json, rule_set: str) -> Deal:
    text = "\n".join([f"rules: {rule_set}", *vector["position"]])
    try:
        return parse_position(text, verify="refused" not in vector)
    except NotationError as error:
        raise ValueError(f"the position: {error}") from error


def _request(vector: Json, deal: Deal) -> Json:
    snapshot = as_json(snapshot_to_pb(deal, with_rules=False))
    return {"snapshot": snapshot, "seat": vector.get("seat", deal.seat_to_move)}


def _moves(vector: Json, rule_set: str, _: Json) -> Json:
    deal = _parse_position(vector, rule_set)
    moves = [as_json(move_to_pb(parse_move(text))) for text in vector["moves"]]
    request = _request(vector, deal) | {"moves": moves}
    if "refused" in vector:
        return request | _refused(vector)
    if "violations" in vector:
        index = vector.get("illegal_index", len(moves) - 1)
        return request | {"violations": _violations(vector), "illegal_index": index}
    reader = words.EventReader(len(deal.stock), deal.pots)
    events = [normal_event(normal(reader.read(text), event_pb2.Event)) for text in vector["events"]]
    return request | {"events": events, "after": _after(vector.get("after", {}))}


def _legal_moves(vector: Json, rule_set: str, _: Json) -> Json:
    moves = [normal_move(as_json(move_to_pb(parse_move(text)))) for text in vector["moves"]]
    return _request(vector, _parse_position(vector, rule_set)) | {"moves": moves}


def _score(vector: Json, rule_set: str, _: Json) -> Json:
    request = _request(vector, _parse_position(vector, rule_set))
    del request["seat"]
    return request | {"final": vector["final"], "score": _score_facts(vector)}


def _view(vector: Json, rule_set: str, _: Json) -> Json:
    request = _request(vector, _parse_position(vector, rule_set))
    if request["seat"] == "public":
        del request["seat"]
    sees: Json = {}
    for name, value in vector["sees"].items():
        if name in ("hand", "pile"):
            sees[name] = words.cards(value)
        elif name == "turn":
            sees[name] = words.turn(value)
        elif name.startswith("melds"):
            sees.setdefault("melds", {})[name[-1]] = [_meld(text) for text in value]
        elif name == "actions":
            sees[name] = sorted([words.ACTIONS[action] for action in value])
        else:
            sees[name] = value
    return request | {"sees": sees}


def _after(facts: Json) -> Json:
    found: Json = {}
    score = {name: value for name, value in facts.items() if name.split()[0] in ("lines", "totals", "match_totals")}
    if score:
        found["score"] = _score_facts(score)
    for name, value in facts.items():
        what, _, number = name.partition(" ")
        if name in score:
            continue
        if what == "hand" and isinstance(value, int):
            found.setdefault("hand_counts", {})[number] = value
        elif what == "hand":
            found.setdefault("hands", {})[number] = sorted(words.cards(value))
        elif what == "melds":
            found.setdefault("melds", {})[number] = [_meld(text) for text in value]
        elif what == "side":
            found.setdefault("sides", {})[number] = words.side(value)
        elif what == "turn":
            found["turn"] = words.turn(value)
        elif what in ("pile", "stock") and isinstance(value, str):
            found[what] = words.cards(value)
        elif what in ("stock", "pots", "undo"):
            found[{"stock": "stock_count", "pots": "pot_count", "undo": "undo_steps"}[what]] = value
        else:
            raise ValueError(f"no fact: {name!r}")
    return found


def _score_facts(vector: Json) -> Json:
    facts: Json = {}
    for name in ("lines 0", "lines 1"):
        if name in vector:
            lines = [words.score_line(text) for text in vector[name]]
            facts.setdefault("lines", {})[name[-1]] = sorted(lines, key=lambda line: sorted(line.items()))
    return facts | {name: vector[name] for name in ("totals", "match_totals") if name in vector}


def _meld(text: str) -> Json:
    return normal(words.meld(text), deal_pb2.Meld)


def _violations(vector: Json) -> list[str]:
    found: list[str] = vector["violations"]
    return found


def _refused(vector: Json) -> Json:
    return {"refused": {"reason": vector.get("reason", "SNAPSHOT_INVALID"), "fields": vector["refused"]}}


# ---- requests without a position ---------------------------------------------------------------------


def _arrange(vector: Json, _: str, __: Json) -> Json:
    request = {"cards": words.cards(vector["cards"])}
    if "refused" in vector:
        return request | _refused({"reason": "REQUEST_INVALID"} | vector)
    if "violations" in vector:
        return request | {"violations": _violations(vector)}
    arrangements = []
    for text in vector["arrangements"]:
        meld, _, points = text.rpartition(": ")
        values = [int(number) for number in points.split(" + ")]
        arrangements.append({"meld": _meld(meld), "card_points": values[0], "buraco_points": sum(values[1:])})
    return request | {"arrangements": arrangements}


def _deal(vector: Json, _: str, __: Json) -> Json:
    request: Json = {key: vector[key] for key in ("seats", "starter") if key in vector}
    found: Json = {"request": request, "seed": vector["seed"]}
    if "match" in vector:
        request["match"] = _match(vector["match"])
    normal(request, rules_service_pb2.DealRequest)
    if "refused" in vector:
        return found | _refused({"reason": "REQUEST_INVALID"} | vector)
    dealt = {
        "commitment": vector["commitment"],
        "seat_to_move": vector["starts"],
        "hands": [sorted(words.cards(text)) for text in vector["hands"]],
        "pots": [words.cards(text) for text in vector["pots"]],
        "pile": words.cards(vector["upcard"]),
        "stock": words.cards(" ".join(vector["stock"])),
        "opening_required": vector.get("opening", [0, 0]),
    }
    return found | {"words": vector["words"], "dealt": dealt}


def _match(text: str) -> Json:
    found: Json = {"deal_number": 1, "scores": [0, 0], "starter": 0, "target_score": 0}
    names = {"deal": "deal_number", "starter": "starter", "target": "target_score"}
    parts = text.split()
    while parts:
        word = parts.pop(0)
        if word == "scores":
            found["scores"] = [int(parts.pop(0)), int(parts.pop(0))]
        else:
            found[names[word]] = int(parts.pop(0))
    return found


def _rule_set(vector: Json, _: str, record: Json) -> Json:
    changed = rule_set_json(record | {"id": "house-rules"} | vector["change"])
    return {"record": changed, "defects": vector["defects"]}


def _preset(vector: Json, rule_set: str, _: Json) -> Json:
    return {"record": rule_set_json({"id": rule_set} | vector["record"])}


def _replay(vector: Json, _: str, __: Json) -> Json:
    record = parse_record("\n".join(vector["record"]) + "\n", verify=False)
    (deal,) = record.deals
    moves = [as_json(move_to_pb(move)) for move in deal.moves]
    turns: list[list[Json]] = []
    for move in moves:
        if "draw_stock" in move or "take_pile" in move:
            turns.append([])
        turns[-1].append(move)
    match = {
        "deal_number": deal.deal_number,
        "scores": list(deal.scores),
        "starter": record.starter,
        "target_score": record.target_score,
    }
    return {
        "request": {"seats": record.seats, "match": match},
        "seed": deal.seed.hex(),
        "commitment": deal.commitment.hex(),
        "turns": turns,
        "ending": int(deal.ending),
        "totals": list(deal.points),
    }


def _table(vector: Json, _: str, __: Json) -> Json:
    request = {key: vector[key] for key in ("seats", "target_score", "stake") if key in vector}
    if "refused" in vector:
        return {"request": request, "seed": vector["seed"]} | _refused({"reason": "REQUEST_INVALID"} | vector)
    steps = []
    for step in vector["steps"]:
        found: Json = {"seat": step["seat"]}
        if "moves" in step:
            found["moves"] = [as_json(move_to_pb(parse_move(text))) for text in step["moves"]]
        if "violations" in step:
            found["violations"] = step["violations"]
        else:
            reader = words.EventReader(step.get("stock", 0), [])
            events = [reader.read(text) for text in step["events"]]
            found["events"] = [normal_event(normal(event, event_pb2.Event)) for event in events]
        steps.append(found)
    result = {"result": vector["result"]} if "result" in vector else {}
    return {"request": request, "seed": vector["seed"], "steps": steps} | result


_EXPANDERS: Final[dict[str, Callable[[Json, str, Json], Json]]] = {
    "moves": _moves,
    "legal_moves": _legal_moves,
    "score": _score,
    "view": _view,
    "arrange": _arrange,
    "deal": _deal,
    "rule_set": _rule_set,
    "preset": _preset,
    "replay": _replay,
    "table": _table,
}


def main() -> None:
    """Write whatever is out of date, and remove what no file of vectors stands for any more."""
    EXPANDED.mkdir(exist_ok=True)
    try:
        files = list(expanded())
    except BadVector as error:
        sys.exit(str(error))
    for path in set(EXPANDED.glob("*.json")) - {written.path for written in files}:
        path.unlink()
    for path, text in files:
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
