from __future__ import annotations

from buraco_service.workers.restarts import MAX_FAILURES, MIN_HEALTHY_UPTIME, Restarts


def test_a_healthy_worker_is_replaced_at_once() -> None:
    """A worker that had served for ten seconds is replaced without a pause, whatever its failures before."""
    restarts = Restarts([1])
    restarts.count_end(1, False, 1.0)
    assert restarts.count_end(1, True, MIN_HEALTHY_UPTIME) == 0
    assert restarts.count_end(1, False, 1.0) == Restarts([1]).count_end(1, False, 1.0)


def test_pauses_grow() -> None:
    """Each failure in a row, early or without having served, doubles the pause, up to half a minute."""
    restarts = Restarts([1, 2])
    pauses = [restarts.count_end(1, served, age) for served, age in ((True, 1.0), (False, 1.0), (False, 60.0))]
    assert pauses == [0.2, 0.4, 0.8]
    assert [restarts.count_end(1, False, 1.0) for _ in range(1100)][-1] == 30
    assert restarts.count_end(2, False, 1.0) == 0.2


def test_giving_up() -> None:
    """The supervisor gives up when every worker has failed five times in a row, but not while a healthy one serves."""
    restarts = Restarts([1, 2])
    for _ in range(MAX_FAILURES):
        restarts.count_end(1, False, 0.1)
        assert not restarts.should_give_up([])
    for _ in range(MAX_FAILURES - 1):
        restarts.count_end(2, False, 0.1)
    assert not restarts.should_give_up([])
    restarts.count_end(2, False, 0.1)
    assert restarts.should_give_up([])
    assert restarts.should_give_up([MIN_HEALTHY_UPTIME - 1])
    assert not restarts.should_give_up([1.0, MIN_HEALTHY_UPTIME])
