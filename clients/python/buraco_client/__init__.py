"""A typed asyncio client of the Buraco service; start with `BuracoClient`.

Requests and answers are the generated messages of `buraco.v1`; this package adds deadlines, safe repeats, streams that
resume by themselves and errors as exceptions.
"""

from buraco_client.backoff import Backoff
from buraco_client.card_picking import WildPlace, moves_for, pickable, wild_place
from buraco_client.client import BuracoClient
from buraco_client.errors import (
    AccountsDisabled,
    ApiKeyRejected,
    BuracoError,
    CreditTooLow,
    DeadlineExceeded,
    FieldProblem,
    InvalidRequest,
    LimitReached,
    NotCreator,
    NotInvited,
    PlayerTokenRejected,
    RequestIdReused,
    RevisionStale,
    RuleBroken,
    SeatNotYours,
    SignInDisabled,
    TableRefused,
    TableUnknown,
    TokenRejected,
    Unavailable,
)
from buraco_client.hand_order import HandOrder, sorted_hand
from buraco_client.play import PlaySession, PlayUpdate
from buraco_client.rules import Rules, RulesClient
from buraco_client.seat import Seat
from buraco_client.streams import Update
from buraco_client.texts import Texts, languages
from buraco_client.tls import Tls
from buraco_client.unary import new_request_id
from buraco_client.watch import Watch

__all__ = [
    "AccountsDisabled",
    "ApiKeyRejected",
    "Backoff",
    "BuracoClient",
    "BuracoError",
    "CreditTooLow",
    "DeadlineExceeded",
    "FieldProblem",
    "HandOrder",
    "InvalidRequest",
    "LimitReached",
    "NotCreator",
    "NotInvited",
    "PlaySession",
    "PlayUpdate",
    "PlayerTokenRejected",
    "RequestIdReused",
    "RevisionStale",
    "RuleBroken",
    "Rules",
    "RulesClient",
    "Seat",
    "SeatNotYours",
    "SignInDisabled",
    "TableRefused",
    "TableUnknown",
    "Texts",
    "Tls",
    "TokenRejected",
    "Unavailable",
    "Update",
    "Watch",
    "WildPlace",
    "languages",
    "moves_for",
    "new_request_id",
    "pickable",
    "sorted_hand",
    "wild_place",
]
