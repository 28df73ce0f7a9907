"""Positions in which good players agree, with what they would consider and what they call a blunder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from buraco.v1 import event_pb2
from buraco_bots.bot import ask_for_moves
from buraco_bots.registry import load_factory
from buraco_codec.events import event_bytes
from buraco_notation import format_move, parse_cards, parse_move, parse_position
from buraco_rules import Deal, DrawStock, LayMeld, LayOff, Move, Phase, apply, legal_moves, view_of
from buraco_rules.events import Discarded

CASES: Final[list[dict[str, Any]]] = json.loads(Path(__file__).with_name("judgement.json").read_text(encoding="utf-8"))
"""By position: `consider` and `blunders` are moves of the turn, `seen` discards that everybody saw before it.

`blundered_by` names the levels that are known to blunder there.
"""
LEVELS: Final = {"greedy": "greedy", "planner": "planner", "search": "search?iterations=8&turns=1"}
"""The bot of each level; that of search with few rollouts, so that its play is reproducible."""
AGREEMENT: Final = 0.8
"""The share of positions in which the planner plays what a good player would consider."""

by_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def position_of(case: dict[str, Any]) -> Deal:
    """The deal of a position."""
    return parse_position(case["position"], verify=False)


def turn(case: dict[str, Any], level: str) -> list[Move]:
    """What a level plays in a position, to the end of its turn or until it gets cards that it did not know."""
    return _turn(CASES.index(case), level)


@cache
def _turn(number: int, level: str) -> list[Move]:
    case = CASES[number]
    deal = position_of(case)
    seat, pots = deal.seat_to_move, deal.side.pots_taken
    bot = load_factory(LEVELS[level])(Random(1))
    events = [
        event_pb2.Event.FromString(event_bytes(Discarded(1 - seat, card)))
        for card in (parse_cards(case["seen"]) if "seen" in case else ())
    ]
    played: list[Move] = []
    while deal.seat_to_move == seat and deal.phase is not Phase.OVER and deal.side.pots_taken == pots:
        moves = legal_moves(deal)
        for move in ask_for_moves(bot, view_of(deal, seat, moves), moves, len(played), events):
            played.append(move)
            deal, _ = apply(deal, move)
        events = []
        if isinstance(played[-1], DrawStock):
            break
    return played


def is_part(listed: Move, played: Move) -> bool:
    """Return True for the same move, and for one that lays all the listed cards, and maybe more, in the same place."""
    if isinstance(listed, LayMeld) and isinstance(played, LayMeld):
        return set(listed.cards) <= set(played.cards)
    if isinstance(listed, LayOff) and isinstance(played, LayOff):
        return listed.meld == played.meld and set(listed.cards) <= set(played.cards)
    return type(listed) is type(played) and listed == played


def found(listed: list[str], played: list[Move]) -> list[str]:
    """Return the listed moves that were played."""
    return [text for text in listed if any(is_part(parse_move(text), move) for move in played)]


@by_case
def test_every_listed_move_is_legal(case: dict[str, Any]) -> None:
    """A position that is mistyped would judge nothing: each of its moves is legal, and none is in both lists."""
    deal = position_of(case)
    for text in [*case["consider"], *case["blunders"]]:
        apply(deal, parse_move(text))
    assert case["consider"]
    assert not set(case["consider"]) & set(case["blunders"])


@pytest.mark.parametrize("level", LEVELS)
@by_case
def test_no_blunders(case: dict[str, Any], level: str) -> None:
    """No level plays what a good player calls a blunder, but for positions marked for it."""
    if level in case.get("blundered_by", ()):
        pytest.skip("known to blunder here")
    played = turn(case, level)
    assert not found(case["blunders"], played), f"{case['why']} It played {[*map(format_move, played)]}"


@pytest.mark.parametrize("level", ["planner", "search"])
def test_plays_what_good_players_consider(level: str) -> None:
    """In most positions the stronger levels play one of the moves that good players would look at."""
    others = {case["name"]: played for case in CASES if not found(case["consider"], played := turn(case, level))}
    assert len(others) <= (1 - AGREEMENT) * len(CASES), {name: [*map(format_move, p)] for name, p in others.items()}
