"""Reads requests that open, find and join tables."""

from __future__ import annotations

import secrets
from typing import Final, NamedTuple

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import SEED_BYTES, RuleSet
from buraco_service.access.player_tokens import Player, PlayerTokenMissing
from buraco_service.requests import RequestProblems, read_rule_set
from buraco_service.serving.bot_options import read_level
from buraco_service.serving.player_names import normalise_player_name
from buraco_service.serving.table_options import read_options
from buraco_service.tables.finding import Wanted
from buraco_service.tables.invitations import normalise_code
from buraco_service.tables.labels import bot_label, player_label
from buraco_service.tables.state import Seat, TableAccess, TableOptions, TableState, TableValue

MAX_ENTROPY_BYTES: Final = 64
MAX_TARGET: Final = 1_000_000
MAX_STAKE: Final = 10**12
MAX_SEATS: Final = 4
MAX_RULE_SET_ID: Final = 64
MAX_CODE: Final = 64
"""Characters, hyphens and blanks left out."""
_END_OF_TIME: Final = 253_402_300_800
"""The end of the year 9999, as of a Timestamp, in seconds since the epoch."""


class Opening(NamedTuple):
    """How a table is to be opened."""

    rules: RuleSet
    seats: int
    target_score: int
    stake: int
    options: TableOptions

    def to_table(self, now: float) -> TableValue:
        """Return a table opened like this, with a random seed and no id yet."""
        return TableValue(
            id="",
            rules=self.rules,
            seats=(Seat(),) * self.seats,
            target_score=self.target_score,
            stake=self.stake,
            created_at=now,
            updated_at=now,
            master_seed=secrets.token_bytes(SEED_BYTES),
            seeded_by_creator=False,
            request_ids_bound_since=1,
            options=self.options,
        )


def read_opening(request: pb.CreateTableRequest | pb.QuickJoinRequest, problems: RequestProblems) -> Opening | None:
    """Return how a table is to be opened; add a problem for what cannot be, and return None without rules."""
    rules = read_rule_set(request, problems)
    problems.check("seats", request.seats in (2, 4), f"2 or 4, not {request.seats}")
    problems.check("target_score", request.target_score <= MAX_TARGET, f"at most {MAX_TARGET}")
    problems.check("stake", request.stake <= MAX_STAKE, f"at most {MAX_STAKE}")
    options = read_options(request.options, min(request.seats or MAX_SEATS, MAX_SEATS), problems)
    if rules is None:
        return None
    usual = rules.usual_targets[0] if rules.usual_targets else 0
    target = request.target_score if request.HasField("target_score") else usual
    return Opening(rules, request.seats, target, request.stake, options)


def is_public(options: table_pb2.TableOptions) -> bool:
    """Return True if everybody may join tables with these options."""
    return options.access in (table_pb2.TABLE_ACCESS_UNSPECIFIED, table_pb2.TABLE_ACCESS_PUBLIC)


def read_wanted(request: pb.ListTablesRequest, player: Player | None, problems: RequestProblems) -> Wanted:
    """Return what tables are to be listed, for `mine` those of the player; add a problem for what cannot be.

    Raise PLAYER_TOKEN_MISSING for `mine` without a player, if there is no problem.
    """
    state_known, access_known = int(request.state) in (0, *TableState), int(request.access) in (0, *TableAccess)
    problems.check("state", state_known, "no state of a table")
    problems.check("access", access_known, "no access of a table")
    id_fits = len(request.rule_set_id) <= MAX_RULE_SET_ID
    problems.check("rule_set_id", id_fits, f"at most {MAX_RULE_SET_ID} characters")
    problems.check("free_seats", request.free_seats <= MAX_SEATS, f"at most {MAX_SEATS}")
    problems.check("min_stake", request.min_stake <= MAX_STAKE, f"at most {MAX_STAKE}")
    if request.HasField("max_stake"):
        holds = request.min_stake <= request.max_stake <= MAX_STAKE
        problems.check("max_stake", holds, f"min_stake to {MAX_STAKE}")
    after = request.updated_after
    is_time = 0 <= after.seconds < _END_OF_TIME and 0 <= after.nanos < 10**9
    problems.check("updated_after", is_time, "a time from 1970 to 9999")
    labels = []
    if request.bot_level:
        labels.append(bot_label(read_level("bot_level", request.bot_level, problems)))
    if request.mine and not problems:
        if player is None:
            raise PlayerTokenMissing
        labels.append(player_label(player.id))
    return Wanted(
        state=TableState(int(request.state)) if request.state and state_known else None,
        rule_set_id=request.rule_set_id,
        free_seats=request.free_seats,
        access=TableAccess(int(request.access)) if request.access and access_known else None,
        min_stake=request.min_stake,
        max_stake=request.max_stake if request.HasField("max_stake") else None,
        updated_after=after.seconds + after.nanos / 1e9 if request.HasField("updated_after") else None,
        labels=tuple(labels),
    )


def read_name(field: str, sent: str, problems: RequestProblems) -> str:
    """Return a player's name in its normal form; add a problem and return "" if it cannot be shown."""
    try:
        return normalise_player_name(sent)
    except ValueError as error:
        problems.add(field, str(error))
        return ""


def read_own_name(sent: str, player: Player | None, problems: RequestProblems) -> str:
    """Return the name that a player sent, or else that of the player token.

    A player whose token has no name that can be shown may still come back to a seat: "" is no problem then.
    """
    if sent or player is None:
        return read_name("player_name", sent, problems)
    return read_name("player_name", player.name, RequestProblems())


def read_code(sent: str, problems: RequestProblems) -> str:
    """Return an invitation code in its normal form; add a problem if it is far too long to be one."""
    code = normalise_code(sent)
    problems.check("invitation_code", len(code) <= MAX_CODE, f"at most {MAX_CODE} characters")
    return code


def check_entropy(entropy: bytes, problems: RequestProblems) -> None:
    """Add a problem for randomness that is too long."""
    problems.check("entropy", len(entropy) <= MAX_ENTROPY_BYTES, f"at most {MAX_ENTROPY_BYTES} bytes")
