"""How the commands reach a server: TLS and API key, as options that they share."""

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
    """What a command needs besides the server's address."""

    tls: Tls | None = None
    api_key: str | None = field(default=None, repr=False)

    def client(self, server: str) -> BuracoClient:
        """A client of the server, to be made on the event loop."""
        return BuracoClient(server, tls=self.tls, api_key=self.api_key)


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a click command the options from which `access_of` makes its Access."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def access_of(
    *,
    tls: bool,
    tls_ca_file: Path | None,
    tls_cert_file: Path | None,
    tls_key_file: Path | None,
    tls_server_name: str | None,
    api_key_file: Path | None,
) -> Access:
    """The Access that the options and the key in the environment describe.

    Raises click.UsageError where they contradict each other.
    """
    described = any([tls_ca_file, tls_cert_file, tls_key_file, tls_server_name])
    if (tls_cert_file is None) is not (tls_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-key-file go together")
    # Every user of a machine can read command lines: the key itself has no option.
    api_key = os.environ.get(API_KEY_VARIABLE) or None
    if api_key is not None and api_key_file is not None:
        raise click.UsageError(f"an API key comes from {API_KEY_VARIABLE} or --api-key-file, not from both")
    if api_key_file is not None:
        api_key = _secret(api_key_file)
    return Access(
        tls=Tls(tls_ca_file, tls_cert_file, tls_key_file, tls_server_name) if tls or described else None,
        api_key=api_key,
    )


def _secret(path: Path) -> str:
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
