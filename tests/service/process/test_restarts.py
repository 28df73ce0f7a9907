from __future__ import annotations

from buraco_service.workers.restarts import GROWN_UP, MOST_FAILURES, Restarts


def test_a_worker_that_has_lived_is_replaced_at_once() -> None:
    """There is no pause after the end of a worker that had served for a while, whatever was before."""
    restarts = Restarts([1])
    restarts.delay(1, False, 1.0)
    assert restarts.delay(1, True, GROWN_UP) == 0
    assert restarts.delay(1, False, 1.0) == Restarts([1]).delay(1, False, 1.0)


def test_pauses_grow() -> None:
    """Each failure in a row, early or without having served, doubles the pause, up to half a minute."""
    restarts = Restarts([1, 2])
    pauses = [restarts.delay(1, served, age) for served, age in ((True, 1.0), (False, 1.0), (False, 60.0))]
    assert pauses == [0.2, 0.4, 0.8]
    assert [restarts.delay(1, False, 1.0) for _ in range(1100)][-1] == 30
    assert restarts.delay(2, False, 1.0) == 0.2


def test_giving_up() -> None:
    """It is in vain when every place has failed often, but not while one that serves has grown up."""
    restarts = Restarts([1, 2])
    for _ in range(MOST_FAILURES):
        restarts.delay(1, False, 0.1)
        assert not restarts.in_vain([])
    for _ in range(MOST_FAILURES - 1):
        restarts.delay(2, False, 0.1)
    assert not restarts.in_vain([])
    restarts.delay(2, False, 0.1)
    assert restarts.in_vain([])
    assert restarts.in_vain([GROWN_UP - 1])
    assert not restarts.in_vain([1.0, GROWN_UP])
