"""Temporary certificates, and mounted secrets that change as in Kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import grpc
import trustme


class Authority:
    """A new CA."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.pem = self._ca.cert_pem.bytes()

    def pair(self, *names: str) -> tuple[bytes, bytes]:
        """Return a certificate with its chain for these names, and its private key."""
        issued = self._ca.issue_cert(*(names or ("127.0.0.1", "localhost")))
        return b"".join(pem.bytes() for pem in issued.cert_chain_pems), issued.private_key_pem.bytes()

    def trusting(self, client: Authority | None = None) -> grpc.ChannelCredentials:
        """Return the credentials of a client that trusts this CA, with a certificate of `client` if given."""
        if client is None:
            return grpc.ssl_channel_credentials(self.pem)
        certificate, key = client.pair("client.example")
        return grpc.ssl_channel_credentials(self.pem, key, certificate)


class Mounted(NamedTuple):
    """A folder of secrets: its files are links into a folder that a link names, and only this link is exchanged."""

    folder: Path

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.folder / name

    def put(self, **files: bytes | str) -> None:
        """Replace all files at once."""
        version = self.folder / f"..{len(list(self.folder.glob('..v*'))):03d}"
        version = version.with_name(f"..v{version.name[2:]}")
        version.mkdir(parents=True)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (version / name).write_bytes(data)
            if not self.path(name).is_symlink():
                self.path(name).symlink_to(Path("..data") / name)
        fresh = self.folder / "..fresh"
        fresh.symlink_to(version.name)
        fresh.replace(self.folder / "..data")
