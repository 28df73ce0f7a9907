"""The limits of one replica on what callers may have going at a time."""

from __future__ import annotations

from typing import Final, NamedTuple

MESSAGE_HEADROOM: Final = 2
"""Messages up to so many times the limit are received, to be refused with a proper answer; grpc refuses larger ones."""
_UNSENT_BYTES: Final = 64 * 1024 * 1024
"""What messages that have come only in part may hold in memory, all together; a peer's a quarter of it."""
_MIN_UNSENT: Final = 64
_PEER_SHARE: Final = 4


class Limits(NamedTuple):
    """The limits of one replica; the settings of the same names explain them. A request rate of 0 is no limit."""

    max_message_bytes: int = 65_536
    message_timeout: float = 10.0
    max_concurrent_calls: int = 4096
    max_peer_calls: int = 1024
    max_watches: int = 2048
    max_peer_watches: int = 512
    max_request_rate: int = 0
    max_request_burst: int = 100
    trusted_proxies: int = 0

    @property
    def max_unsent(self) -> int:
        """Return how many calls may be open whose message has not come: this bounds what they hold in memory."""
        return max(_MIN_UNSENT, _UNSENT_BYTES // (MESSAGE_HEADROOM * self.max_message_bytes))

    @property
    def max_peer_unsent(self) -> int:
        """Return how many such calls one peer may have."""
        return self.max_unsent // _PEER_SHARE
