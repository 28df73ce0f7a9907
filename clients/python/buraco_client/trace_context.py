"""The trace that a program is in goes along with its calls, where OpenTelemetry is installed."""

from __future__ import annotations

try:
    from opentelemetry.propagate import inject
except ImportError:

    def trace_context() -> tuple[tuple[str, str], ...]:
        """Metadata that names the trace the caller is in: here none."""
        return ()

else:

    def trace_context() -> tuple[tuple[str, str], ...]:
        """Metadata that names the trace the caller is in; empty outside of any."""
        carrier: dict[str, str] = {}
        inject(carrier)
        return tuple(carrier.items())
