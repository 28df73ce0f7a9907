"""The gRPC channel to the service and its options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import grpc
import grpc.aio

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS: Final[dict[str, str | int]] = {
    # A dead peer is noticed within 40 s while a call is open; an idle channel stays silent.
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    # The service takes no larger message; what it sends may be larger, up to gRPC's own limit of 4 MiB.
    "grpc.max_send_message_length": 1 << 20,
    # gRPC's own values, 1 s to 2 min, would keep a bot away from its table long after the service is back.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 5_000,
    "grpc.max_reconnect_backoff_ms": 5_000,
    # gRPC looks a name up again when a connection ends, but at most every 30 s: if all replicas are replaced within
    # that time, one after the other, a client knows none of the new ones until it is over.
    "grpc.dns_min_time_between_resolutions_ms": 1_000,
    # Any replica answers any call, so spread them over all that the name resolves to.
    "grpc.service_config": json.dumps({"loadBalancingConfig": [{"round_robin": {}}]}),
}


def open_channel(
    target: str, credentials: grpc.ChannelCredentials | None, options: Mapping[str, str | int]
) -> grpc.aio.Channel:
    """Return a channel that connects at the first call; it is plain text without credentials.

    `options` are gRPC channel options that replace or complement the client's own.
    """
    merged = tuple({**_OPTIONS, **options}.items())
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=merged)
    return grpc.aio.secure_channel(target, credentials, options=merged)
