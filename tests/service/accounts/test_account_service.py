"""AccountService: who sees and changes which account, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import account_service_pb2 as pb
from buraco_service.access.api_keys import ApiKey
from buraco_service.accounts import entries
from buraco_service.accounts.entries import HOUSE, MAX_BALANCE, Entry
from buraco_service.configuration.loading import load
from buraco_service.errors import ApiError
from tests.service.credits import INITIAL, get_account, grant, list_entries, owner
from tests.service.refusals import assert_invalid, refused
from tests.service.table_server import Metadata, Replica, bearing, new_id, serving, start

API_KEY: Metadata = (("x-api-key", "a secret of an operator"),)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A server with accounts, in development mode."""
    async with serving(tmp_path / "tables.db", credits=True) as running:
        yield running


@pytest.fixture
async def keyed(tmp_path: Path) -> AsyncIterator[Replica]:
    """A server with accounts and an API key."""
    keys = (ApiKey.of("backend", b"a secret of an operator"), ApiKey.of("shop", b"a secret of the other one"))
    async with serving(tmp_path / "tables.db", credits=True, api_keys=keys) as running:
        yield running


async def test_account_opens_with_the_first_credits(replica: Replica) -> None:
    """A player's account opens once, with the credits that are set, however many ask at once."""
    zoe = await owner(replica)
    assert await asyncio.gather(*[zoe.account() for _ in range(5)]) == [(INITIAL, 0, INITIAL)] * 5
    (entry,) = (await list_entries(replica, bearing(zoe.token))).entries
    assert (entry.number, entry.kind, entry.amount, entry.balance, entry.held) == (
        1,
        pb.ENTRY_KIND_GRANT,
        1000,
        1000,
        0,
    )
    assert entry.created_at.seconds > 1_700_000_000
    assert replica.metrics.registry.get_sample_value("buraco_account_entries_total", {"kind": "grant"}) == 1


async def test_no_first_credits(tmp_path: Path) -> None:
    """Where nothing is given at first, an account begins empty."""
    async with serving(tmp_path / "tables.db", credits=True, initial_credits=0) as replica:
        zoe = await owner(replica)
        assert await zoe.account() == (0, 0, 0)
        assert await zoe.entries() == []
        await grant(replica, zoe.id, 7)
        assert await zoe.account() == (7, 0, 7)


async def test_granted_credits(replica: Replica) -> None:
    """Credits are given and taken, with a note, and never below what is available."""
    zoe = await owner(replica)
    given = await grant(replica, zoe.id, 250, note="Welcome back")
    assert (given.account.balance, given.account.available, given.entry.amount) == (1250, 1250, 250)
    assert given.entry.note == "Welcome back"
    taken = await grant(replica, zoe.id, -1250)
    assert (taken.account.balance, taken.entry.number) == (0, 3)
    refusal = await refused(grant(replica, zoe.id, -1))
    assert refusal.short == ("FAILED_PRECONDITION", "CREDIT_TOO_LOW")
    assert refusal.metadata == {"available": "0", "needed": "1"}
    assert await zoe.entries() == [("GRANT", -1250, 0), ("GRANT", 250, 0), ("GRANT", 1000, 0)]


async def test_grant_is_made_once(keyed: Replica) -> None:
    """A repeat of a grant gets the first answer; another grant, or another caller, under its id is refused."""
    request_id = new_id()
    first = await grant(keyed, "ann", 5, API_KEY, note="n", request_id=request_id)
    await grant(keyed, "ann", 1, API_KEY)
    again = await grant(keyed, "ann", 5, API_KEY, note="n", request_id=request_id.upper())
    assert again == first
    other_key: Metadata = (("x-api-key", "a secret of the other one"),)
    for call in (
        grant(keyed, "ann", 6, API_KEY, note="n", request_id=request_id),
        grant(keyed, "ann", 5, API_KEY, note="m", request_id=request_id),
        grant(keyed, "ann", 5, other_key, note="n", request_id=request_id),
    ):
        assert (await refused(call)).short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    assert (await get_account(keyed, "ann", API_KEY)).account.balance == INITIAL + 6
    # An id counts for an account.
    assert (await grant(keyed, "ben", 9, API_KEY, request_id=request_id)).account.balance == INITIAL + 9


async def test_pages_of_entries(replica: Replica) -> None:
    """Entries come in pages, the newest first, without loss or duplicate."""
    zoe = await owner(replica)
    for amount in range(1, 8):
        await grant(replica, zoe.id, amount)
    numbers, token, pages = [], "", 0
    while pages == 0 or token:
        page = await list_entries(replica, bearing(zoe.token), page_size=3, page_token=token)
        numbers += [entry.number for entry in page.entries]
        token, pages = page.next_page_token, pages + 1
        await grant(replica, zoe.id, 1)
    assert (numbers, pages) == ([8, 7, 6, 5, 4, 3, 2, 1], 3)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"amount": 0}, "amount"),
        ({"amount": 10**12 + 1}, "amount"),
        ({"amount": -(10**12) - 1}, "amount"),
        ({"amount": -(2**63)}, "amount"),
        ({"note": "x" * 201}, "note"),
        ({"request_id": "1"}, "request_id"),
        ({"player_id": ""}, "player_id"),
        ({"player_id": "a b"}, "player_id"),
        ({"player_id": "the house "}, "player_id"),
        ({"player_id": "x" * 129}, "player_id"),
        ({"player_id": "ö"}, "player_id"),
    ],
)
async def test_bad_grants(replica: Replica, fields: dict[str, Any], wrong: str) -> None:
    """A grant out of its ranges is refused with the field, and nothing is written."""
    assert_invalid(await refused(grant(replica, **{"player_id": "ann", "amount": 1, **fields})), wrong)
    assert (await get_account(replica, "ann")).account.balance == INITIAL


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"page_size": 201}, "page_size"),
        ({"page_token": "0"}, "page_token"),
        ({"page_token": "x"}, "page_token"),
        ({"page_token": "9" * 11}, "page_token"),
        ({"player_id": "ö"}, "player_id"),
    ],
)
async def test_bad_pages(replica: Replica, fields: dict[str, Any], wrong: str) -> None:
    """A page out of range is refused with the field."""
    assert_invalid(await refused(list_entries(replica, **{"player_id": "ann", **fields})), wrong)


def test_no_account_grows_without_end() -> None:
    """An account takes no more than 10^18 credits."""
    rich = Entry(balance=MAX_BALANCE - 5)
    assert entries.grant(rich, 5, 0.0).balance == MAX_BALANCE
    with pytest.raises(ApiError) as refusal:
        entries.grant(rich, 6, 0.0)
    assert [path for path, _ in refusal.value.problems] == ["amount"]


async def test_who_may_see_and_change(keyed: Replica) -> None:
    """With its player token a player sees the own account; others are seen and changed with an API key alone."""
    zoe = await owner(keyed)
    assert await zoe.account() == (INITIAL, 0, INITIAL)
    for call in (
        get_account(keyed, zoe.id),
        get_account(keyed, zoe.id, bearing(zoe.token)),
        list_entries(keyed, bearing(zoe.token), player_id="ann"),
        grant(keyed, zoe.id, 5),
        grant(keyed, zoe.id, 5, bearing(zoe.token)),
        get_account(keyed, HOUSE),
    ):
        assert (await refused(call)).short == ("UNAUTHENTICATED", "API_KEY_MISSING")
    wrong: Metadata = (("x-api-key", "a guess that is long enough"),)
    assert (await refused(grant(keyed, zoe.id, 5, wrong))).reason == "API_KEY_INVALID"
    assert (await get_account(keyed, zoe.id, API_KEY)).account.balance == INITIAL
    assert len((await list_entries(keyed, API_KEY, player_id=zoe.id)).entries) == 1
    assert (await get_account(keyed, HOUSE, API_KEY)).account.balance == 0


async def test_without_a_player_there_is_no_account(replica: Replica) -> None:
    """Who names no account needs a player token, and a seat token is none."""
    players = await start(replica)
    for metadata in ((), players[0].metadata):
        assert (await refused(get_account(replica, metadata=metadata))).reason == "PLAYER_TOKEN_MISSING"
        assert (await refused(list_entries(replica, metadata))).reason == "PLAYER_TOKEN_MISSING"
    assert (await refused(get_account(replica, metadata=bearing("nonsense")))).reason == "PLAYER_TOKEN_INVALID"


async def test_nobody_operates_production_without_keys(tmp_path: Path) -> None:
    """In production mode a service without API keys shows nobody another's account, and lets nobody grant."""
    async with serving(tmp_path / "tables.db", credits=True, mode="production") as replica:
        zoe = await owner(replica)
        assert await zoe.account() == (INITIAL, 0, INITIAL)
        for call in (get_account(replica, zoe.id), list_entries(replica, player_id=zoe.id), grant(replica, zoe.id, 5)):
            assert (await refused(call)).reason == "API_KEY_MISSING"


async def test_service_without_accounts(tmp_path: Path) -> None:
    """Where accounts are off, every call is refused."""
    async with serving(tmp_path / "tables.db", credits=False) as replica:
        zoe = await owner(replica)
        for call in (zoe.account(), zoe.entries(), grant(replica, zoe.id, 5), get_account(replica, zoe.id)):
            assert (await refused(call)).short == ("FAILED_PRECONDITION", "ACCOUNTS_DISABLED")


def test_accounts_are_on_in_development() -> None:
    """Accounts are on in development mode unless turned off, and off in production mode unless turned on."""
    production = {
        "BURACO_MODE": "production",
        "BURACO_TLS": "off",
        "BURACO_SIGNING_KEYS": "k:a-key-that-is-long-enough-for-signatures",
    }
    assert load({}, {}).credits
    assert not load({"BURACO_CREDITS": "off"}, {}).credits
    assert not load(production, {}).credits
    assert load(production | {"BURACO_CREDITS": "on"}, {}).credits
