"""The use cases of accounts: each posts one entry at most, exactly once, however often it is called.

An entry is decided on the newest one and appended if that is still the newest: otherwise it is decided again. Its key
is what it is for: `open` for the first credits, `grant` and a request id for those of GrantCredits, `hold` and the key
of a hold for its stake, `end` and the same key for the release or the settlement. So a hold ends once, and one that has
ended before it was made is never made: `hold` looks for `end` when it has read the newest entry, and whatever comes
behind that makes it decide again.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Final
from weakref import WeakValueDictionary

from buraco_service import errors
from buraco_service.accounts import entries
from buraco_service.accounts.entries import HOUSE, NOTHING, Entry, HoldEnded
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.ledger import Ledger

_ATTEMPTS: Final = 50
_LONGEST_PAUSE: Final = 0.02
"""Seconds before another attempt: all replicas post to the account of the house."""
_OPEN: Final = "open"

_Decide = Callable[[Entry, Mapping[str, Entry]], Entry]
"""From the newest entry, and those under the keys that were asked for, to the next."""


class Accounts:
    """The accounts of a store. `initial` credits are given to a player's account when it is first needed."""

    def __init__(self, ledger: Ledger, metrics: Metrics, *, clock: Callable[[], float], initial: int) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._clock = clock
        self._initial = initial
        self._posting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By account: held while this replica posts, so that its own calls do not race."""

    async def newest(self, account_id: str) -> Entry:
        """Return the newest entry of an account, opened if it is not; NOTHING if it has none even so."""
        newest = await self._read_newest(account_id)
        if newest is not NOTHING or account_id == HOUSE or not self._initial:
            return newest
        await self._post(account_id, _OPEN, lambda before, _: entries.grant(before, self._initial, self._clock()))
        return await self._read_newest(account_id)

    async def list_entries(self, account_id: str, limit: int, before: int | None) -> list[Entry]:
        """Return the newest `limit` entries of an account, those before a number if it is given, the newest first."""
        await self.newest(account_id)
        return [entries.parse_entry(found.payload) for found in await self._ledger.entries(account_id, limit, before)]

    async def grant(self, account_id: str, amount: int, note: str, request_id: str, granted_by: str) -> Entry:
        """Give credits, or take them, once for a request id. Raise what `entries.grant` raises, REQUEST_ID_REUSED."""

        def decide(before: Entry, _: Mapping[str, Entry]) -> Entry:
            return entries.grant(before, amount, self._clock(), note, granted_by)

        asked = Entry(amount=amount, note=note, granted_by=granted_by)
        await self.newest(account_id)
        return await self._post(account_id, f"grant:{request_id}", decide, is_same=asked.is_same)

    async def hold(self, account_id: str, key: str, stake: int, table_id: str) -> Entry:
        """Hold a stake under a key. Raise CREDIT_TOO_LOW, or HoldEnded if the hold was ended before."""
        end = f"end:{key}"

        def decide(before: Entry, found: Mapping[str, Entry]) -> Entry:
            if end in found:
                raise HoldEnded
            return entries.hold(before, stake, self._clock(), table_id, may_overdraw=account_id == HOUSE)

        await self.newest(account_id)
        return await self._post(account_id, f"hold:{key}", decide, end)

    async def end_hold(self, account_id: str, key: str, payout: int, table_id: str) -> Entry:
        """End the hold under a key: release it with a payout of 0, or settle it.

        A hold that was not made never will be.
        """
        made = f"hold:{key}"

        def decide(before: Entry, found: Mapping[str, Entry]) -> Entry:
            held = found[made].held_amount if made in found else 0
            return entries.end_hold(before, held, payout, self._clock(), table_id)

        return await self._post(account_id, f"end:{key}", decide, made)

    async def _post(
        self,
        account_id: str,
        key: str,
        decide: _Decide,
        *others: str,
        is_same: Callable[[Entry], bool] = lambda _: True,
    ) -> Entry:
        """Post what `decide` makes of the newest entry and of those under `others`, unless there is one under the key.

        Raise REQUEST_ID_REUSED unless that one `is_same`, and what `decide` raises.
        """
        async with self._posting.setdefault(account_id, asyncio.Lock()):
            for _ in range(_ATTEMPTS):
                # First the newest: what comes behind it makes the append fail.
                newest = await self._read_newest(account_id)
                stored = await self._ledger.find(account_id, [key, *others])
                found = {name: entries.parse_entry(entry.payload) for name, entry in stored.items()}
                if key not in found:
                    entry = decide(newest, found)
                    payload = entries.serialise_entry(entry)
                    posted = await self._ledger.append(account_id, entry.number, key, payload)
                    if posted is None:
                        await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 (no secret)
                        continue
                    if posted.is_new:
                        self._metrics.count_account_entry(entry.kind.name.lower())
                        return entry
                    found[key] = entries.parse_entry(posted.entry.payload)
                if not is_same(found[key]):
                    raise errors.request_id_reused()
                return found[key]
        raise StoreUnavailable("too many post to one account at once")

    async def _read_newest(self, account_id: str) -> Entry:
        page = await self._ledger.entries(account_id, 1)
        return entries.parse_entry(page[0].payload) if page else NOTHING
