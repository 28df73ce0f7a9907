"""The rules as pure functions of a snapshot, for trusted backends that keep the snapshot themselves."""

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
    | table_service_pb2.CreateTableRequest,
    rules: Rules,
) -> None:
    """Fills in which rules a request is for."""
    if isinstance(rules, str):
        request.rule_set_id = rules
    else:
        request.rule_set.CopyFrom(rules)


class RulesClient:
    """The RulesService. Nothing is stored; a snapshot holds everybody's cards, so never hand one to a player.

    Every call takes `timeout`, its deadline in seconds (absent: the client's), and raises InvalidRequest for
    malformed input, Unavailable or DeadlineExceeded.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list_rule_sets(self, *, timeout: float | None = None) -> Sequence[rule_set_pb2.RuleSet]:
        """The preset rule sets."""
        answer = await self._connection.call(
            self._connection.rules.ListRuleSets, rules_service_pb2.ListRuleSetsRequest(), timeout=timeout
        )
        return answer.rule_sets

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
        """Deals the first deal of a match to 2 or 4 seats, or the next of `match`.

        `seed`: 32 bytes; absent: drawn by the service, so that another try after a broken connection deals
        other cards.
        `starter`: the seat that starts the first deal; absent: drawn from the seed.
        """
        request = rules_service_pb2.DealRequest(seats=seats, seed=seed, starter=starter, match=match)
        set_rules(request, rules)
        return await self._connection.call(self._connection.rules.Deal, request, timeout=timeout)

    async def validate_moves(
        self,
        snapshot: deal_pb2.Snapshot,
        seat: int,
        moves: Iterable[move_pb2.Move],
        *,
        timeout: float | None = None,
    ) -> rules_service_pb2.ValidateMovesResponse:
        """Plays 1 to 256 moves of one seat on a snapshot. An illegal move is an answer, not an error."""
        request = rules_service_pb2.ValidateMovesRequest(snapshot=snapshot, seat=seat, moves=moves)
        return await self._connection.call(self._connection.rules.ValidateMoves, request, timeout=timeout)

    async def list_legal_moves(
        self, snapshot: deal_pb2.Snapshot, seat: int, *, timeout: float | None = None
    ) -> Sequence[move_pb2.Move]:
        """Every legal move of the seat to move; none for another seat."""
        request = rules_service_pb2.RulesServiceListLegalMovesRequest(snapshot=snapshot, seat=seat)
        answer = await self._connection.call(self._connection.rules.ListLegalMoves, request, timeout=timeout)
        return answer.moves

    async def score_deal(self, snapshot: deal_pb2.Snapshot, *, timeout: float | None = None) -> score_pb2.DealScore:
        """The score of the deal, line by line; of a running deal as if it ended now without a close."""
        request = rules_service_pb2.ScoreDealRequest(snapshot=snapshot)
        answer = await self._connection.call(self._connection.rules.ScoreDeal, request, timeout=timeout)
        return answer.score

    async def get_view(
        self, snapshot: deal_pb2.Snapshot, seat: int | None = None, *, timeout: float | None = None
    ) -> view_pb2.View:
        """What one seat may know of the snapshot; without a seat, what everybody may know."""
        request = rules_service_pb2.RulesServiceGetViewRequest(snapshot=snapshot, seat=seat)
        answer = await self._connection.call(self._connection.rules.GetView, request, timeout=timeout)
        return answer.view

    async def arrange_meld(
        self, rules: Rules, cards: Iterable[card_pb2.Card.ValueType], *, timeout: float | None = None
    ) -> rules_service_pb2.ArrangeMeldResponse:
        """Every legal arrangement of 3 to 15 cards as one meld, with its value, or why there is none."""
        request = rules_service_pb2.ArrangeMeldRequest(cards=cards)
        set_rules(request, rules)
        return await self._connection.call(self._connection.rules.ArrangeMeld, request, timeout=timeout)
