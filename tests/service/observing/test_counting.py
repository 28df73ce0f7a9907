from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from buraco_codec.moves import moves_from_pb
from buraco_rules import PRESETS_BY_ID, DrawStock
from buraco_service import errors
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.sqlite.store import SqliteStore
from buraco_service.tables import counting
from buraco_service.tables.counting import MoveTimer, count_deal, count_tables
from tests.rules.playouts import playout
from tests.service.table_server import serving, start
from tests.stores.samples import create, step


def requests(metrics: Metrics, outcome: str) -> float | None:
    """Return how many requests for moves ended with this outcome."""
    return metrics.registry.get_sample_value("buraco_move_request_seconds_count", {"outcome": outcome})


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (errors.failed_precondition("TABLE_FINISHED", "the match is over"), "refused"),
        (errors.stale_revision(3), "refused"),
        (errors.store_unavailable(), "failed"),
        (StoreUnavailable("away"), "failed"),
        (RuntimeError("unforeseen"), "failed"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
def test_outcome_of_an_error(error: BaseException, outcome: str) -> None:
    """An error of the caller counts as refused, one of the service as failed."""
    metrics = Metrics()
    with pytest.raises(type(error)), MoveTimer(metrics, "submit"):
        raise error
    assert requests(metrics, outcome) == 1


async def test_calls_and_streams_are_timed(tmp_path: Path) -> None:
    """Moves by themselves and on a stream count alike, and so does an undo."""
    async with serving(tmp_path / "tables.db") as replica:
        first, _ = await start(replica)
        await first.submit(DrawStock())
        assert requests(replica.metrics, "ok") == 1
        with pytest.raises(grpc.aio.AioRpcError):
            await first.submit(DrawStock())
        with pytest.raises(grpc.aio.AioRpcError):
            await first.undo()
        assert requests(replica.metrics, "refused") == 2
        stream = await first.play()
        await stream.expect("state")
        await stream.denied(await stream.undo())
        assert requests(replica.metrics, "refused") == 3
        (*_, discard) = moves_from_pb((await first.legal()).moves)
        await stream.accepted(await stream.submit(discard))
        assert requests(replica.metrics, "ok") == 2


def test_an_ended_deal() -> None:
    """A deal counts with its ending, the buracos on the table, and the score of each side."""
    rules = PRESETS_BY_ID["open"]
    deals = [deal for seed in range(40) for deal, _ in playout(rules, 2, seed) if deal.ending]
    metrics = Metrics(["open"])
    for deal in deals:
        count_deal(metrics, deal)
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name in {"buraco_buracos_total", "buraco_deals_finished_total", "buraco_deal_score_points_count"}
    }
    melds = [meld for deal in deals for side in deal.sides for meld in side.melds if meld.is_buraco]
    assert sum(value for key, value in samples.items() if key[0] == "buraco_buracos_total") == len(melds) > 0
    assert sum(value for key, value in samples.items() if key[0] == "buraco_deals_finished_total") == len(deals)
    assert samples["buraco_deal_score_points_count", ("rule_set", "open")] == 2 * len(deals)


async def test_tables_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of each state are counted again and again, and unknown while the store does not answer."""
    monkeypatch.setattr(counting, "COUNT_EVERY", 0.001)
    store = await SqliteStore.open(tmp_path / "tables.db")
    metrics = Metrics()
    counts: asyncio.Queue[dict[str, int]] = asyncio.Queue()
    monkeypatch.setattr(metrics, "set_stored_tables", counts.put_nowait)
    task = asyncio.create_task(count_tables(metrics, store))
    async with asyncio.timeout(60):
        assert await counts.get() == {"waiting": 0, "playing": 0, "finished": 0}
        await create(store, "t")
        await create(store, "u")
        await store.commit(step("t", 1, status="playing"))
        while await counts.get() != {"waiting": 1, "playing": 1, "finished": 0}:
            pass
        await store.close()
        while await counts.get() != {}:
            pass
    task.cancel()
