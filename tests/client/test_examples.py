"""The programs in clients/python/examples, run as their readers run them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from buraco_bots.local_server import RunningServer, local_server

EXAMPLES = Path(__file__).resolve().parents[2] / "clients/python/examples"
PATIENCE = 100
"""Seconds after which a program is taken to hang."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A real server for all examples."""
    with local_server() as running:
        yield running


@contextmanager
def started(example: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """An example in a process of its own, which is ended with the block at the latest."""
    with subprocess.Popen(
        [sys.executable, EXAMPLES / example, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finished(process: subprocess.Popen[str]) -> str:
    """What a program has printed when it ends well."""
    printed, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert errors == ""
    return printed


def first_line(process: subprocess.Popen[str]) -> str:
    """The first line that a program prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_two_players_and_a_spectator_end_with_the_same_scores(server: RunningServer) -> None:
    """Two programs play a deal to its end at a table that one of them creates; a third prints every event of it."""
    with started("play_seat.py", server.address, "Ada") as ada:
        created = re.fullmatch(r"table (\w+)", first_line(ada))
        assert created is not None
        with started("watch_table.py", server.address, created[1]) as watching:
            assert re.fullmatch(r"\d+: Ada, \(free\)", first_line(watching))
            with started("play_seat.py", server.address, "Blaise", created[1]) as blaise:
                scores = [re.fullmatch(r"\w+ is at side (\d), scores \[(.+), (.+)\]\n", finished(ada))]
                scores += [re.fullmatch(r"\w+ is at side (\d), scores \[(.+), (.+)\]\n", finished(blaise))]
            seen = finished(watching)
    assert all(scores)
    one, other = [score.groups() for score in scores if score]
    assert (one[0], other[0]) == ("0", "1")
    assert one[1:] == other[1:]
    lines = seen.splitlines()
    assert re.fullmatch(r"\d+: Blaise sat down", lines[0])
    assert re.fullmatch(r"\d+: Deal 1: (Ada|Blaise) starts", lines[1])
    assert re.fullmatch(rf"\d+: .* match.*, {one[1]} : {one[2]}", lines[-1])
    assert {re.sub(r"\d+: (Ada|Blaise) (\w+).*", r"\2", line) for line in lines[2:]} >= {"drew", "laid", "discarded"}


def test_rules_are_asked_without_a_table(server: RunningServer) -> None:
    """Deal, legal moves, a move, the view, the score, a refusal and melds come from the rules alone."""
    with started("ask_rules.py", server.address) as process:
        lines = finished(process).splitlines()
    assert "burraco" in lines[0]
    assert lines[1:] == [
        "legal: draw_stock",
        "events: drew",
        "cards in the hand: 12",
        "if the deal ended now: -200 and -200",
        "seat 1: VIOLATION_NOT_YOUR_TURN",
        "[18, 19, 53]: [18, 19, 53] or [53, 18, 19]",
        "[18, 19, 26]: VIOLATION_GAP",
    ]


def test_cards_are_chosen_in_the_players_language(server: RunningServer) -> None:
    """A hand is sorted, cards are picked one by one, and the moves, an event and a refusal are in Italian."""
    with started("choose_cards.py", server.address, "it") as process:
        lines = finished(process).splitlines()
    assert lines == [
        "Ada ha pescato K♠ dal tallone",
        "suit:  J♠ K♠ A♠ 7♥ K♥ 4♣ 5♣ 5♦ 6♦ A♦ 2♣ Jolly",
        "rank:  4♣ 5♣ 5♦ 6♦ 7♥ J♠ K♠ K♥ A♠ A♦ 2♣ Jolly",
        "melds: J♠ K♠ A♠ 4♣ 5♣ 5♦ 6♦ 7♥ K♥ A♦ 2♣ Jolly",
        "5♦ + 5♣ 6♦ 2♣ Jolly",
        "5♦ 6♦ + 2♣ Jolly",
        "Cala 5♦ 6♦ 2♣: Matta a destra",
        "Cala 2♣ 5♦ 6♦: Matta a sinistra",
        "È il turno di un altro giocatore.",
    ]


def test_a_turn_is_taken_call_by_call(server: RunningServer) -> None:
    """Without a stream a table is found, a turn played, nothing taken back, a seat restored and another left."""
    with started("take_turn.py", server.address) as process:
        lines = finished(process).splitlines()
    assert lines == [
        "the table waits for players: True",
        "events: drew",
        "cards in the hand: 12",
        "undo: VIOLATION_NOTHING_TO_UNDO",
        "the discard is revision 5",
        "finished deals: 0",
        "after leaving: SEAT_NOT_YOURS",
    ]
