"""What players offer each other while a match runs, and what happens when one ends it."""

from dataclasses import dataclass
from typing import TypeAlias

from buraco_service.tables.state import Offer, OfferKind, TableValue


@dataclass(frozen=True, slots=True)
class Resigned:
    """A player resigned; while it is pending the partner has to agree."""

    seat: int
    pending: bool


@dataclass(frozen=True, slots=True)
class DrawOffered:
    """A player offered a draw."""

    seat: int


@dataclass(frozen=True, slots=True)
class OfferWithdrawn:
    """An offer is no longer open."""

    seat: int
    kind: OfferKind


@dataclass(frozen=True, slots=True)
class Aborted:
    """A player aborted the match."""

    seat: int


OfferEvent: TypeAlias = Resigned | DrawOffered | OfferWithdrawn | Aborted


def withdraw_offers(table: TableValue, *offers: Offer) -> tuple[TableValue, list[OfferWithdrawn]]:
    """Return the table without these offers of its own, at the same revision, and the events."""
    kept = tuple([offer for offer in table.offers if offer not in offers])
    return table._replace(offers=kept), [OfferWithdrawn(*offer) for offer in offers]


def offers_of(table: TableValue, seat: int) -> tuple[Offer, ...]:
    """Return the open offers of a seat."""
    return tuple([offer for offer in table.offers if offer.seat == seat])
