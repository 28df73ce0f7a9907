"""Removes tables that nobody has changed for long."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from buraco_service.observing import logs
from buraco_service.stores.base import Store, StoreError

_BATCH: Final = 200
_MAX_INTERVAL: Final = 3600.0


async def expire_tables(store: Store, ttl: float) -> None:
    """Remove tables unchanged for `ttl` seconds, now and then, until cancelled. All replicas may do so."""
    log = logs.get_logger()
    while True:
        try:
            removed = _BATCH
            while removed == _BATCH:
                removed = await store.expire(time.time() - ttl, _BATCH)
                if removed:
                    log.info("expired tables removed", count=removed)
        except StoreError as error:
            log.warning("expired tables were not removed", cause=str(error))
        await asyncio.sleep(min(ttl / 10, _MAX_INTERVAL))
