"""What the starters of servers share."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a TCP port of the loopback address that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
