"""TLS of a client, from PEM files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tls:
    """How a client encrypts, and whom it trusts."""

    ca_file: Path | None = None
    """The CAs that the server's certificate may be of; None: those that gRPC brings along."""
    cert_file: Path | None = None
    """The client's own certificate with its chain, where the server asks for one."""
    key_file: Path | None = None
    """The private key of that certificate; both or neither."""
    server_name: str | None = None
    """The name that the server's certificate must have, where it is not the one that is connected to."""

    def __post_init__(self) -> None:
        if (self.cert_file is None) is not (self.key_file is None):
            raise ValueError("a client certificate needs its key, and a key its certificate")

    def credentials(self) -> grpc.ChannelCredentials:
        """What the files hold now. Raises OSError; what gRPC cannot use it tells at the first call."""
        return grpc.ssl_channel_credentials(
            root_certificates=None if self.ca_file is None else self.ca_file.read_bytes(),
            private_key=None if self.key_file is None else self.key_file.read_bytes(),
            certificate_chain=None if self.cert_file is None else self.cert_file.read_bytes(),
        )

    def options(self) -> dict[str, str | int]:
        """The channel options that go with it."""
        return {} if self.server_name is None else {"grpc.ssl_target_name_override": self.server_name}
