"""Make a database with a version of the service: `python -m tests.faults.earlier CHECKOUT NAME`.

CHECKOUT is a folder with the sources of that version, NAME the name of the files written here: NAME.db, NAME.json with
the answers of that version about each table, to everybody and to each seat, and NAME.jsonl with the requests that it
answered. Run this once for a version, before what it stores changes.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc.aio
from google.protobuf.json_format import MessageToDict

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import PRESETS_BY_ID, Deal, RuleSet
from buraco_service.access.seat_tokens import SeatTokens
from tests.faults.earlier.answers import read_answers
from tests.service.programs import Program
from tests.service.scripts import SeatTurn, deals_played, dealt, short_rules, steps_to, turns
from tests.service.table_server import KEY, SEED, bearing, moves_to_pb, new_id

HERE = Path(__file__).parent


class Maker:
    """Plays at tables of a server, and notes every request that changed a table, with its answer."""

    def __init__(self, tables: pb_grpc.TableServiceStub) -> None:
        self._tables = tables
        self.answers: list[Any] = []
        self.requests: list[Any] = []

    async def table(
        self, rules: RuleSet, seats: int, script: Sequence[SeatTurn], *, joined: int | None = None, **options: Any
    ) -> list[str]:
        """Create a table, play the script, and return the tokens of the joined seats."""
        creating = pb.CreateTableRequest(
            rule_set=rule_set_to_pb(rules), seats=seats, seed=SEED, request_id=new_id(), **{"target_score": 0} | options
        )
        table_id = (await self._call("CreateTable", creating)).table.id
        tokens = []
        for seat in range(seats if joined is None else joined):
            joining = pb.JoinTableRequest(table_id=table_id, player_name=f"Zoë {seat}", request_id=new_id())
            tokens.append((await self._call("JoinTable", joining)).token)
        for revision, turn in enumerate(script, 1 + len(tokens)):
            submit = pb.SubmitMovesRequest(
                table_id=table_id, moves=moves_to_pb(turn.moves), revision=revision, request_id=new_id()
            )
            await self._call("SubmitMoves", submit, tokens[turn.seat])
        self.answers.append(await read_answers(self._tables, table_id, tokens))
        return tokens

    async def undo(self, token: str, tokens: Sequence[str]) -> None:
        """Undo the newest play at the newest table."""
        table_id = self.answers[-1]["table"]["id"]
        await self._call("UndoMove", pb.UndoMoveRequest(table_id=table_id, request_id=new_id()), token)
        self.answers[-1] = await read_answers(self._tables, table_id, tokens)

    async def leave(self, token: str) -> None:
        """Leave the newest table."""
        table_id = self.answers[-1]["table"]["id"]
        await self._call("LeaveTable", pb.LeaveTableRequest(table_id=table_id, request_id=new_id()), token)
        self.answers[-1] = await read_answers(self._tables, table_id, ())

    async def _call(self, method: str, request: Any, token: str = "") -> Any:
        answer = await getattr(self._tables, method)(request, metadata=bearing(token) if token else ())
        claims = SeatTokens((KEY,), 3600).verify(token, time.time()) if token else None
        self.requests.append(
            {
                "method": method,
                "request": MessageToDict(request),
                "answer": MessageToDict(answer),
                "seat": claims and claims.seat,
                "token_id": claims and claims.token_id,
            }
        )
        return answer


def _melded(deal: Deal) -> bool:
    return len(deal.turn.undo) == 2


async def _make(tables: pb_grpc.TableServiceStub) -> Maker:
    maker = Maker(tables)
    short = short_rules(6)
    await maker.table(short, 4, (), joined=1, stake=5)
    for name in ("burraco", "professional-direct", "closed"):
        rules = PRESETS_BY_ID[name]
        # In the middle of a turn with moves to undo.
        script = list(turns(steps_to(_melded, dealt(rules), random.Random(5))))
        tokens = await maker.table(rules, 2, script)
        if name == "closed":
            await maker.undo(tokens[script[-1].seat], tokens)
    deals = deals_played(dealt(short, target=10_000), random.Random(1))
    steps = [*next(deals), *next(deals), *next(deals)[:5]]
    await maker.table(short, 2, list(turns(steps)), target_score=10_000)
    finished = [step for deal in deals_played(dealt(short), random.Random(2)) for step in deal]
    await maker.table(short, 2, list(turns(finished)), stake=100)
    tokens = await maker.table(
        short, 4, list(turns(steps_to(lambda deal: deal.turn.number == 3, dealt(short, 4), random.Random(3))))
    )
    await maker.leave(tokens[1])
    return maker


async def main(checkout: Path, name: str) -> None:
    """Make the files."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(
            Path(folder),
            log=Path(folder, "log"),
            PYTHONPATH=f"{checkout}/service:{checkout}/clients/python",
            BURACO_STORE=f"sqlite:///{folder}/tables.db",
            BURACO_SIGNING_KEYS=f"{KEY.kid}:{KEY.secret.decode()}",
        )
        ready = await program.ready()
        async with grpc.aio.insecure_channel(ready["address"]) as channel:
            maker = await _make(pb_grpc.TableServiceStub(channel))
        program.process.terminate()
        await program.end()
        (HERE / f"{name}.db").unlink(missing_ok=True)
        with sqlite3.connect(f"{folder}/tables.db") as db:
            db.execute("VACUUM INTO ?", (str(HERE / f"{name}.db"),))
    # One line for each table, and one for each request.
    lines = ",\n".join([json.dumps(table, ensure_ascii=False) for table in maker.answers])
    (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n")
    requests = [json.dumps(request, ensure_ascii=False) + "\n" for request in maker.requests]
    (HERE / f"{name}.jsonl").write_text("".join(requests))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
