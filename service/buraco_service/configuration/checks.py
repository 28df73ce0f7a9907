"""Which settings go together, and those that are read from files that other settings name."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from buraco_service.access.tls import TlsError
from buraco_service.configuration import kinds
from buraco_service.configuration.settings import Settings

_KEY_FILES: Final[dict[str, Callable[[Path], Any]]] = {
    "signing_keys": kinds.signing_keys_of_file,
    "api_keys": kinds.api_keys_of_file,
}


def completed(settings: Settings, *, given: frozenset[str], broken: frozenset[str]) -> tuple[Settings, list[str]]:
    """The settings with the keys of their files, and what is wrong with them as a whole.

    `given` names the settings that have a value of their own, `broken` those whose value could not be read.
    """
    problems: list[str] = []
    for name, read in _KEY_FILES.items():
        path: Path | None = getattr(settings, f"{name}_file")
        variable = f"BURACO_{name.upper()}"
        if path is None:
            continue
        if name in given:
            problems.append(f"{variable} and {variable}_FILE are both given: give one")
        try:
            settings = dataclasses.replace(settings, **{name: read(path)})
        except ValueError as error:
            problems.append(f"{variable}_FILE {error}")
    if settings.mode == "production":
        problems += _secrets_missing(settings, given | broken)
    if "tls" not in broken:
        problems += _tls_problems(settings)
    return settings, problems


def _secrets_missing(settings: Settings, said: frozenset[str]) -> list[str]:
    """What production mode does not do without."""
    problems = []
    if not said & {"signing_keys", "signing_keys_file"}:
        problems.append("BURACO_SIGNING_KEYS or BURACO_SIGNING_KEYS_FILE is needed in production mode")
    if "tls" not in said:
        problems.append("BURACO_TLS is needed in production mode: tls, mtls, or off where something in front encrypts")
    return problems


def _tls_problems(settings: Settings) -> list[str]:
    """Files that are missing, cannot be used, or would be ignored."""
    files = {
        "BURACO_TLS_CERT_FILE": (settings.tls_cert_file, settings.tls != "off"),
        "BURACO_TLS_KEY_FILE": (settings.tls_key_file, settings.tls != "off"),
        "BURACO_TLS_CLIENT_CA_FILE": (settings.tls_client_ca_file, settings.tls == "mtls"),
    }
    problems = [
        f"{variable} is needed with BURACO_TLS {settings.tls}"
        if needed
        else f"{variable} is given, but BURACO_TLS is {settings.tls}"
        for variable, (path, needed) in files.items()
        if (path is not None) is not needed
    ]
    if not problems and settings.tls != "off":
        try:
            settings.tls_files().read()
        except TlsError as error:
            problems.append(f"BURACO_TLS {settings.tls} cannot be had: {error}")
    return problems
