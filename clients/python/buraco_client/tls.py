"""TLS of a client, from PEM files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tls:
    """How a client encrypts, and whom it trusts. Raise ValueError for a certificate without its key.

    >>> Tls(server_name="buraco.example").channel_options()
    {'grpc.ssl_target_name_override': 'buraco.example'}
    """

    ca_file: Path | None = None
    """The CAs that may sign the server's certificate; None: those that gRPC brings along."""
    cert_file: Path | None = None
    """The client's own certificate with its chain, where the server asks for one."""
    key_file: Path | None = None
    """The private key of that certificate; both or neither."""
    server_name: str | None = None
    """The name in the server's certificate, if it is not the name that is connected to."""

    def __post_init__(self) -> None:
        if (self.cert_file is None) is not (self.key_file is None):
            raise ValueError("a client certificate needs its key, and a key its certificate")

    def load_credentials(self) -> grpc.ChannelCredentials:
        """Return credentials from the files as they are now.

        >>> isinstance(Tls().load_credentials(), grpc.ChannelCredentials)
        True

        Raise OSError if a file cannot be read. What gRPC cannot use in them fails the first call.
        """
        return grpc.ssl_channel_credentials(
            root_certificates=None if self.ca_file is None else self.ca_file.read_bytes(),
            private_key=None if self.key_file is None else self.key_file.read_bytes(),
            certificate_chain=None if self.cert_file is None else self.cert_file.read_bytes(),
        )

    def channel_options(self) -> dict[str, str | int]:
        """Return the channel options that go with the credentials; empty without `server_name`.

        >>> Tls().channel_options()
        {}
        """
        return {} if self.server_name is None else {"grpc.ssl_target_name_override": self.server_name}
