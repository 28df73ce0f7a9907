"""Ending a match before it is played to its end: resign, agree to a draw, abort."""

from collections.abc import Iterable
from functools import partial

from buraco_rules import Deal, Phase
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.tables.changes import Change, running_deal
from buraco_service.tables.cutting_off import cut_off_match
from buraco_service.tables.offers import Aborted, DrawOffered, OfferEvent, Resigned, withdraw_offers
from buraco_service.tables.state import MatchEnd, Offer, OfferKind, TableValue
from buraco_service.tables.tables import Tables


class Endings:
    """The use cases. Each answers with a serialised ResignResponse, OfferDrawResponse or AbortTableResponse."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def resign(self, table_id: str, claims: SeatClaims, request_id: str, *, withdraw: bool) -> bytes:
        """Resign for the token's side, or offer it to the partner. Raise what `resign` raises."""
        decide = partial(resign, withdraw=withdraw)
        return await self._tables.change_for_seat("resign", table_id, claims, request_id, decide, b"%d" % withdraw)

    async def offer_draw(self, table_id: str, claims: SeatClaims, request_id: str, *, withdraw: bool) -> bytes:
        """Offer a draw, or agree to one. Raise what `offer_draw` raises."""
        decide = partial(offer_draw, withdraw=withdraw)
        return await self._tables.change_for_seat("offer_draw", table_id, claims, request_id, decide, b"%d" % withdraw)

    async def abort(self, table_id: str, claims: SeatClaims, request_id: str) -> bytes:
        """Abort the match. Raise what `abort` raises."""
        return await self._tables.change_for_seat("abort", table_id, claims, request_id, abort, b"")


def resign(table: TableValue, seat: int, now: float, *, withdraw: bool = False) -> Change:
    """Resign for the seat's side at once, or offer it to a partner who has not; `withdraw` that offer.

    Raise ALREADY_OFFERED, NO_OFFER, or what `running_deal` raises.
    """
    offer = Offer(seat, OfferKind.RESIGNATION)
    if withdraw:
        return _withdraw(table, offer, now)
    if _is_agreed(table, offer, range(seat & 1, len(table.seats), 2)):
        return cut_off_match(table, seat, [Resigned(seat, pending=False)], MatchEnd.RESIGNED, 1 - (seat & 1), now)
    return _offer(table, offer, Resigned(seat, pending=True), now)


def offer_draw(table: TableValue, seat: int, now: float, *, withdraw: bool = False) -> Change:
    """Offer a draw, which ends the match once all players have offered it; `withdraw` the offer.

    Raise ALREADY_OFFERED, NO_OFFER, or what `running_deal` raises.
    """
    offer = Offer(seat, OfferKind.DRAW)
    if withdraw:
        return _withdraw(table, offer, now)
    if _is_agreed(table, offer, range(len(table.seats))):
        return cut_off_match(table, seat, [DrawOffered(seat)], MatchEnd.DRAW_AGREED, None, now)
    return _offer(table, offer, DrawOffered(seat), now)


def abort(table: TableValue, seat: int, now: float) -> Change:
    """Abort the match. Raise TOO_LATE_TO_ABORT once all have made a move, or what `running_deal` raises."""
    if _have_all_moved(running_deal(table)):
        raise errors.failed_precondition("TOO_LATE_TO_ABORT", "every player has made a move")
    return cut_off_match(table, seat, [Aborted(seat)], MatchEnd.ABORTED, None, now)


def _have_all_moved(deal: Deal) -> bool:
    return deal.match.deal_number > 1 or deal.turn.number + (deal.phase is not Phase.DRAW) > deal.seats


def _is_agreed(table: TableValue, offer: Offer, seats: Iterable[int]) -> bool:
    """Return True if, with this offer, the players of all these seats have made one of its kind.

    Free seats have nobody who could agree.
    """
    offers = {*table.offers, offer}
    return all([Offer(seat, offer.kind) in offers for seat in seats if table.seats[seat].token_id])


def _offer(table: TableValue, offer: Offer, event: OfferEvent, now: float) -> Change:
    running_deal(table)
    if offer in table.offers:
        raise errors.failed_precondition("ALREADY_OFFERED", "the seat has made this offer, and it is open")
    return Change(table.advanced(now)._replace(offers=(*table.offers, offer)), offer.seat, [event])


def _withdraw(table: TableValue, offer: Offer, now: float) -> Change:
    running_deal(table)
    if offer not in table.offers:
        raise errors.failed_precondition("NO_OFFER", "the seat has no such offer open")
    after, events = withdraw_offers(table, offer)
    return Change(after.advanced(now), offer.seat, events)
