"""Traces of calls, if OpenTelemetry's own variables (OTEL_…) ask for them; there is no setting.

OpenTelemetry (the extra `otel`) is only imported then; without it a call pays for the check of an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from buraco_service.observing.current_call import CallContext, CallTrace

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class TracingError(Exception):
    """The traces that the environment asks for are not possible; the message tells an operator why."""


class Tracing(Protocol):
    """Makes traces and exports them."""

    def begin(self, call: CallContext, *, stream: bool) -> CallTrace:
        """Start the trace of a new call, as a part of its caller's trace if its headers name one."""

    def close(self) -> None:
        """Export what is left. Block for at most some seconds."""


def create_tracing(environment: Mapping[str, str], version: str) -> Tracing | None:
    """Return the tracing that the environment asks for, None if it asks for none. Raise TracingError."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    exporters = [name.strip() for name in environment.get("OTEL_TRACES_EXPORTER", "").split(",") if name.strip()]
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
