"""Where the service listens: its ports, and the file that says which they are."""

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
"""Open files that are not connections of callers: store, metrics, logs."""


class StartError(Exception):
    """The service cannot start; the message says why, for an operator."""


def check_free(host: str, port: int, flags: str = "--host, --port") -> None:
    """Raise StartError, which says why, if nobody could listen there now; grpc does not say why."""
    try:
        _listen(host, port).close()
    except OSError as error:
        raise StartError(describe_listen_error(host, port, _cause(error), flags)) from None


@contextlib.contextmanager
def reserve_port(host: str, port: int, flags: str = "--host, --port") -> Iterator[int]:
    """Reserve a port for the processes that share it, whether or not one of them listens; yield its number.

    Port 0 means any free one. Connections go only to processes that listen. Raise StartError.
    """
    check_free(host, port, flags)
    try:
        holder = _bound(host, port)
    except OSError as error:
        raise StartError(describe_listen_error(host, port, _cause(error), flags)) from None
    with holder:
        yield holder.getsockname()[1]


def limit_connections(maximum: int) -> int:
    """Return how many connections to accept: `maximum`, or fewer if the process may not open as many files.

    The soft limit of open files is raised as needed: a server that reaches it accepts no connections any more.
    """
    if sys.platform == "win32":
        return maximum
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = maximum + _OWN_FILES
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(maximum, soft - _OWN_FILES))
    return maximum


def listen(host: str, port: int, flags: str, *, backlog: int, shared: bool) -> socket.socket:
    """Return a socket that listens; `flags` name the settings in the StartError that says why it cannot.

    `shared`: other processes may listen there, too.
    """
    try:
        family, address = _resolved(host, port)
        listening = socket.create_server(address, family=family, backlog=backlog, reuse_port=shared)
    except OSError as error:
        raise StartError(describe_listen_error(host, port, _cause(error), flags)) from None
    listening.setblocking(False)
    return listening


def describe_listen_error(host: str, port: int, cause: object, flags: str = "--host, --port") -> str:
    """Return the message for an operator when the services get no port."""
    return f"cannot listen at {format_address(host, port)} ({flags}): {cause}"


def format_address(host: str, port: int) -> str:
    """Return host and port as clients write them.

    >>> format_address("::1", 50051)
    '[::1]:50051'
    """
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> MetricsServer | None:
    """Serve the metrics, unless the port is -1. Raise StartError."""
    if port < 0:
        return None
    try:
        return MetricsServer(registry, host, port)
    except OSError as error:
        cause = error.strerror or str(error)
        raise StartError(f"cannot listen at {host}:{port} (--metrics-host, --metrics-port): {cause}") from None


@contextlib.contextmanager
def write_ready_file(
    path: Path | None, address: str | None, metrics_address: str | None, web_address: str | None
) -> Iterator[None]:
    """Keep a file in place that says where the service listens. It appears as a whole. Raise StartError."""
    if path is None:
        yield
        return
    content = {"address": address, "metrics_address": metrics_address, "web_address": web_address, "pid": os.getpid()}
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


def _listen(host: str, port: int) -> socket.socket:
    family, address = _resolved(host, port)
    return socket.create_server(address, family=family)


def _bound(host: str, port: int) -> socket.socket:
    family, address = _resolved(host, port)
    holder = socket.socket(family, socket.SOCK_STREAM)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # Otherwise the last connections of a process that served here keep the port for a minute.
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
    # Errors of names that do not resolve have numbers below zero.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
