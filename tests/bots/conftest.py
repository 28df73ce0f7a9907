from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from buraco_bots.local_server import RunningServer, local_server
from buraco_client import BuracoClient


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """A real server in its own process, shared by all tests of a worker."""
    with local_server() as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[BuracoClient]:
    """A client of the server."""
    async with BuracoClient(server.address) as made:
        yield made
