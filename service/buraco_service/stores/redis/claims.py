"""Creates that are remembered among all tables, although request and table lie in different slots of a cluster.

No script can write both, so a create takes three steps, each atomic in its slot:

1. Claim: the request id gets a claim, with all that the table is to be made of. The first claim wins; from here on the
   request stands for this table, whoever carries it on.
2. Make: the table is written whole, marked with its claim. Made once more with the same claim it stays as it is.
3. Settle: the claim forgets what the table was to be made of.

Whoever finds a claim that is not settled carries it on before he answers. So when a creator dies after step 1, the
repeat makes the table and is told the first answer; when it dies after step 2, the repeat finds the table. A table is
never there in part, and of racing creates the one that claimed first wins. A claim counts only together with a table
that bears its mark: when the id was taken, or the table has expired, the claim is void and may be replaced, by naming
it, so that of several who want to replace it one does. Claims left open for long are carried to their end by `expire`.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import NamedTuple

from buraco_service.stores.base import AlreadyRemembered, NewTable, Remembered, StoreUnavailable, TableExists
from buraco_service.stores.redis.keys import Keys, bucket_of
from buraco_service.stores.redis.nodes import Nodes
from buraco_service.stores.redis.scripts import ABANDONED, CLAIM, CREATE, DISCLAIM, SETTLE

OPEN_FOR_LONG = 3600
"""Seconds after which nobody is at work on an open claim any more."""

_MOST_ROUNDS = 16


class Claim(NamedTuple):
    """What a request stands for; `table` is None once that is settled."""

    mark: str
    table_id: str
    table: NewTable | None


class Claims:
    """The claims of one store. Every method may raise StoreUnavailable; what it began may be carried on later."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        request_id = table.request_id
        if request_id is None:
            if not await self.make(table, ""):
                raise TableExists(table.table_id)
            return
        mine, void = uuid.uuid4().hex, ""
        for _ in range(_MOST_ROUNDS):
            held = await self._claim(request_id, mine, void, table)
            if held is None:
                if not await self.make(table, mine):
                    await self.disclaim(request_id, mine)
                    raise TableExists(table.table_id)
                with contextlib.suppress(StoreUnavailable):  # the table is there; the next who looks will settle it
                    await self._settle(request_id, mine)
                return
            made = await self._carry_on(request_id, held)
            if made is not None:
                raise AlreadyRemembered(held.table_id, Remembered(1, made))
            void = held.mark
        raise StoreUnavailable("too many creates with one request id at once")

    async def created(self, request_id: str) -> tuple[str, bytes] | None:
        """See `Store.created`."""
        held = await self._held(request_id)
        if held is None:
            return None
        made = await self._carry_on(request_id, held)
        return None if made is None else (held.table_id, made)

    async def make(self, table: NewTable, mark: str) -> bool:
        """Write the table, for the claim of this mark if it has a request id; False when its id is taken."""
        keys = self._keys.of_table(table.table_id)
        outcome: bytes = await self._nodes.run(
            keys.bucket,
            CREATE,
            (keys.table, keys.log, keys.requests, keys.order, keys.names, keys.ages, keys.owned),
            *(table.table_id, mark, table.request_id or "", table.state, table.status, repr(table.now)),
            *(table.entry, table.answer, keys.channel, table.owner or ""),
        )
        return outcome == b"made"

    async def disclaim(self, request_id: str, mark: str) -> None:
        """Forget a claim: its table has gone, or could not be made."""
        await self._nodes.run(bucket_of(request_id), DISCLAIM, self._claim_keys(request_id), request_id, mark)

    async def tidy(self, bucket: int, limit: int) -> None:
        """Carry claims of the bucket that were left open to their end."""
        abandoned: list[bytes] = await self._nodes.run(
            bucket, ABANDONED, (self._keys.open_claims(bucket),), OPEN_FOR_LONG, limit
        )
        for name in abandoned:
            request_id = name.decode()
            held = await self._held(request_id)
            if held is not None and await self._carry_on(request_id, held) is None:
                await self.disclaim(request_id, held.mark)

    async def _claim(self, request_id: str, mark: str, void: str, table: NewTable) -> Claim | None:
        """None when the claim is ours, else the one that holds."""
        answer: list[bytes | None] | None = await self._nodes.run(
            bucket_of(request_id),
            CLAIM,
            self._claim_keys(request_id),
            *(request_id, mark, void, table.table_id, table.state, table.status, repr(table.now)),
            *(table.entry, table.answer, table.owner or ""),
        )
        return None if answer is None else _read(request_id, answer)

    async def _held(self, request_id: str) -> Claim | None:
        answer = await self._nodes.call(
            bucket_of(request_id),
            *("HMGET", self._keys.claim(request_id)),
            *("claim", "table", "state", "status", "now", "entry", "answer", "owner"),
        )
        return None if answer[0] is None else _read(request_id, answer)

    async def _carry_on(self, request_id: str, held: Claim) -> bytes | None:
        """The answer kept with the claim's table, which is made if it was not; None when the claim is void."""
        if held.table is None:
            return await self._made(held)
        if not await self.make(held.table, held.mark):
            return None
        await self._settle(request_id, held.mark)
        return held.table.answer

    async def _made(self, held: Claim) -> bytes | None:
        """The answer kept with the claim's table, if that is there."""
        keys = self._keys.of_table(held.table_id)
        mark, answer = await self._nodes.call(keys.bucket, "HMGET", keys.table, "claim", "answer")
        found: bytes | None = answer
        return found if mark == held.mark.encode() else None

    async def _settle(self, request_id: str, mark: str) -> None:
        await self._nodes.run(bucket_of(request_id), SETTLE, self._claim_keys(request_id), request_id, mark)

    def _claim_keys(self, request_id: str) -> tuple[bytes, bytes]:
        return self._keys.claim(request_id), self._keys.open_claims(bucket_of(request_id))


def _read(request_id: str, claim: list[bytes | None]) -> Claim:
    mark, table_id, state, status, now, entry, answer, owner = claim
    assert mark is not None
    assert table_id is not None
    if state is None or status is None or now is None or entry is None or answer is None or owner is None:
        return Claim(mark.decode(), table_id.decode(), None)
    table = NewTable(
        table_id.decode(), state, status.decode(), float(now), entry, request_id, answer, owner.decode() or None
    )
    return Claim(mark.decode(), table.table_id, table)
