"""Traces of calls, if the environment asks for them: with its own variables (OTEL_…), not with settings of ours.

What it takes (the extra `otel`) is loaded only then; without traces a call pays for looks at an attribute that is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from buraco_service.observing.current_call import CallContext, CallTrace

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class TracingError(Exception):
    """The environment asks for traces that cannot be had; the message says why, for an operator."""


class Tracing(Protocol):
    """Makes traces and sends them away."""

    def begin(self, call: CallContext, *, stream: bool) -> CallTrace:
        """The trace of a call that has come: part of its caller's, if it says so."""

    def close(self) -> None:
        """Sends what is left, for some seconds at most. Blocks."""


def tracing_of(environment: Mapping[str, str], version: str) -> Tracing | None:
    """What the environment asks for, None for nothing. Raises TracingError if it asks for what cannot be had."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    exporters = _listed(environment.get("OTEL_TRACES_EXPORTER", ""))
    if exporters == ["none"] or not (exporters or any(environment.get(name) for name in _ENDPOINTS)):
        return None
    if exporters not in ([], ["otlp"]):
        raise TracingError(f"OTEL_TRACES_EXPORTER {','.join(exporters)!r} has to be otlp or none")
    protocol = next((value for name in _PROTOCOLS if (value := environment.get(name))), "grpc")
    if protocol != "grpc":
        raise TracingError(f"OTEL_EXPORTER_OTLP_PROTOCOL {protocol!r} has to be grpc (port 4317 of a collector)")
    try:
        from buraco_service.observing.otel import OtlpTracing
    except ImportError as error:
        raise TracingError(
            f"the environment asks for traces, but the extra `otel` is not installed ({error})"
        ) from None
    return OtlpTracing(environment, version)


def _listed(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]
