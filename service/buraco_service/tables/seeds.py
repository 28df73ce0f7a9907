"""The service's seeds: fixed by a table's secret before a player could influence them."""

import hmac
from typing import Final

MAX_ENTROPY_BYTES: Final = 64


def server_seed(master_seed: bytes, deal_number: int) -> bytes:
    """The service's seed of a deal: HMAC-SHA256 of its number under the table's secret. Its SHA-256 is shown
    beforehand; what the players add is mixed in by `buraco_rules.shuffle.mixed_seed`.
    """
    return hmac.digest(master_seed, deal_number.to_bytes(4, "big"), "sha256")
