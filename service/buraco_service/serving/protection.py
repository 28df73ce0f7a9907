"""What protects a server: its certificate, the keys of its tokens and those of its callers, reloaded on change."""

from __future__ import annotations

from pathlib import Path

from buraco_service.access import file_watch, seat_tokens
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.file_watch import WatchedFiles
from buraco_service.access.seat_tokens import SeatTokens
from buraco_service.access.tls import ServerTls
from buraco_service.configuration import kinds
from buraco_service.configuration.settings import Settings


class Protection:
    """Certificate and keys by the settings. Files that these name are watched while `watch_files` runs.

    Raise TlsError or ValueError for files that have become unusable since the settings were read.
    """

    def __init__(self, settings: Settings) -> None:
        self.tokens = SeatTokens(settings.signing_keys or (seat_tokens.random_key(),), settings.token_ttl)
        self.api_keys = ApiKeys(settings.api_keys)
        self.tls: ServerTls | None = None
        self._interval = settings.reload_interval
        self._watched: list[WatchedFiles] = []
        if settings.signing_keys_file is not None:
            self._watch_signing_keys(settings.signing_keys_file)
        if settings.api_keys_file is not None:
            self._watch_api_keys(settings.api_keys_file)
        if settings.tls != "off":
            files = settings.tls_files()
            self.tls = ServerTls(files)
            self._watched.append(WatchedFiles("certificate", files.paths, self.tls.reload))

    async def watch_files(self) -> None:
        """Reload files when they change, until cancelled; return at once if there are none."""
        await file_watch.watch(self._watched, self._interval)

    def _watch_signing_keys(self, path: Path) -> None:
        def read() -> None:
            self.tokens.replace_keys(kinds.signing_keys_of_file(path))

        self._watched.append(WatchedFiles("signing keys", (path,), read))

    def _watch_api_keys(self, path: Path) -> None:
        def read() -> None:
            self.api_keys.replace(kinds.api_keys_of_file(path))

        self._watched.append(WatchedFiles("API keys", (path,), read))
