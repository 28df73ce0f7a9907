"""TLS of the server: certificates from PEM files, which may be replaced while it serves."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc


class TlsError(Exception):
    """The files hold no certificate that works; the message says why, and shows nothing of the key."""


class TlsFiles:
    """Certificate (with its chain), its private key, and the CAs of client certificates (None: none are asked for)."""

    def __init__(self, cert: Path, key: Path, client_ca: Path | None = None) -> None:
        self.cert = cert
        self.key = key
        self.client_ca = client_ca

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files that are given."""
        return (self.cert, self.key, *([self.client_ca] if self.client_ca else []))

    def read(self) -> Any:
        """Return the certificate as grpc takes it. Raise TlsError for files that do not make one that works.

        grpc would find that out at the first handshake, and would not say why.
        """
        return self._read()[0]

    def make_context(self) -> ssl.SSLContext:
        """Return the certificate as asyncio takes it. Raise TlsError."""
        return self._read()[1]

    def _read(self) -> tuple[Any, ssl.SSLContext]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # Nobody is there to type a passphrase.
            context.load_cert_chain(self.cert, self.key, password=_no_passphrase)
            authorities = None if self.client_ca is None else self.client_ca.read_bytes()
            if authorities is not None:
                context.load_verify_locations(cadata=authorities.decode("ascii"))
                if not context.get_ca_certs():
                    raise TlsError(f"{self.client_ca} holds no certificate of a CA")
                context.verify_mode = ssl.CERT_REQUIRED
            pair = (self.key.read_bytes(), self.cert.read_bytes())
        except ssl.SSLError as error:
            raise TlsError(f"{self._shown}: {error.reason or 'no PEM'}") from None
        except OSError as error:
            raise TlsError(f"{error.filename or self._shown}: {error.strerror}") from None
        except ValueError as error:
            raise TlsError(f"{self._shown}: {error}") from None
        return grpc.ssl_server_certificate_configuration([pair], authorities), context

    @property
    def _shown(self) -> str:
        return ", ".join(map(str, self.paths))


class ServerTls:
    """The credentials of a server. Connections made after a `reload` get the new certificate. Raise TlsError."""

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self.on_reload: Callable[[], None] | None = None
        """What else is to use files that have changed."""
        self._fresh: Any = None
        self.credentials: grpc.ServerCredentials = grpc.dynamic_ssl_server_credentials(
            files.read(), self._fetch, require_client_authentication=files.client_ca is not None
        )

    def reload(self) -> None:
        """Read the files again, for new connections. Raise TlsError, and keep the old, if they cannot be used."""
        self._fresh = self.files.read()
        if self.on_reload is not None:
            self.on_reload()

    def _fetch(self) -> Any:
        """Return a new certificate, or None to keep the old one and its sessions; grpc calls it for each connection."""
        fresh, self._fresh = self._fresh, None
        return fresh


def _no_passphrase() -> str:
    raise ValueError("the private key must not need a passphrase")
