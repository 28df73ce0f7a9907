"""The options with which commands reach a server: TLS and API key."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from buraco_client import BuracoClient, Tls

API_KEY_VARIABLE: Final = "BURACO_CLIENT_API_KEY"
_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Access:
    """TLS and API key for a server."""

    tls: Tls | None = None
    api_key: str | None = field(default=None, repr=False)

    def connect(self, server: str) -> BuracoClient:
        """Return a client of the server; call this on the event loop."""
        return BuracoClient(server, tls=self.tls, api_key=self.api_key)


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a click command the options that `parse_access` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_access(
    *,
    tls: bool,
    tls_ca_file: Path | None,
    tls_cert_file: Path | None,
    tls_key_file: Path | None,
    tls_server_name: str | None,
    api_key_file: Path | None,
) -> Access:
    """Return the Access for the options and the key in the environment.

    Raise click.UsageError if they contradict each other, or the file of the key cannot be used.
    """
    has_tls_option = any([tls_ca_file, tls_cert_file, tls_key_file, tls_server_name])
    if (tls_cert_file is None) is not (tls_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-key-file go together")
    # Every user of a machine can read command lines: the key itself has no option.
    api_key = os.environ.get(API_KEY_VARIABLE) or None
    if api_key is not None and api_key_file is not None:
        raise click.UsageError(f"an API key comes from {API_KEY_VARIABLE} or --api-key-file, not from both")
    if api_key_file is not None:
        api_key = _read_api_key(api_key_file)
    return Access(
        tls=Tls(tls_ca_file, tls_cert_file, tls_key_file, tls_server_name) if tls or has_tls_option else None,
        api_key=api_key,
    )


def _read_api_key(path: Path) -> str:
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(f"--api-key-file {path} cannot be read") from None
    if not text.isascii() or not text.isprintable() or not text:
        raise click.UsageError(f"--api-key-file {path} must hold one line of printable ASCII, the key")
    return text


_OPTIONS: Final = (
    click.option("--tls", is_flag=True, help="Talk to the server over TLS.  [implied by the options below]"),
    click.option("--tls-ca-file", type=_FILE, help="PEM file with the CAs to trust.  [default: public ones]"),
    click.option("--tls-cert-file", type=_FILE, help="PEM file with the client's certificate and its chain."),
    click.option("--tls-key-file", type=_FILE, help="PEM file with the certificate's private key."),
    click.option("--tls-server-name", metavar="NAME", help="Name in the server's certificate, if not the host's."),
    click.option(
        "--api-key-file",
        type=_FILE,
        help=f"File with the API key to create tables with; or the key itself in {API_KEY_VARIABLE}.",
    ),
)
