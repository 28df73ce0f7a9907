from __future__ import annotations

import pytest

from buraco_service.access.request_rate import MAX_PEERS, RequestRate


class Clock:
    """Seconds, as they are set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_burst_and_rate() -> None:
    """A peer may send a burst, and after it so many requests a second; it learns how long to wait."""
    clock = Clock()
    rate = RequestRate(2.0, 3, clock=clock)
    assert [rate.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert rate.take("b") == 0.0
    clock.now += 0.25
    assert rate.take("a") == pytest.approx(0.25)
    clock.now += 0.25
    assert [rate.take("a") for _ in range(2)] == [0.0, pytest.approx(0.5)]


def test_bucket_does_not_overflow() -> None:
    """A long pause saves up no more than a burst."""
    clock = Clock()
    rate = RequestRate(10.0, 2, clock=clock)
    rate.take("a")
    clock.now += 3600
    assert [rate.take("a") > 0 for _ in range(3)] == [False, False, True]


def test_refusals_cost_nothing() -> None:
    """Who keeps asking while refused is let in as soon as who waits."""
    clock = Clock()
    rate = RequestRate(1.0, 1, clock=clock)
    rate.take("a")
    for _ in range(9):
        clock.now += 0.1
        assert rate.take("a") > 0
    clock.now += 0.1001
    assert rate.take("a") == 0.0


def test_peers_that_are_known() -> None:
    """However many peers come, memory is bounded: the one heard of longest ago is dropped."""
    clock = Clock()
    rate = RequestRate(1.0, 1, clock=clock)
    rate.take("first")
    rate.take("second")
    assert rate.take("first") > 0
    for number in range(MAX_PEERS - 1):
        rate.take(f"other {number}")
    assert rate.take("first") > 0
    assert rate.take("second") == 0.0
