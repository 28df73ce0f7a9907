"""What spectators may see of a table: nothing, all at once, or what lies some time back.

Nothing is stored for the delay but the time of each change. A table of the past is made from its log: dealt again from
the deal's seed, and played up to the newest change that is old enough.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from buraco.v1 import table_pb2
from buraco_codec.deals import match_from_pb
from buraco_codec.moves import move_from_pb
from buraco_rules import Deal, Match, Problems, apply_for, deal_match, mix_seed, next_match, undo
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.sized_cache import SizedCache
from buraco_service.stores.base import LogEntry
from buraco_service.tables.changes import verify_seat
from buraco_service.tables.entries import parse_entry, parse_whole
from buraco_service.tables.state import MatchEnd, SpectatorPolicy, TableState, TableValue
from buraco_service.tables.stored_timing import from_timestamp
from buraco_service.tables.tables import Tables

_PAGE: Final = 128
_CACHED: Final = 64
"""Tables whose past is cached: each spectator's next look replays only what has come since."""


class _Past(NamedTuple):
    """A table at an earlier revision, as far as it was another one then."""

    revision: int
    deal: Deal | None
    is_over: bool
    updated_at: float


def check_spectator(table: TableValue) -> None:
    """Raise SPECTATORS_NOT_ALLOWED if only players may see the table."""
    if table.options.spectators is SpectatorPolicy.NONE:
        raise errors.spectators_not_allowed()


def check_reader(table: TableValue, claims: SeatClaims | None) -> None:
    """Raise SEAT_NOT_YOURS for a token that holds no seat of the table; without one raise as `check_spectator`."""
    if claims is None:
        check_spectator(table)
    else:
        verify_seat(table, claims)


def has_limits(table: TableValue) -> bool:
    """Return True if spectators may not see all that players may see in common, or not yet."""
    return table.options.spectators is SpectatorPolicy.NONE or table.options.spectator_delay > 0


def visible_until(table: TableValue, claims: SeatClaims | None, now: float) -> float | None:
    """Return the time up to which the token's holder, or everybody, may see what happened; None for no limit."""
    delay = table.options.spectator_delay
    return now - delay if claims is None and delay else None


class Spectators:
    """What spectators see of tables."""

    def __init__(self, tables: Tables) -> None:
        self._store = tables.repository.store
        self._repository = tables.repository
        self._clock = tables.clock
        self._cached = SizedCache[str, _Past](_CACHED)

    async def see(self, table: TableValue, claims: SeatClaims | None) -> TableValue:
        """Return the table as the token's holder may see it, or everybody (None) now.

        Raise SEAT_NOT_YOURS or SPECTATORS_NOT_ALLOWED.
        """
        check_reader(table, claims)
        until = visible_until(table, claims, self._clock())
        if until is None or table.updated_at <= until:
            return table
        return await self.at(table, await self._newest_before(table, until))

    async def read_records(
        self, table: TableValue, claims: SeatClaims | None, after_deal: int, limit: int
    ) -> list[table_pb2.DealRecord]:
        """Return the first `limit` records after a deal that the token's holder, or everybody, may see.

        Raise as `see`.
        """
        seen = await self.see(table, claims)
        deals = await self._repository.read_records(table.id, after_deal, limit)
        if visible_until(table, claims, 0.0) is None:
            return deals
        newest = 0 if seen.deal is None else seen.deal.match.deal_number
        is_done = seen.state is TableState.FINISHED or (seen.deal is not None and bool(seen.deal.ending))
        return [deal for deal in deals if deal.deal_number < newest + is_done]

    async def at(self, table: TableValue, revision: int) -> TableValue:
        """Return a table as it was at an earlier revision, without clocks and offers, and with its seats as now."""
        if revision >= table.revision:
            return table
        past = self._cached.get(table.id)
        if past is None or past.revision > revision:
            past = await self._begin(table, revision)
        while past.revision < revision:
            page = await self._store.read_log(table.id, past.revision, min(_PAGE, revision - past.revision))
            for entry in page:
                past = _advance(table, past, entry)
        self._cached.put(table.id, past, 1)
        state = TableState.WAITING if past.deal is None else TableState.PLAYING
        return table._replace(
            revision=revision,
            updated_at=past.updated_at,
            state=TableState.FINISHED if past.is_over else state,
            deal=past.deal,
            result=table.result if past.is_over else None,
            how=table.how if past.is_over else MatchEnd.PLAYED,
            timing=None,
            offers=(),
        )

    async def _newest_before(self, table: TableValue, until: float) -> int:
        """Return the newest revision of up to a time, at least 1. The newest of all is later."""
        low, high = 1, table.revision
        while high - low > 1:
            middle = (low + high) // 2
            (entry,) = await self._store.read_log(table.id, middle - 1, 1)
            if parse_entry(entry.revision, entry.payload).created_at <= until:
                low = middle
            else:
                high = middle
        return low

    async def _begin(self, table: TableValue, revision: int) -> _Past:
        """Return the past at the newest revision up to the given one that dealt, or at the first."""
        high = revision
        while high > 1:
            low = max(1, high - _PAGE)
            for entry in reversed(await self._store.read_log(table.id, low, high - low)):
                whole = parse_whole(entry.payload)
                for event in whole.events:
                    if event.HasField("dealt"):
                        match = await self._match_of(table, event.dealt.deal_number)
                        return _Past(entry.revision, _deal(table, match), False, from_timestamp(whole.created_at))
            high = low
        return _Past(1, None, False, table.created_at)

    async def _match_of(self, table: TableValue, deal_number: int) -> Match:
        """Return the match as a deal of it was dealt."""
        assert table.deal is not None
        if table.deal.match.deal_number == deal_number:
            return table.deal.match
        ((_, payload),) = await self._store.read_records(table.id, deal_number - 1, 1)
        return match_from_pb(table_pb2.DealRecord.FromString(payload).match, "match", Problems())


def _advance(table: TableValue, past: _Past, entry: LogEntry) -> _Past:
    """Return the past one revision on."""
    whole, deal, is_over = parse_whole(entry.payload), past.deal, past.is_over
    if deal is not None:
        for played in whole.moves:
            deal, _ = apply_for(deal, played.seat, move_from_pb(played.move))
        if whole.undo:
            deal, _ = undo(deal)
    for event in whole.events:
        if event.HasField("dealt"):
            first = Match(target_score=table.target_score, starter=table.first_starter)
            deal = _deal(table, first if deal is None else next_match(deal))
        elif event.HasField("match_ended"):
            is_over = True
    return _Past(entry.revision, deal, is_over, from_timestamp(whole.created_at))


def _deal(table: TableValue, match: Match) -> Deal:
    seed = mix_seed(table.server_seed(match.deal_number), table.entropies)
    return deal_match(table.rules, len(table.seats), seed, match)[0]
