"""The metadata of a call."""

from typing import Any

import grpc.aio

from buraco_service.observing.current_call import current_call


def call_metadata(context: "grpc.aio.ServicerContext[Any, Any]") -> Any:
    """Return the metadata of the call, which grpc makes anew each time it is asked."""
    call = current_call.get()
    return context.invocation_metadata() if call is None else call.metadata
