"""Checks of Redis servers before tables are stored there, with warnings for operators."""

from __future__ import annotations

import re

from buraco_service.observing import logs
from buraco_service.stores.base import StoreError, StoreIncompatible
from buraco_service.stores.redis.keys import Keys
from buraco_service.stores.redis.nodes import Node, Nodes

SCHEMA_VERSION = 1


async def check_schema(nodes: Nodes, keys: Keys) -> None:
    """Store the schema version on the node of bucket 0, if there is none.

    Raise StoreError if the user may not publish, StoreIncompatible for a newer version or another program's data.
    """
    # Without the permission to publish, commits would fail only at their end, when they are written.
    await nodes.call(0, "SPUBLISH", keys.schema, "")
    # Read first: a server that is full refuses to set even what is there.
    found = await nodes.call(0, "GET", keys.schema)
    if found is None:
        found = await nodes.call(0, "SET", keys.schema, SCHEMA_VERSION, "NX", "GET")
    if found is None:
        return
    if not re.fullmatch(rb"[1-9][0-9]{0,8}", found):
        raise StoreIncompatible("the keys under this prefix belong to another program")
    if int(found) > SCHEMA_VERSION:
        raise StoreIncompatible(
            f"the store has schema version {int(found)}, and this program knows up to {SCHEMA_VERSION}"
        )


async def check_safety(nodes: Nodes) -> None:
    """Log a warning for each setting of a master that may lose acknowledged moves.

    Raise StoreIncompatible for one that would evict tables when full: `maxmemory` with a policy `allkeys-…`. A server
    that hides its configuration passes.
    """
    for node, bucket in nodes.owners().items():
        if node is not None:
            await _check_node(nodes, node, bucket)


async def _check_node(nodes: Nodes, node: Node, bucket: int) -> None:
    log = logs.get_logger().bind(server=str(node.address))
    try:
        answer = await nodes.call(bucket, "CONFIG", "GET", "append*", "maxmemory*")
    except StoreError:
        log.info("redis does not show its configuration", wanted="appendonly yes, maxmemory-policy noeviction")
        return
    settings = {name.decode(): value.decode() for name, value in answer.items()}
    policy = settings.get("maxmemory-policy", "noeviction")
    if policy.startswith("allkeys-"):
        if settings.get("maxmemory") != "0":
            raise StoreIncompatible(
                f"{node.address} would evict tables when its memory is full: set maxmemory-policy noeviction,"
                f" not {policy}"
            )
        log.warning("redis would evict tables if maxmemory were set", maxmemory_policy=policy)
    appendonly, appendfsync = settings.get("appendonly"), settings.get("appendfsync")
    if appendonly != "yes":
        log.warning("redis is not durable: tables are lost when the server ends", appendonly=appendonly)
    elif appendfsync != "always":
        log.warning(
            "redis is not fully durable: the last moves are lost when the server's machine fails",
            appendfsync=appendfsync,
        )
