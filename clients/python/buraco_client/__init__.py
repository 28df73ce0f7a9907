"""A typed asyncio client of the Buraco service.

Messages in and out are the generated ones of `buraco.v1`; this package adds deadlines, safe repeats, streams
that resume by themselves and errors as exceptions. Start with `BuracoClient`.
"""

from buraco_client.backoff import Backoff
from buraco_client.client import BuracoClient
from buraco_client.errors import (
    ApiKeyRejected,
    BuracoError,
    DeadlineExceeded,
    FieldFault,
    InvalidRequest,
    LimitReached,
    RequestIdReused,
    RevisionStale,
    RuleBroken,
    SeatNotYours,
    TableRefused,
    TableUnknown,
    TokenRejected,
    Unavailable,
)
from buraco_client.play import PlaySession, PlayUpdate
from buraco_client.rules import Rules, RulesClient
from buraco_client.seat import Seat
from buraco_client.streams import Update
from buraco_client.tls import Tls
from buraco_client.unary import new_request_id
from buraco_client.watch import Watch

__all__ = [
    "ApiKeyRejected",
    "Backoff",
    "BuracoClient",
    "BuracoError",
    "DeadlineExceeded",
    "FieldFault",
    "InvalidRequest",
    "LimitReached",
    "PlaySession",
    "PlayUpdate",
    "RequestIdReused",
    "RevisionStale",
    "RuleBroken",
    "Rules",
    "RulesClient",
    "Seat",
    "SeatNotYours",
    "TableRefused",
    "TableUnknown",
    "Tls",
    "TokenRejected",
    "Unavailable",
    "Update",
    "Watch",
    "new_request_id",
]
