"""AccountService over gRPC: who may see and change which account, and what a request must look like."""

import re
from typing import Any, Final

import grpc.aio

from buraco.v1 import account_service_pb2 as pb
from buraco.v1 import account_service_pb2_grpc
from buraco_service import errors
from buraco_service.access.admission import current_caller
from buraco_service.access.operators import Operators
from buraco_service.access.player_tokens import PlayerTokenMissing, PlayerTokens
from buraco_service.accounts.entries import HOUSE, account_to_pb, entry_to_pb
from buraco_service.requests import RequestProblems, read_page_size, read_request_id
from buraco_service.serving.metadata import call_metadata
from buraco_service.tables.tables import Tables

Context = grpc.aio.ServicerContext[Any, Any]

MAX_GRANT: Final = 10**12
MAX_NOTE: Final = 200
MAX_PAGE: Final = 200
DEFAULT_PAGE: Final = 50
_PLAYER_ID: Final = re.compile(rf"[!-~]{{1,128}}|{HOUSE}")
_PAGE_TOKEN: Final = re.compile(r"[1-9][0-9]{0,9}")


class AccountServicer(account_service_pb2_grpc.AccountServiceServicer):
    """Every RPC of AccountService. Errors leave as ApiError; `calls` turns them into statuses."""

    def __init__(self, tables: Tables, players: PlayerTokens, operators: Operators, *, enabled: bool) -> None:
        self._accounts = tables.accounts
        self._clock = tables.clock
        self._players = players
        self._operators = operators
        self._enabled = enabled

    async def GetAccount(self, request: pb.GetAccountRequest, context: Context) -> pb.GetAccountResponse:
        """See the contract."""
        problems = RequestProblems()
        account_id = self._account_id(request.player_id, context, problems)
        problems.raise_if_any()
        return pb.GetAccountResponse(account=account_to_pb(account_id, await self._accounts.newest(account_id)))

    async def ListEntries(self, request: pb.ListEntriesRequest, context: Context) -> pb.ListEntriesResponse:
        """See the contract."""
        problems = RequestProblems()
        account_id = self._account_id(request.player_id, context, problems)
        size = read_page_size(request.page_size, DEFAULT_PAGE, MAX_PAGE, problems)
        token = request.page_token
        problems.check("page_token", not token or bool(_PAGE_TOKEN.fullmatch(token)), "the token of the page before")
        problems.raise_if_any()
        found = await self._accounts.list_entries(account_id, size, int(token) if token else None)
        more = found[-1].number if found and found[-1].number > 1 else ""
        return pb.ListEntriesResponse(entries=map(entry_to_pb, found), next_page_token=str(more))

    async def GrantCredits(self, request: pb.GrantCreditsRequest, context: Context) -> pb.GrantCreditsResponse:
        """See the contract."""
        self._check_enabled()
        self._operators.check(current_caller())
        problems = RequestProblems()
        _check_player_id(request.player_id, problems)
        problems.check("amount", 0 < abs(request.amount) <= MAX_GRANT, f"at most {MAX_GRANT} either way, and not 0")
        problems.check("note", len(request.note) <= MAX_NOTE, f"at most {MAX_NOTE} characters")
        request_id = read_request_id(request.request_id, problems)
        problems.raise_if_any()
        entry = await self._accounts.grant(
            request.player_id, request.amount, request.note, request_id, current_caller() or ""
        )
        return pb.GrantCreditsResponse(account=account_to_pb(request.player_id, entry), entry=entry_to_pb(entry))

    def _account_id(self, asked: str, context: Context, problems: RequestProblems) -> str:
        """Return the account that the caller may see: its own, or that it asks for if it may see any."""
        self._check_enabled()
        if asked:
            self._operators.check(current_caller())
            _check_player_id(asked, problems)
            return asked
        player = self._players.read_bearer(call_metadata(context), self._clock())
        if player is None:
            raise PlayerTokenMissing
        return player.id

    def _check_enabled(self) -> None:
        if not self._enabled:
            raise errors.failed_precondition("ACCOUNTS_DISABLED", "the service keeps no accounts")


def _check_player_id(player_id: str, problems: RequestProblems) -> None:
    what = f"1 to 128 visible ASCII characters, or `{HOUSE}`"
    problems.check("player_id", bool(_PLAYER_ID.fullmatch(player_id)), what)
