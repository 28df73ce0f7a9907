"""Reads the key files that settings name, and checks the settings that depend on each other."""

import dataclasses
from pathlib import Path
from typing import Any, Final

from buraco_service.access.player_keys import read_player_keys
from buraco_service.access.tls import TlsError
from buraco_service.configuration.key_lists import API_KEYS, SIGNING_KEYS, KeyList
from buraco_service.configuration.settings import Settings

_KEY_LISTS: Final[dict[str, KeyList[Any]]] = {"signing_keys": SIGNING_KEYS, "api_keys": API_KEYS}


def complete(settings: Settings, *, given: frozenset[str], invalid: frozenset[str]) -> tuple[Settings, list[str]]:
    """Return the settings, and the problems of those that depend on each other.

    Keys come from their files, and in production mode guests, accounts and tables of players are off unless they are
    set.

    A file that cannot be used is a problem and leaves its setting as it was. `given` are the names of the settings with
    a value of their own, `invalid` of those whose value is not valid.
    """
    problems: list[str] = []
    for name, key_list in _KEY_LISTS.items():
        path: Path | None = getattr(settings, f"{name}_file")
        variable = f"BURACO_{name.upper()}"
        if path is None:
            continue
        if name in given:
            problems.append(f"{variable} and {variable}_FILE are both given: give one")
        try:
            keys: Any = key_list.read(path)
            settings = dataclasses.replace(settings, **{name: keys})
        except ValueError as error:
            problems.append(f"{variable}_FILE {error}")
    if settings.player_keys_file is not None:
        try:
            read_player_keys(settings.player_keys_file)
        except ValueError as error:
            problems.append(f"BURACO_PLAYER_KEYS_FILE {error}")
    if settings.mode == "production":
        settings = dataclasses.replace(
            settings,
            guests=settings.guests and "guests" in given,
            credits=settings.credits and "credits" in given,
            player_tables=settings.player_tables if "player_tables" in given else 0,
        )
        problems += _check_production(given | invalid)
    if "tls" not in invalid:
        problems += _check_tls(settings)
    if settings.web_port < 0 and "web_port" not in invalid:
        problems += [
            f"BURACO_{name.upper()} is given, but BURACO_WEB_PORT is not"
            for name in ("web_origins", "web_root")
            if name in given
        ]
    return settings, problems


def _check_production(set_names: frozenset[str]) -> list[str]:
    problems = []
    if not set_names & {"signing_keys", "signing_keys_file"}:
        problems.append("BURACO_SIGNING_KEYS or BURACO_SIGNING_KEYS_FILE is needed in production mode")
    if "tls" not in set_names:
        problems.append("BURACO_TLS is needed in production mode: tls, mtls, or off where something in front encrypts")
    return problems


def _check_tls(settings: Settings) -> list[str]:
    """Return a problem for each file that is missing, would be ignored, or cannot be used."""
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
            problems.append(f"BURACO_TLS {settings.tls} cannot be used: {error}")
    return problems
