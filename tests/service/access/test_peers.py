from __future__ import annotations

import pytest

from buraco_service.access.peers import find_address


@pytest.mark.parametrize(
    ("connection", "address"),
    [
        ("ipv4:192.0.2.7:50123", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:50123", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2:ffff::1]:50123", "2001:db8:1:2::/64"),
        ("ipv6:%5B::ffff:192.0.2.7%5D:50123", "192.0.2.7"),
        ("ipv6:%5Bfe80::1%25eth0%5D:50123", "fe80::/64"),
        ("unix:/run/buraco.sock", "unix"),
    ],
)
def test_address_of_a_connection(connection: str, address: str) -> None:
    """A peer is its address without the port; of version 6 the part that its owner does not choose."""
    assert find_address(connection, (), 0) == address


@pytest.mark.parametrize(
    ("proxies", "headers", "address"),
    [
        (0, ["198.51.100.1"], "192.0.2.7"),
        (1, ["198.51.100.1"], "198.51.100.1"),
        (1, ["203.0.113.9, 198.51.100.1"], "198.51.100.1"),
        (1, ["203.0.113.9", "198.51.100.1"], "198.51.100.1"),
        (2, ["203.0.113.9, 198.51.100.1, 10.0.0.1"], "198.51.100.1"),
        (2, ["203.0.113.9,198.51.100.1"], "203.0.113.9"),
        (2, ["198.51.100.1"], "192.0.2.7"),
        (1, [], "192.0.2.7"),
        (1, ["198.51.100.1, made up"], "192.0.2.7"),
        (1, ["2001:db8:1:2::9"], "2001:db8:1:2::/64"),
    ],
)
def test_address_that_proxies_tell(proxies: int, headers: list[str], address: str) -> None:
    """Only as many entries as there are trusted proxies are believed, counted from the end."""
    metadata = [("x-forwarded-for", value) for value in headers]
    assert find_address("ipv4:192.0.2.7:50123", metadata, proxies) == address
