"""The settings of `buraco serve`.

Each is declared once, below: its name (from which its environment variable BURACO_NAME and its flag --name
follow), default, unit, range and meaning. The command line's options, the checks and the documented table are
all made from these declarations. A flag wins over the environment, the environment over the default; an empty
variable counts as not set.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import click

from buraco_service.identity import MIN_SECRET_BYTES, SigningKey

_PREFIX = "BURACO_"
_KID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ON = ("true", "on", "yes", "1")
_OFF = ("false", "off", "no", "0")


class SettingsError(Exception):
    """The settings cannot be used: `problems` names everything wrong, with the variable or flag it came from."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Kind(NamedTuple):
    """How a setting is written: its values in words, and how one is read (a ValueError says what is wrong)."""

    values: str
    read: Callable[[str], Any]
    metavar: str | None = None
    switch: bool = False
    # Values that hold secrets are never shown again.
    shown: bool = True
    flag: bool = True


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


def _text() -> Kind:
    return Kind("text", _read_text, "TEXT")


def _read_text(raw: str) -> str:
    if not raw.strip():
        raise ValueError("is empty")
    return raw.strip()


def _integer(low: int, high: int, unit: str = "") -> Kind:
    values = f"{low} to {high}{' ' + unit if unit else ''}"

    def read(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError(f"is not a whole number ({values})") from None
        if not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, read, unit.upper() or "NUMBER")


def _seconds(low: float, high: float) -> Kind:
    values = f"{low:g} to {high:.10g} seconds"

    def read(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise ValueError(f"is not a number ({values})") from None
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, read, "SECONDS")


def _choice(*values: str) -> Kind:
    def read(raw: str) -> str:
        if raw not in values:
            raise ValueError(f"is none of {', '.join(values)}")
        return raw

    return Kind(" \\| ".join(f"`{value}`" for value in values), read, "WORD")


def _switch() -> Kind:
    def read(raw: str) -> bool:
        if raw.lower() in _ON:
            return True
        if raw.lower() in _OFF:
            return False
        raise ValueError("is neither true nor false")

    return Kind("`true` \\| `false`", read, switch=True)


def _path() -> Kind:
    return Kind("path", lambda raw: Path(_read_text(raw)), "FILE")


def _store_url() -> Kind:
    def read(raw: str) -> str:
        if not re.match(r"[a-z][a-z0-9+]*://", raw):
            raise ValueError("is not a URL such as sqlite:///buraco.db")
        return raw

    return Kind("URL", read, "URL", shown=False)


def _keys() -> Kind:
    def read(raw: str) -> tuple[SigningKey, ...]:
        return _read_keys((pair.partition(":")[::2] for pair in raw.split(",") if pair.strip()), "KID:SECRET")

    return Kind(
        f"`KID:SECRET`, comma separated; secrets of {MIN_SECRET_BYTES} bytes or more",
        read,
        shown=False,
        flag=False,
    )


def _read_keys(pairs: Iterable[Sequence[str]], form: str) -> tuple[SigningKey, ...]:
    """Signing keys from (kid, secret) texts. The ValueError for bad ones never quotes what may be a secret."""
    keys: list[SigningKey] = []
    for number, (name, text) in enumerate(pairs, 1):
        kid, secret = name.strip(), text.strip().encode()
        if not secret:
            raise ValueError(f"has no secret in key {number}: write it as {form}")
        if not _KID.fullmatch(kid):
            raise ValueError(f"has a bad kid in key {number}: 1 to 64 letters, digits and . _ - are allowed")
        if len(secret) < MIN_SECRET_BYTES:
            raise ValueError(f"has a secret of {len(secret)} bytes in key {number}; {MIN_SECRET_BYTES} are needed")
        if any(key.kid == kid for key in keys):
            raise ValueError(f"has the kid of key {number} twice")
        keys.append(SigningKey(kid, secret))
    if not keys:
        raise ValueError("has no key")
    return tuple(keys)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, checked. Times in seconds, sizes in bytes.

    Each is annotated with how it is written, what it means, and (where the plain value would not do) its
    default in words.
    """

    host: Annotated[str, _text(), "Address to serve at; `0.0.0.0` or `::` for every interface."] = "127.0.0.1"
    port: Annotated[int, _integer(0, 65535), "Port to serve at; 0 takes a free one."] = 50051
    metrics_host: Annotated[str, _text(), "Address to serve metrics at."] = "127.0.0.1"
    metrics_port: Annotated[
        int, _integer(-1, 65535), "Port to serve metrics at over HTTP; 0 takes a free one, -1 serves none."
    ] = 9464
    store: Annotated[str, _store_url(), "Where the tables are kept."] = dataclasses.field(
        default="sqlite:///buraco.db", repr=False
    )
    mode: Annotated[
        Literal["development", "production"],
        _choice("development", "production"),
        "`production` refuses to start without signing keys.",
    ] = "development"
    signing_keys: Annotated[
        tuple[SigningKey, ...],
        _keys(),
        "Keys of the seat tokens: the first signs, all verify. None: a random key (development only).",
        "none",
    ] = dataclasses.field(default=(), repr=False)
    signing_keys_file: Annotated[
        Path | None,
        _path(),
        "File with the keys of the seat tokens: `KID SECRET` a line; empty lines and `#` lines are skipped.",
        "none",
    ] = None
    token_ttl: Annotated[float, _seconds(60, 31_536_000), "Life of a seat token.", "604800 (7 days)"] = 604_800.0
    heartbeat: Annotated[float, _seconds(0.1, 300), "Silence on a watch after which a heartbeat is sent."] = 15.0
    drain_grace: Annotated[
        float, _seconds(0, 600), "Time that calls get to finish when the server is told to stop."
    ] = 20.0
    max_message_bytes: Annotated[
        int, _integer(4096, 67_108_864, "bytes"), "Largest message that is accepted.", "1048576 (1 MiB)"
    ] = 1_048_576
    max_concurrent_calls: Annotated[
        int, _integer(1, 1_000_000), "Calls served at a time, streams included; more are refused."
    ] = 4096
    max_watches: Annotated[
        int, _integer(1, 1_000_000), "Streams that watch or play tables at a time; more are refused."
    ] = 2048
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        _choice("debug", "info", "warning", "error"),
        "Least level that is logged; calls are logged at `info`.",
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "console"],
        _choice("auto", "json", "console"),
        "`auto` is `console` at a terminal, else `json`.",
    ] = "auto"
    table_id_in_logs: Annotated[
        Literal["plain", "hashed"],
        _choice("plain", "hashed"),
        "Whether logs show table ids or a hash of them.",
    ] = "plain"
    table_ttl: Annotated[
        float,
        _seconds(60, 315_360_000),
        "Time after which an untouched table is removed.",
        "2592000 (30 days)",
    ] = 2_592_000.0
    reflection: Annotated[bool, _switch(), "Whether clients may ask for the contract (gRPC reflection)."] = True
    ready_file: Annotated[
        Path | None,
        _path(),
        "JSON file with `address`, `metrics_address` and `pid`, there while the server serves.",
        "none",
    ] = None
    uvloop: Annotated[bool, _switch(), "Whether to run on uvloop instead of asyncio's own loop."] = False

    @property
    def store_shown(self) -> str:
        """The store's URL without its password and query, fit to be logged."""
        scheme, _, rest = self.store.partition("://")
        rest = rest.partition("?")[0]
        credentials, at, place = rest.rpartition("@")
        return f"{scheme}://{credentials.partition(':')[0] + at if at else ''}{place}"


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
    for spec in specs():
        source, raw = _source(spec, environment, flags)
        if raw is None:
            continue
        try:
            values[spec.name] = spec.kind.read(raw)
        except ValueError as error:
            problems.append(_problem(spec, source, raw, str(error)))
    settings = Settings(**values)
    broken = {problem.partition(" ")[0] for problem in problems}
    if settings.signing_keys_file is not None:
        if settings.signing_keys:
            problems.append("BURACO_SIGNING_KEYS and BURACO_SIGNING_KEYS_FILE are both given: give one")
        try:
            settings = dataclasses.replace(settings, signing_keys=_keys_of_file(settings.signing_keys_file))
        except ValueError as error:
            problems.append(f"BURACO_SIGNING_KEYS_FILE {str(settings.signing_keys_file)!r} {error}")
    elif settings.mode == "production" and not settings.signing_keys and "BURACO_SIGNING_KEYS" not in broken:
        problems.append("BURACO_SIGNING_KEYS or BURACO_SIGNING_KEYS_FILE is needed in production mode")
    if settings.max_watches > settings.max_concurrent_calls:
        problems.append(
            f"BURACO_MAX_WATCHES {settings.max_watches} is more than BURACO_MAX_CONCURRENT_CALLS"
            f" {settings.max_concurrent_calls}, and every watch is a call"
        )
    if settings.uvloop and importlib.util.find_spec("uvloop") is None:
        problems.append("BURACO_UVLOOP is on, but uvloop is not installed")
    if problems:
        raise SettingsError(tuple(problems))
    return settings


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


def _keys_of_file(path: Path) -> tuple[SigningKey, ...]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not a text in UTF-8") from None
    lines = (line.strip() for line in text.splitlines())
    pairs = ((*line.split(None, 1), "")[:2] for line in lines if line and not line.startswith("#"))
    return _read_keys(pairs, "KID SECRET")


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("\\|", "|")
