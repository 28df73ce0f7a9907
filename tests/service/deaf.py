"""`buraco serve` whose server fails as soon as it is to accept a second call of a method."""

from collections import Counter
from typing import Any

from buraco_service.commands.cli import main
from buraco_service.serving.grpc_server import _Core

accepted: Counter[bytes] = Counter()
accept = _Core._request_registered_call


async def accept_once(core: Any, method: bytes) -> Any:
    """Accept a call, unless it is not the first."""
    accepted[method] += 1
    if accepted[method] > 1 and b"ListTables" in method:
        raise RuntimeError("nothing is accepted any more")
    return await accept(core, method)


_Core._request_registered_call = accept_once
main()
