"""RulesService over gRPC: pure functions of the request, which is validated as a whole first."""

import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import grpc.aio

from buraco.v1 import rules_service_pb2 as pb
from buraco.v1 import rules_service_pb2_grpc
from buraco_codec.cards import cards_from_pb
from buraco_codec.deals import match_from_pb
from buraco_codec.events import event_bytes
from buraco_codec.fields import Untyped
from buraco_codec.moves import move_bytes, moves_from_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_codec.snapshots import snapshot_bytes, snapshot_to_pb
from buraco_codec.views import view_to_pb
from buraco_codec.wire import Fields
from buraco_rules import (
    PRESETS,
    SEED_BYTES,
    IllegalMove,
    Match,
    Move,
    RuleSet,
    apply_for,
    commitment,
    deal_match,
    legal_moves,
    match_problems,
    score_deal,
    view_of,
)
from buraco_rules import Deal as DealValue
from buraco_rules.cards import FACES, deck
from buraco_rules.events import Event
from buraco_service.observing.metrics import Metrics
from buraco_service.requests import RequestProblems, read_rule_set
from buraco_service.serving.arrangements import MAX_ARRANGED, MIN_ARRANGED, fill_arrangements
from buraco_service.serving.positions import Positions

_Context = grpc.aio.ServicerContext[Any, Any]

_DRAWN: Final = -1
"""The starter of a match whose starter is to be drawn from the seed."""
_VALIDATED: Final = Fields(pb.ValidateMovesResponse)
_LEGAL_MOVES: Final = Fields(pb.RulesServiceListLegalMovesResponse)


class RulesServicer(rules_service_pb2_grpc.RulesServiceServicer):
    """Every RPC of RulesService. Nothing is stored.

    A malformed request, or a snapshot that play cannot reach, raises ApiError (INVALID_ARGUMENT) with every problem;
    `calls` turns it into a status.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._positions = Positions()

    async def ListRuleSets(self, request: pb.ListRuleSetsRequest, context: _Context) -> pb.ListRuleSetsResponse:
        """Return the presets."""
        return pb.ListRuleSetsResponse(rule_sets=map(rule_set_to_pb, PRESETS))

    async def Deal(self, request: pb.DealRequest, context: _Context) -> pb.DealResponse:
        """Deal the first deal of a match, or the next of a match given; draw a seed if none is given.

        The response has the seed, its commitment, the snapshot and the event, unredacted.
        """
        problems = RequestProblems()
        rules = read_rule_set(request, problems)
        problems.check("seats", request.seats in (2, 4), f"2 or 4 (R2.1), not {request.seats}")
        match = _requested_match(request, problems)
        given = request.HasField("seed")
        size = len(request.seed)
        problems.check("seed", not given or size == SEED_BYTES, f"{SEED_BYTES} bytes, not {size}")
        if rules is None or problems:
            raise problems.error()
        seed = request.seed if given else secrets.token_bytes(SEED_BYTES)
        deal, dealt = deal_match(rules, request.seats, seed, match)
        response = pb.DealResponse(snapshot=snapshot_to_pb(deal), commitment=commitment(seed), seed=seed)
        response.events.add().MergeFromString(event_bytes(dealt))
        response.events[0].dealt.commitment = response.commitment
        return response

    # `calls` sends bytes as they are: a snapshot is put together as such.
    async def ValidateMoves(  # type: ignore[override]
        self, request: pb.ValidateMovesRequest, context: _Context
    ) -> pb.ValidateMovesResponse | bytes:
        """Play moves of one seat on a snapshot; return the snapshot and events after all of them, serialised.

        At the first illegal move return a message with its index and violations instead, without snapshot and events.
        """
        problems = RequestProblems()
        deal = self._position(request, problems, request.seat)
        moves: tuple[Move, ...] = problems.collect(lambda: moves_from_pb(request.moves), ())
        if deal is None or problems:
            raise problems.error()
        return self._apply_moves(deal, request.seat, moves)

    def _apply_moves(self, deal: DealValue, seat: int, moves: Sequence[Move]) -> pb.ValidateMovesResponse | bytes:
        rules = deal.rules
        events: list[Event] = []
        for index, move in enumerate(moves):
            try:
                deal, new_events = apply_for(deal, seat, move)
            except IllegalMove as illegal:
                self._metrics.count_moves(rules.id, "illegal")
                for violation in illegal.violations:
                    self._metrics.count_violation(violation.name)
                refusal = pb.ValidateMovesResponse(illegal_index=index)
                reasons: Untyped = refusal.violations
                reasons.extend(illegal.violations)
                return refusal
            events += new_events
        self._metrics.count_moves(rules.id, "accepted", len(moves))
        snapshot = snapshot_bytes(deal)
        self._positions.add(snapshot, deal)
        serialised = [_VALIDATED.events(event_bytes(event)) for event in events]
        return b"".join([_VALIDATED.legal(True), *serialised, _VALIDATED.snapshot(snapshot)])

    async def ListLegalMoves(  # type: ignore[override]
        self, request: pb.RulesServiceListLegalMovesRequest, context: _Context
    ) -> bytes:
        """Return every legal move of a seat, serialised; none if it is not to move."""
        problems = RequestProblems()
        deal = self._position(request, problems, request.seat)
        if deal is None or problems:
            raise problems.error()
        moves = legal_moves(deal) if request.seat == deal.seat_to_move else []
        return b"".join([_LEGAL_MOVES.moves(move_bytes(move)) for move in moves])

    async def ScoreDeal(self, request: pb.ScoreDealRequest, context: _Context) -> pb.ScoreDealResponse:
        """Return the score of the deal, line by line; of a running one as if it ended now without a close."""
        problems = RequestProblems()
        deal = self._position(request, problems)
        if deal is None or problems:
            raise problems.error()
        return pb.ScoreDealResponse(score=score_to_pb(score_deal(deal)))

    async def GetView(
        self, request: pb.RulesServiceGetViewRequest, context: _Context
    ) -> pb.RulesServiceGetViewResponse:
        """Return what one seat may know of the snapshot; the public view if none is given."""
        problems = RequestProblems()
        seat = request.seat if request.HasField("seat") else None
        deal = self._position(request, problems, seat)
        if deal is None or problems:
            raise problems.error()
        return pb.RulesServiceGetViewResponse(view=view_to_pb(view_of(deal, seat)))

    async def ArrangeMeld(self, request: pb.ArrangeMeldRequest, context: _Context) -> pb.ArrangeMeldResponse:
        """Return every legal arrangement of some cards as one new meld, the default (R5.4) first.

        If there is none, return the violations: it is not an error.
        """
        problems = RequestProblems()
        rules = read_rule_set(request, problems)
        cards = _cards_to_arrange(request, rules, problems)
        if rules is None or problems:
            raise problems.error()
        response = pb.ArrangeMeldResponse()
        fill_arrangements(response, rules, None, cards)
        return response

    def _position(self, request: Untyped, problems: RequestProblems, seat: int | None = None) -> DealValue | None:
        """Return the position of a request, for a seat of it if one is given. Add problems and return None if there is
        none, or one that play cannot reach.
        """
        if not request.HasField("snapshot"):
            problems.add("snapshot", "must be given")
            return None
        deal = self._positions.read(request.snapshot, problems)
        seats = request.snapshot.seats
        if seat is not None and seats in (2, 4):
            problems.check("seat", seat < seats, f"a seat, 0 to {seats - 1}, not {seat}")
        return deal


def _requested_match(request: pb.DealRequest, problems: RequestProblems) -> Match:
    """Return the match to deal for. A starter that is not given is to be drawn."""
    seats = request.seats if request.seats in (2, 4) else 4
    starter = request.starter if request.HasField("starter") else _DRAWN
    if not request.HasField("match"):
        problems.check("starter", starter < seats, f"a seat, 0 to {seats - 1}, not {starter}")
        return Match(starter=starter)
    match = match_from_pb(request.match, "match", problems)
    problems.add_all("match", match_problems(match, seats))
    problems.check("starter", starter in (_DRAWN, match.starter), "absent, or the starter of the match")
    return match


def _cards_to_arrange(
    request: pb.ArrangeMeldRequest, rules: RuleSet | None, problems: RequestProblems
) -> tuple[int, ...]:
    """Return the cards of a request: cards of the rule set's deck, as many as a meld may have."""
    count = len(request.cards)
    if not MIN_ARRANGED <= count <= MAX_ARRANGED:
        problems.add("cards", f"{MIN_ARRANGED} to {MAX_ARRANGED} cards, not {count}")
        return ()
    cards = cards_from_pb(request.cards, "cards", problems)
    if rules is not None:
        excess = Counter([card for card in cards if card in FACES]) - Counter(deck(rules.jokers))
        for index, card in enumerate(cards):
            if card in excess:
                problems.add(f"cards[{index}]", "more of this face than the deck has (R1.1)")
    return cards
