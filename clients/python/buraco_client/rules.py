"""The rules as pure functions of a snapshot, for trusted backends that store the snapshot themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buraco.v1 import rule_set_pb2, rules_service_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from buraco.v1 import card_pb2, deal_pb2, move_pb2, score_pb2, table_service_pb2, view_pb2
    from buraco_client.connection import Connection

#: A preset's id, or a rule set of one's own.
Rules = str | rule_set_pb2.RuleSet


def set_rules(
    request: rules_service_pb2.DealRequest
    | rules_service_pb2.ArrangeMeldRequest
    | table_service_pb2.CreateTableRequest
    | table_service_pb2.QuickJoinRequest,
    rules: Rules,
) -> None:
    """Set the rules in a request: the id, or a copy of the rule set.

    >>> request = rules_service_pb2.DealRequest(seats=2)
    >>> set_rules(request, "burraco")
    >>> request.rule_set_id
    'burraco'
    """
    if isinstance(rules, str):
        request.rule_set_id = rules
    else:
        request.rule_set.CopyFrom(rules)


class RulesClient:
    """The RulesService, which stores nothing.

        snapshot = (await client.rules.deal("closed", seats=2)).snapshot

    A snapshot holds everybody's cards: never send it to a player. `timeout` of a call is its deadline in seconds
    (default: the client's). Calls raise InvalidRequest for malformed input, ApiKeyRejected, LimitReached, Unavailable
    and DeadlineExceeded.
    """

    def __init__(self, connection: Connection) -> None:
        self._call = connection.call
        self._rules = connection.rules

    async def list_rule_sets(self, *, timeout: float | None = None) -> Sequence[rule_set_pb2.RuleSet]:
        """Return the preset rule sets.

            ids = [rule_set.id for rule_set in await client.rules.list_rule_sets()]

        Each of them, and each changed copy of one, may be given as `rules`.
        """
        request = rules_service_pb2.ListRuleSetsRequest()
        return (await self._call(self._rules.ListRuleSets, request, timeout=timeout)).rule_sets

    async def deal(
        self,
        rules: Rules,
        seats: int,
        *,
        seed: bytes | None = None,
        starter: int | None = None,
        match: deal_pb2.Match | None = None,
        timeout: float | None = None,
    ) -> rules_service_pb2.DealResponse:
        """Deal the next deal of `match` (its `deal_number`), or without it a match of one deal, to 2 or 4 seats.

            dealt = await client.rules.deal("closed", seats=2, seed=bytes(32), starter=0)

        `seed`: 32 bytes; default: drawn by the service, so that a repeat after a broken connection deals other cards.
        `starter`: the seat that starts the first deal; default: drawn from the seed.
        """
        request = rules_service_pb2.DealRequest(seats=seats, seed=seed, starter=starter, match=match)
        set_rules(request, rules)
        return await self._call(self._rules.Deal, request, timeout=timeout)

    async def validate_moves(
        self,
        snapshot: deal_pb2.Snapshot,
        seat: int,
        moves: Iterable[move_pb2.Move],
        *,
        timeout: float | None = None,
    ) -> rules_service_pb2.ValidateMovesResponse:
        """Play 1 to 256 moves of one seat on a snapshot, up to the first illegal one.

            violations = (await client.rules.validate_moves(snapshot, 0, moves)).violations

        The answer has the next snapshot and the events, or only the index of the illegal move and its violations: that
        is an answer, not an error.
        """
        request = rules_service_pb2.ValidateMovesRequest(snapshot=snapshot, seat=seat, moves=moves)
        return await self._call(self._rules.ValidateMoves, request, timeout=timeout)

    async def list_legal_moves(
        self, snapshot: deal_pb2.Snapshot, seat: int, *, timeout: float | None = None
    ) -> Sequence[move_pb2.Move]:
        """Return every legal move of a seat.

            moves = await client.rules.list_legal_moves(snapshot, seat=0)

        There are none while another seat is to move.
        """
        request = rules_service_pb2.RulesServiceListLegalMovesRequest(snapshot=snapshot, seat=seat)
        return (await self._call(self._rules.ListLegalMoves, request, timeout=timeout)).moves

    async def score_deal(self, snapshot: deal_pb2.Snapshot, *, timeout: float | None = None) -> score_pb2.DealScore:
        """Return the score of the deal, line by line.

            totals = [side.total for side in (await client.rules.score_deal(snapshot)).sides]

        A running deal is scored as if it ended now without a close.
        """
        request = rules_service_pb2.ScoreDealRequest(snapshot=snapshot)
        return (await self._call(self._rules.ScoreDeal, request, timeout=timeout)).score

    async def get_view(
        self, snapshot: deal_pb2.Snapshot, seat: int | None = None, *, timeout: float | None = None
    ) -> view_pb2.View:
        """Return what one seat may know of the snapshot.

            view = await client.rules.get_view(snapshot, seat=0)

        Without a seat it is what everybody may know.
        """
        request = rules_service_pb2.RulesServiceGetViewRequest(snapshot=snapshot, seat=seat)
        return (await self._call(self._rules.GetView, request, timeout=timeout)).view

    async def arrange_meld(
        self, rules: Rules, cards: Iterable[card_pb2.Card.ValueType], *, timeout: float | None = None
    ) -> rules_service_pb2.ArrangeMeldResponse:
        """Return every legal arrangement of 3 to 15 cards as one meld with its value, the default first.

            arrangements = (await client.rules.arrange_meld("closed", cards)).arrangements

        Cards that form no meld are an answer, not an error: it has no arrangement, but the violations.
        """
        request = rules_service_pb2.ArrangeMeldRequest(cards=cards)
        set_rules(request, rules)
        return await self._call(self._rules.ArrangeMeld, request, timeout=timeout)
