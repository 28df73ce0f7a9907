"""Passes the caller's trace to the service where OpenTelemetry is installed."""

from __future__ import annotations

try:
    from opentelemetry.propagate import inject
except ImportError:
    inject = None  # type: ignore[assignment]


def trace_context() -> tuple[tuple[str, str], ...]:
    """Return metadata that names the trace the caller is in; empty outside of any, or without OpenTelemetry.

    >>> trace_context()
    ()
    """
    carrier: dict[str, str] = {}
    if inject is not None:
        inject(carrier)
    return tuple(carrier.items())
