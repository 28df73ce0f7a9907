"""Where the service listens: the ports it takes, and the file that says which they are."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from buraco_service.observing.metrics_server import MetricsServer

if sys.platform != "win32":
    import resource

_OWN_FILES: Final = 256
"""Open files that are no connections of callers: store, metrics, logs."""


class StartError(Exception):
    """The service cannot start; the message says why, for an operator."""


def check_free(host: str, port: int) -> None:
    """Raises StartError if nobody could listen there now: grpc tells that, but not why."""
    try:
        _listener(host, port).close()
    except OSError as error:
        raise StartError(cannot_listen(host, port, _cause(error))) from None


@contextlib.contextmanager
def reserved(host: str, port: int) -> Iterator[int]:
    """Keeps a port for the processes that share it, whether or not one of them listens; gives its number.

    The port 0 stands for a free one. Connections only go to those who listen. Raises StartError.
    """
    check_free(host, port)
    try:
        holder = _bound(host, port)
    except OSError as error:
        raise StartError(cannot_listen(host, port, _cause(error))) from None
    with holder:
        yield holder.getsockname()[1]


def connections_with_room(most: int) -> int:
    """Return how many connections to take: `most`, or as many as the process may have files open, less its own.

    The soft limit of open files is raised as far as that needs: one that is reached makes a server deaf.
    """
    if sys.platform == "win32":
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OWN_FILES
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(most, soft - _OWN_FILES))
    return most


def cannot_listen(host: str, port: int, cause: object) -> str:
    """What an operator is told when the services get no port."""
    return f"cannot listen at {joined(host, port)} (--host, --port): {cause}"


def joined(host: str, port: int) -> str:
    """Host and port in one, as clients write them."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> MetricsServer | None:
    """Serves the metrics, unless the port is -1. Raises StartError."""
    if port < 0:
        return None
    try:
        return MetricsServer(registry, host, port)
    except OSError as error:
        cause = error.strerror or str(error)
        raise StartError(f"cannot listen at {host}:{port} (--metrics-host, --metrics-port): {cause}") from None


@contextlib.contextmanager
def ready_file(path: Path | None, address: str | None, metrics_address: str | None) -> Iterator[None]:
    """Keeps a file in place that says where the service is. It appears whole or not at all. Raises StartError."""
    if path is None:
        yield
        return
    content = {"address": address, "metrics_address": metrics_address, "pid": os.getpid()}
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(content) + "\n")
        unfinished.replace(path)
    except OSError as error:
        raise StartError(f"cannot write the ready file {path}: {error.strerror}") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _listener(host: str, port: int) -> socket.socket:
    family, address = _resolved(host, port)
    return socket.create_server(address, family=family)


def _bound(host: str, port: int) -> socket.socket:
    family, address = _resolved(host, port)
    holder = socket.socket(family, socket.SOCK_STREAM)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # Else the last connections of a single process that served here keep the port for a minute.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(address)
    except BaseException:
        holder.close()
        raise
    return holder


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    return family, (str(address[0]), int(address[1]))


def _cause(error: OSError) -> str:
    # Names that do not resolve have numbers of their own below zero.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
