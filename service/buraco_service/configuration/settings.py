"""The settings of `buraco serve`.

Each is declared once, below: its name (from which its environment variable BURACO_NAME and its flag --name
follow), default, unit, range and meaning. The command line's options, the checks and the documented table are
all made from these declarations. A flag wins over the environment, the environment over the default; an empty
variable counts as not set.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import click

from buraco_service.access.admission import Limits
from buraco_service.access.api_keys import ApiKey
from buraco_service.access.seat_tokens import SigningKey
from buraco_service.access.tls import TlsError, TlsFiles
from buraco_service.configuration import checks, kinds
from buraco_service.configuration.kinds import Kind

_PREFIX = "BURACO_"
# gRPC ends a connection up to a tenth before or after its age, so that not all end at once.
_LATEST_AGE = 1.1


class SettingsError(Exception):
    """The settings cannot be used: `problems` names everything wrong, with the variable or flag it came from."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Spec(NamedTuple):
    """The declaration of one setting."""

    name: str
    default: str
    kind: Kind
    meaning: str

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return _PREFIX + self.name.upper()

    @property
    def flag(self) -> str | None:
        """Its flag. Keys have none: every user of a machine can read command lines."""
        return "--" + self.name.replace("_", "-") if self.kind.flag else None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, checked. Times in seconds, sizes in bytes.

    Each is annotated with how it is written, what it means, and (where the plain value would not do) its
    default in words.
    """

    host: Annotated[str, kinds.text(), "Address to serve at; `0.0.0.0` or `::` for every interface."] = "127.0.0.1"
    port: Annotated[int, kinds.integer(0, 65535), "Port to serve at; 0 takes a free one."] = 50051
    metrics_host: Annotated[str, kinds.text(), "Address to serve metrics at."] = "127.0.0.1"
    metrics_port: Annotated[
        int, kinds.integer(-1, 65535), "Port to serve metrics at over HTTP; 0 takes a free one, -1 serves none."
    ] = 9464
    store: Annotated[str, kinds.store_url(), "Where the tables are kept."] = dataclasses.field(
        default="sqlite:///buraco.db", repr=False
    )
    mode: Annotated[
        Literal["development", "production"],
        kinds.choice("development", "production"),
        "`production` refuses to start without signing keys, and unless `tls` is given, be it `off`.",
    ] = "development"
    tls: Annotated[
        Literal["off", "tls", "mtls"],
        kinds.choice("off", "tls", "mtls"),
        "`tls` encrypts, `mtls` admits clients with a certificate of the client CA alone; `off` is plain text.",
    ] = "off"
    tls_cert_file: Annotated[Path | None, kinds.path(), "PEM file with the certificate and its chain.", "none"] = None
    tls_key_file: Annotated[Path | None, kinds.path(), "PEM file with the certificate's private key.", "none"] = None
    tls_client_ca_file: Annotated[
        Path | None, kinds.path(), "PEM file with the CAs of client certificates, for `mtls`.", "none"
    ] = None
    signing_keys: Annotated[
        tuple[SigningKey, ...],
        kinds.signing_keys(),
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
        kinds.api_keys(),
        "Keys of programs that may use RulesService and CreateTable. None: everybody may.",
        "none",
    ] = dataclasses.field(default=(), repr=False)
    api_keys_file: Annotated[
        Path | None,
        kinds.path(),
        "File with those keys, one a line; a name may stand twice while its secret is exchanged.",
        "none",
    ] = None
    reload_interval: Annotated[
        float,
        kinds.seconds(0.1, 3600),
        "Time between looks at the files of certificates and keys; those that changed are read anew.",
    ] = 10.0
    token_ttl: Annotated[float, kinds.seconds(60, 31_536_000), "Life of a seat token.", "604800 (7 days)"] = 604_800.0
    heartbeat: Annotated[float, kinds.seconds(0.1, 300), "Silence on a watch after which a heartbeat is sent."] = 15.0
    drain_grace: Annotated[
        float, kinds.seconds(0, 600), "Time that calls get to finish when the server is told to stop."
    ] = 20.0
    max_connection_age: Annotated[
        float,
        kinds.seconds(0, 86_400),
        "Time after which clients are made to connect anew, which finds them new replicas; 0: never.",
        "600 (10 minutes)",
    ] = 600.0
    max_message_bytes: Annotated[
        int, kinds.integer(4096, 67_108_864, "bytes"), "Largest message that is accepted.", "1048576 (1 MiB)"
    ] = 1_048_576
    max_concurrent_calls: Annotated[
        int, kinds.integer(1, 1_000_000), "Calls served at a time, streams apart; more are refused."
    ] = 4096
    max_watches: Annotated[
        int, kinds.integer(1, 1_000_000), "Streams that watch or play tables at a time; more are refused."
    ] = 2048
    max_peer_watches: Annotated[
        int, kinds.integer(1, 1_000_000), "Such streams of one peer: an API key, or an IP address without one."
    ] = 512
    max_request_rate: Annotated[
        int, kinds.integer(0, 1_000_000), "Requests a second of one peer, moves on streams included; 0: no limit."
    ] = 0
    max_request_burst: Annotated[
        int, kinds.integer(1, 1_000_000), "Requests that a peer may send at once after a pause."
    ] = 100
    max_key_tables: Annotated[
        int, kinds.integer(1, 1_000_000), "Unfinished tables created with one API key, on all replicas together."
    ] = 1000
    trusted_proxies: Annotated[
        int, kinds.integer(0, 16), "Proxies in front that add to `x-forwarded-for`; 0: it is not believed."
    ] = 0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        kinds.choice("debug", "info", "warning", "error"),
        "Least level that is logged; calls are logged at `info`.",
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
        "JSON file with `address`, `metrics_address` and `pid`, there while the server serves.",
        "none",
    ] = None
    workers: Annotated[
        int, kinds.integer(1, 64), "Processes that share the port; limits of calls and watches hold for each of them."
    ] = 1
    uvloop: Annotated[bool, kinds.switch(), "Whether to run on uvloop instead of asyncio's own loop."] = False

    @property
    def store_shown(self) -> str:
        """The store's URL without its password and query, fit to be logged."""
        scheme, _, rest = self.store.partition("://")
        rest = rest.partition("?")[0]
        credentials, at, place = rest.rpartition("@")
        return f"{scheme}://{credentials.partition(':')[0] + at if at else ''}{place}"

    @property
    def max_stream_age(self) -> float:
        """Seconds after which a stream is to be opened anew; by then a client has left a connection of that age."""
        return _LATEST_AGE * self.max_connection_age if self.max_connection_age else math.inf

    def limits(self) -> Limits:
        """Those of a replica."""
        return Limits(*[getattr(self, name) for name in Limits._fields])

    def tls_files(self) -> TlsFiles:
        """The files of a server with TLS. Raises TlsError where they are not given."""
        if self.tls_cert_file is None or self.tls_key_file is None:
            raise TlsError("certificate and key are needed")
        return TlsFiles(self.tls_cert_file, self.tls_key_file, self.tls_client_ca_file if self.tls == "mtls" else None)


def specs() -> tuple[Spec, ...]:
    """The declarations of all settings, in the order of the documentation."""
    hints = get_type_hints(Settings, include_extras=True)
    found = []
    for field in dataclasses.fields(Settings):
        kind, meaning, *words = hints[field.name].__metadata__
        plain = str(field.default).lower() if kind.switch else str(field.default).removesuffix(".0")
        found.append(Spec(field.name, words[0] if words else plain, kind, meaning))
    return tuple(found)


def load(environment: Mapping[str, str], flags: Mapping[str, str | bool | None]) -> Settings:
    """The settings from the environment and the flags (name of the setting -> value, None when not given).

    Raises SettingsError that names everything wrong at once.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    broken: list[str] = []
    for spec in specs():
        source, raw = _source(spec, environment, flags)
        if raw is None:
            continue
        try:
            values[spec.name] = spec.kind.read(raw)
        except ValueError as error:
            problems.append(_problem(spec, source, raw, str(error)))
            broken.append(spec.name)
    settings, found = checks.completed(Settings(**values), given=frozenset(values), broken=frozenset(broken))
    problems += found
    if problems:
        raise SettingsError(tuple(problems))
    return settings


def as_environment(environment: Mapping[str, str], flags: Mapping[str, str | bool | None]) -> dict[str, str]:
    """An environment that says for another process what the environment and the flags say for this one."""
    said = dict(environment)
    for spec in specs():
        source, raw = _source(spec, environment, flags)
        if raw is not None and source == spec.flag:
            said[spec.variable] = raw
    return said


def load_store(environment: Mapping[str, str], flag: str | None) -> str:
    """The store's URL alone, for commands that need no other setting. Raises SettingsError."""
    (spec,) = (spec for spec in specs() if spec.name == "store")
    source, raw = _source(spec, environment, {spec.name: flag})
    try:
        return spec.default if raw is None else str(spec.kind.read(raw))
    except ValueError as error:
        raise SettingsError((_problem(spec, source, raw or "", str(error)),)) from None


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that look like settings but are none: most likely misspelt."""
    known = {spec.variable for spec in specs()}
    return tuple(sorted(name for name in environment if name.startswith(_PREFIX) and name not in known))


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a click command one option for each setting: text (switches: bool), or None when not given."""
    for spec in reversed(specs()):
        if spec.flag is None:
            continue
        declaration = f"{spec.flag}/--no-{spec.flag[2:]}" if spec.kind.switch else spec.flag
        command = click.option(
            declaration,
            spec.name,
            default=None,
            metavar=spec.kind.metavar,
            help=_plain(f"{spec.meaning} [{spec.variable}; {spec.kind.values}; default: {spec.default}]"),
        )(command)
    return command


def settings_table() -> str:
    """The settings as a Markdown table."""
    lines = ["| Environment | Flag | Default | Values | Meaning |", "| --- | --- | --- | --- | --- |"]
    for spec in specs():
        flag = "none" if spec.flag is None else f"`{spec.flag}`"
        if spec.kind.switch:
            flag += f", `--no-{spec.name.replace('_', '-')}`"
        value, _, note = spec.default.partition(" ")
        default = value if value == "none" else f"`{value}` {note}".strip()
        lines.append(f"| `{spec.variable}` | {flag} | {default} | {spec.kind.values} | {spec.meaning} |")
    return "\n".join(lines) + "\n"


def _source(
    spec: Spec, environment: Mapping[str, str], flags: Mapping[str, str | bool | None]
) -> tuple[str, str | None]:
    given = flags.get(spec.name)
    if given is not None and spec.flag is not None:
        return spec.flag, str(given).lower() if isinstance(given, bool) else given
    return spec.variable, environment.get(spec.variable) or None


def _problem(spec: Spec, source: str, raw: str, what: str) -> str:
    if not spec.kind.shown:
        return f"{source} {what}"
    shown = raw if len(raw) <= 40 else raw[:37] + "..."
    hint = ""
    if raw.startswith("tcp://"):
        hint = "; Kubernetes sets this variable for a Service of that name: set enableServiceLinks to false"
    return f"{source} {shown!r} {what}{hint}"


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("\\|", "|")
