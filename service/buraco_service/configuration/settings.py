"""The settings of `buraco serve`.

Each is declared once, here: its name (its environment variable is BURACO_NAME, its flag --name), default, unit, range
and meaning. The command line's options, the checks and the documented table are made from these declarations.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from buraco_service.access.api_keys import ApiKey
from buraco_service.access.limits import Limits
from buraco_service.access.seat_tokens import SigningKey
from buraco_service.access.tls import TlsError, TlsFiles
from buraco_service.configuration import kinds
from buraco_service.configuration.key_lists import API_KEYS, SIGNING_KEYS

# gRPC ends connections up to a tenth before or after the set age, so that they do not all end at once.
_MAX_AGE_FACTOR = 1.1


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, checked. Times in seconds, sizes in bytes.

    Each is annotated with its kind and its meaning, some with a text for the default.
    """

    host: Annotated[str, kinds.text(), "Address to serve at; `0.0.0.0` or `::` for every interface."] = "127.0.0.1"
    port: Annotated[int, kinds.integer(0, 65535), "Port to serve at; 0 takes a free one."] = 50051
    metrics_host: Annotated[str, kinds.text(), "Address to serve metrics at."] = "127.0.0.1"
    metrics_port: Annotated[
        int, kinds.integer(-1, 65535), "Port to serve metrics at over HTTP; 0 takes a free one, -1 serves none."
    ] = 9464
    web_port: Annotated[
        int,
        kinds.integer(-1, 65535),
        "Port to serve browsers and curl at: Connect, gRPC-Web and JSON over HTTP; 0 takes a free one, -1 serves none.",
    ] = -1
    web_origins: Annotated[
        tuple[str, ...],
        kinds.origins(),
        "Origins of pages that may call the web port (CORS), beside its own; `*`: of all pages.",
        "none",
    ] = ()
    web_root: Annotated[
        Path | None, kinds.path(), "Folder with the files of a built page to serve at the web port.", "none"
    ] = None
    store: Annotated[str, kinds.store_url(), "Where the tables are kept."] = dataclasses.field(
        default="sqlite:///buraco.db", repr=False
    )
    mode: Annotated[
        Literal["development", "production"],
        kinds.choice("development", "production"),
        "`production` refuses to start without signing keys, or if `tls` is not given (`off` is allowed).",
    ] = "development"
    tls: Annotated[
        Literal["off", "tls", "mtls"],
        kinds.choice("off", "tls", "mtls"),
        "`tls` encrypts, `mtls` also admits only clients with a certificate of the client CA; `off` is plain text.",
    ] = "off"
    tls_cert_file: Annotated[Path | None, kinds.path(), "PEM file with the certificate and its chain.", "none"] = None
    tls_key_file: Annotated[Path | None, kinds.path(), "PEM file with the certificate's private key.", "none"] = None
    tls_client_ca_file: Annotated[
        Path | None, kinds.path(), "PEM file with the CAs of client certificates, for `mtls`.", "none"
    ] = None
    signing_keys: Annotated[
        tuple[SigningKey, ...],
        kinds.keys(SIGNING_KEYS),
        "Keys of the seat tokens, by their `kid`: the first signs, all verify. None: a random key (development only).",
        "none",
    ] = dataclasses.field(default=(), repr=False)
    signing_keys_file: Annotated[
        Path | None,
        kinds.path(),
        "File with the keys of the seat tokens: `NAME SECRET` a line; empty lines and `#` lines are skipped.",
        "none",
    ] = None
    api_keys: Annotated[
        tuple[ApiKey, ...],
        kinds.keys(API_KEYS),
        "Keys of programs that may use RulesService, CreateTable and QuickJoin. None: everybody may.",
        "none",
    ] = dataclasses.field(default=(), repr=False)
    api_keys_file: Annotated[
        Path | None,
        kinds.path(),
        "File with these keys: `NAME SECRET` a line; a name may appear twice while its secret is rotated.",
        "none",
    ] = None
    reload_interval: Annotated[
        float,
        kinds.seconds(0.1, 3600),
        "Time between checks of the certificate and key files; those that changed are read again.",
    ] = 10.0
    token_ttl: Annotated[float, kinds.seconds(60, 31_536_000), "Lifetime of a seat token.", "604800 (7 days)"] = (
        604_800.0
    )
    player_keys_file: Annotated[
        Path | None,
        kinds.path(),
        "JSON Web Key Set with the keys of your backend's player tokens. None: only guests have player tokens.",
        "none",
    ] = None
    player_audience: Annotated[str, kinds.text(), "Audience (`aud`) that your player tokens have to name."] = "player"
    player_clock_skew: Annotated[
        float, kinds.seconds(0, 300), "How far the clock that player tokens are made by may be off."
    ] = 30.0
    guests: Annotated[
        bool,
        kinds.switch(),
        "Whether anybody may sign in as a guest, who has a player token of the service.",
        "true (`false` in production mode)",
    ] = True
    guest_token_ttl: Annotated[
        float, kinds.seconds(60, 31_536_000), "Lifetime of a guest's player token.", "2592000 (30 days)"
    ] = 2_592_000.0
    chat: Annotated[
        Literal["all", "phrases", "off"],
        kinds.choice("all", "phrases", "off"),
        "What players may send to each other at most, whatever a table allows: `phrases` are those of the frontends.",
    ] = "all"
    credits: Annotated[
        bool,
        kinds.switch(),
        "Whether players have accounts of play money, which hold and settle stakes; if not, stakes are only shown.",
        "true (`false` in production mode)",
    ] = True
    initial_credits: Annotated[
        int, kinds.integer(0, 1_000_000_000_000, "credits"), "Given to an account when it is opened; 0: none."
    ] = 1000
    heartbeat: Annotated[float, kinds.seconds(0.1, 300), "Silence on a watch after which a heartbeat is sent."] = 15.0
    drain_grace: Annotated[
        float, kinds.seconds(0, 600), "Time that running calls get to finish when the server stops."
    ] = 20.0
    max_connection_age: Annotated[
        float,
        kinds.seconds(0, 86_400),
        "Time after which clients have to connect again, and so find new replicas; 0: never.",
        "600 (10 minutes)",
    ] = 600.0
    max_message_bytes: Annotated[
        int, kinds.integer(4096, 67_108_864, "bytes"), "Largest message that is accepted.", "65536 (64 KiB)"
    ] = 65_536
    message_timeout: Annotated[
        float, kinds.seconds(0.1, 300), "Time within which a call's message must follow its headers."
    ] = 10.0
    max_connections: Annotated[
        int,
        kinds.integer(1, 1_000_000),
        "Open connections to each port; fewer if the process may not have so many files open.",
    ] = 16_384
    max_concurrent_calls: Annotated[
        int, kinds.integer(1, 1_000_000), "Open calls that are not streams; more are refused."
    ] = 4096
    max_peer_calls: Annotated[
        int, kinds.integer(1, 1_000_000), "Such calls of one peer: an API key, or an IP address without one."
    ] = 1024
    max_watches: Annotated[
        int, kinds.integer(1, 1_000_000), "Open streams that watch or play tables; more are refused."
    ] = 2048
    max_peer_watches: Annotated[int, kinds.integer(1, 1_000_000), "Such streams of one peer."] = 512
    max_request_rate: Annotated[
        int, kinds.integer(0, 1_000_000), "Requests a second of one peer, moves on streams included; 0: no limit."
    ] = 0
    max_request_burst: Annotated[
        int, kinds.integer(1, 1_000_000), "Requests that a peer may send at once after a pause."
    ] = 100
    max_key_tables: Annotated[
        int, kinds.integer(1, 1_000_000), "Unfinished tables created with one API key, on all replicas together."
    ] = 1000
    player_tables: Annotated[
        int,
        kinds.integer(0, 1_000),
        "Tables that one player may have waiting, created with a player token instead of an API key; 0: none.",
        "20 (`0` in production mode)",
    ] = 20
    trusted_proxies: Annotated[
        int, kinds.integer(0, 16), "Proxies in front that add to `x-forwarded-for`; 0: it is ignored."
    ] = 0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        kinds.choice("debug", "info", "warning", "error"),
        "Lowest level that is logged; calls are logged at `info`.",
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "console"],
        kinds.choice("auto", "json", "console"),
        "`auto` is `console` at a terminal, else `json`.",
    ] = "auto"
    table_id_in_logs: Annotated[
        Literal["plain", "hashed"],
        kinds.choice("plain", "hashed"),
        "Whether logs show table ids or a hash of them.",
    ] = "plain"
    clock_tolerance: Annotated[
        float,
        kinds.seconds(0, 60),
        "Time by which the clocks of replicas may differ: what is due at a table is carried out that much later.",
    ] = 1.0
    table_ttl: Annotated[
        float,
        kinds.seconds(60, 315_360_000),
        "Time after which an untouched table is removed.",
        "2592000 (30 days)",
    ] = 2_592_000.0
    reflection: Annotated[bool, kinds.switch(), "Whether clients may ask for the contract (gRPC reflection)."] = True
    ready_file: Annotated[
        Path | None,
        kinds.path(),
        "JSON file with `address`, `metrics_address`, `web_address` and `pid`, present while the server serves.",
        "none",
    ] = None
    workers: Annotated[
        int, kinds.integer(1, 64), "Processes that share the port; limits of calls and watches hold for each of them."
    ] = 1
    uvloop: Annotated[bool, kinds.switch(), "Whether to run on uvloop where it is installed."] = True

    @property
    def redacted_store(self) -> str:
        """Return the store's URL without password and query, as it may be logged; the user's name stays."""
        scheme, _, rest = self.store.partition("://")
        rest = rest.partition("?")[0]
        credentials, at, place = rest.rpartition("@")
        return f"{scheme}://{credentials.partition(':')[0] + at if at else ''}{place}"

    @property
    def max_stream_age(self) -> float:
        """Return the seconds after which a stream is to be opened again: longer than connections last, or infinity."""
        return _MAX_AGE_FACTOR * self.max_connection_age if self.max_connection_age else math.inf

    def limits(self) -> Limits:
        """Return the limits of a replica."""
        return Limits(*[getattr(self, name) for name in Limits._fields])

    def tls_files(self) -> TlsFiles:
        """Return the files of a server with TLS, not yet read. Raise TlsError if certificate or key is not given."""
        if self.tls_cert_file is None or self.tls_key_file is None:
            raise TlsError("certificate and key are needed")
        return TlsFiles(self.tls_cert_file, self.tls_key_file, self.tls_client_ca_file if self.tls == "mtls" else None)
