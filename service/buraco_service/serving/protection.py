"""What protects a server: its certificate, the keys of its tokens and those of its callers, reloaded on change."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from buraco_service.access import file_watch, seat_tokens
from buraco_service.access.api_keys import ApiKeys, Metadata
from buraco_service.access.file_watch import WatchedFiles
from buraco_service.access.player_keys import read_player_keys
from buraco_service.access.player_tokens import PlayerTokens
from buraco_service.access.seat_tokens import SeatTokens
from buraco_service.access.tls import ServerTls
from buraco_service.configuration.key_lists import API_KEYS, SIGNING_KEYS
from buraco_service.configuration.settings import Settings

_T = TypeVar("_T")


class Protection:
    """Certificate and keys by the settings. Files that these name are watched while `watch_files` runs.

    Raise TlsError or ValueError for files that have become unusable since the settings were read.
    """

    def __init__(self, settings: Settings) -> None:
        self.tokens = SeatTokens(settings.signing_keys or (seat_tokens.make_random_key(),), settings.token_ttl)
        self.players = PlayerTokens(
            self.tokens,
            audience=settings.player_audience,
            clock_skew=settings.player_clock_skew,
            guests=settings.guests,
            guest_ttl=settings.guest_token_ttl,
        )
        self.api_keys = ApiKeys(settings.api_keys, self._is_player if settings.player_tables else None)
        self.tls: ServerTls | None = None
        self._interval = settings.reload_interval
        self._watched: list[WatchedFiles] = []
        self._watch("signing keys", settings.signing_keys_file, SIGNING_KEYS.read, self.tokens.replace_keys)
        self._watch("player keys", settings.player_keys_file, read_player_keys, self.players.replace_keys)
        self._watch("API keys", settings.api_keys_file, API_KEYS.read, self.api_keys.replace)
        if settings.tls != "off":
            files = settings.tls_files()
            self.tls = ServerTls(files)
            self._watched.append(WatchedFiles("certificate", files.paths, self.tls.reload))

    async def watch_files(self) -> None:
        """Reload files when they change, until cancelled; return at once if there are none."""
        await file_watch.watch(self._watched, self._interval)

    def _is_player(self, metadata: Metadata) -> bool:
        return self.players.read_bearer(metadata, time.time()) is not None

    def _watch(self, what: str, path: Path | None, parse: Callable[[Path], _T], use: Callable[[_T], None]) -> None:
        if path is not None:
            self._watched.append(WatchedFiles(what, (path,), lambda: use(parse(path))))
