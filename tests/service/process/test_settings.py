from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from buraco_service.configuration import loading, specs
from buraco_service.configuration.loading import SettingsError, load
from buraco_service.configuration.settings import Settings

SECRET = "0123456789abcdef0123456789abcdef"
OTHER_SECRET = "fedcba9876543210fedcba9876543210"


def problems_of(environment: dict[str, str], flags: dict[str, str | bool | None] | None = None) -> tuple[str, ...]:
    """Return the problems of the settings."""
    with pytest.raises(SettingsError) as caught:
        load(environment, flags or {})
    return caught.value.problems


def test_defaults() -> None:
    """Without environment and flags every setting has its documented default."""
    assert load({}, {}) == Settings()
    assert Settings().port == 50051
    assert Settings().store == "sqlite:///buraco.db"
    assert Settings().mode == "development"


def test_flag_wins_over_environment_over_default() -> None:
    """A flag wins over the environment, and the environment over the default."""
    loaded = load({"BURACO_PORT": "1000", "BURACO_HEARTBEAT": "2.5"}, {"port": "2000", "heartbeat": None})
    assert (loaded.port, loaded.heartbeat, loaded.drain_grace) == (2000, 2.5, 20.0)


def test_age_of_streams() -> None:
    """A stream is opened again after its connection has ended, so over another; with 0 both have no age limit."""
    assert load({"BURACO_MAX_CONNECTION_AGE": "60"}, {}).max_stream_age == pytest.approx(66.0)
    assert load({"BURACO_MAX_CONNECTION_AGE": "0"}, {}).max_stream_age == math.inf


def test_settings_for_another_process() -> None:
    """An environment alone gives the same settings as environment and flags; its other variables stay."""
    environment = {"PATH": "/bin", "BURACO_PORT": "1000", "BURACO_SIGNING_KEYS": f"k1:{SECRET}"}
    flags: dict[str, str | bool | None] = {"port": "2000", "uvloop": False, "reflection": None, "workers": "2"}
    merged = loading.to_environment(environment, flags)
    assert load(merged, {}) == load(environment, flags)
    assert merged == environment | {"BURACO_PORT": "2000", "BURACO_UVLOOP": "false", "BURACO_WORKERS": "2"}


def test_empty_variable_is_not_set() -> None:
    """An empty environment variable counts as not set, an empty flag is an error."""
    assert load({"BURACO_HOST": ""}, {}).host == "127.0.0.1"
    assert problems_of({}, {"host": ""}) == ("--host '' is empty",)


@pytest.mark.parametrize(
    ("variable", "raw", "name", "value"),
    [
        ("BURACO_PORT", "0", "port", 0),
        ("BURACO_PORT", "65535", "port", 65535),
        ("BURACO_METRICS_PORT", "-1", "metrics_port", -1),
        ("BURACO_HEARTBEAT", "0.1", "heartbeat", 0.1),
        ("BURACO_TOKEN_TTL", "31536000", "token_ttl", 31_536_000.0),
        ("BURACO_REFLECTION", "OFF", "reflection", False),
        ("BURACO_UVLOOP", "no", "uvloop", False),
        ("BURACO_LOG_FORMAT", "console", "log_format", "console"),
        ("BURACO_READY_FILE", "/run/ready.json", "ready_file", Path("/run/ready.json")),
        ("BURACO_STORE", "redis://host:6379/0", "store", "redis://host:6379/0"),
    ],
)
def test_good_values(variable: str, raw: str, name: str, value: object) -> None:
    """A value within its range is read as what it means."""
    assert getattr(load({variable: raw}, {}), name) == value


@pytest.mark.parametrize(
    ("variable", "raw", "problem"),
    [
        ("BURACO_PORT", "http", "BURACO_PORT 'http' is not a whole number (0 to 65535)"),
        ("BURACO_PORT", "65536", "BURACO_PORT '65536' is out of range (0 to 65535)"),
        ("BURACO_METRICS_PORT", "-2", "BURACO_METRICS_PORT '-2' is out of range (-1 to 65535)"),
        ("BURACO_HEARTBEAT", "soon", "BURACO_HEARTBEAT 'soon' is not a number (0.1 to 300 seconds)"),
        ("BURACO_HEARTBEAT", "nan", "BURACO_HEARTBEAT 'nan' is out of range (0.1 to 300 seconds)"),
        ("BURACO_TOKEN_TTL", "59", "BURACO_TOKEN_TTL '59' is out of range (60 to 31536000 seconds)"),
        ("BURACO_MODE", "prod", "BURACO_MODE 'prod' is none of development, production"),
        ("BURACO_REFLECTION", "maybe", "BURACO_REFLECTION 'maybe' is neither true nor false"),
        ("BURACO_MAX_MESSAGE_BYTES", "1", "BURACO_MAX_MESSAGE_BYTES '1' is out of range (4096 to 67108864 bytes)"),
        ("BURACO_STORE", "buraco.db", "BURACO_STORE is not a URL such as sqlite:///buraco.db"),
        ("BURACO_HOST", "   ", "BURACO_HOST '   ' is empty"),
        (
            "BURACO_PORT",
            "tcp://10.0.0.1:50051",
            (
                "BURACO_PORT 'tcp://10.0.0.1:50051' is not a whole number (0 to 65535); Kubernetes sets this"
                " variable for a Service of that name: set enableServiceLinks to false"
            ),
        ),
    ],
)
def test_bad_values(variable: str, raw: str, problem: str) -> None:
    """A bad value is named with its variable, the value and what would be right."""
    assert problems_of({variable: raw}) == (problem,)


def test_all_problems_at_once() -> None:
    """Everything that is wrong is named at once, whether it came from the environment or a flag."""
    found = problems_of(
        {"BURACO_PORT": "x", "BURACO_MODE": "production", "BURACO_API_KEYS": "short:x"}, {"heartbeat": "0"}
    )
    assert [problem.split()[0] for problem in found] == [
        "BURACO_PORT",
        "BURACO_API_KEYS",
        "--heartbeat",
        "BURACO_SIGNING_KEYS",
        "BURACO_TLS",
    ]


def test_long_values_are_clipped() -> None:
    """An endless value does not make an endless message."""
    (problem,) = problems_of({"BURACO_PORT": "9" * 4000})
    assert len(problem) < 120


def test_production_needs_keys(tmp_path: Path) -> None:
    """Production mode refuses to start without signing keys, and takes them from the environment or a file."""
    (problem,) = problems_of({"BURACO_MODE": "production", "BURACO_TLS": "off"})
    assert problem == "BURACO_SIGNING_KEYS or BURACO_SIGNING_KEYS_FILE is needed in production mode"
    file = tmp_path / "keys"
    file.write_text(f"k1 {SECRET}\n")
    for given in ({"BURACO_SIGNING_KEYS": f"k1:{SECRET}"}, {"BURACO_SIGNING_KEYS_FILE": str(file)}):
        loaded = load({"BURACO_MODE": "production", "BURACO_TLS": "off", **given}, {})
        assert [(key.kid, key.secret) for key in loaded.signing_keys] == [("k1", SECRET.encode())]


def test_production_needs_tls_to_be_set() -> None:
    """Production mode serves plain text only where `tls` is set to `off`, by variable or flag."""
    production = {"BURACO_MODE": "production", "BURACO_SIGNING_KEYS": f"k1:{SECRET}"}
    (problem,) = problems_of(production)
    assert problem.startswith("BURACO_TLS is needed in production mode: ")
    assert load(production, {"tls": "off"}).tls == "off"


def test_signing_keys_keep_their_order(tmp_path: Path) -> None:
    """Keys come in the order they are given, whether in one variable or one a line."""
    by_variable = load({"BURACO_SIGNING_KEYS": f"new:{SECRET}, old:{OTHER_SECRET}"}, {})
    file = tmp_path / "keys"
    file.write_text(f"# rotated in spring\n\nnew\t{SECRET}\n  old   {OTHER_SECRET}  \n")
    by_file = load({}, {"signing_keys_file": str(file)})
    assert by_variable.signing_keys == by_file.signing_keys
    assert [key.kid for key in by_file.signing_keys] == ["new", "old"]


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ("k1:short", "has a secret of 5 bytes in key 1; 32 are needed"),
        (f"k1:{SECRET},k2:{SECRET[:31]}", "has a secret of 31 bytes in key 2; 32 are needed"),
        (f"k1:{SECRET},k1:{OTHER_SECRET}", "has the name of key 2 twice"),
        (SECRET, "has no secret in key 1: write it as NAME:SECRET"),
        (f":{SECRET}", "has a bad name in key 1: 1 to 64 letters, digits and . _ - are allowed"),
        (f"k 1:{SECRET}", "has a bad name in key 1: 1 to 64 letters, digits and . _ - are allowed"),
        (" , ", "has no key"),
    ],
)
def test_bad_keys_without_showing_them(keys: str, what: str) -> None:
    """The problem of a key shows nothing of its secret."""
    (problem,) = problems_of({"BURACO_SIGNING_KEYS": keys, "BURACO_MODE": "production", "BURACO_TLS": "off"})
    assert problem == f"BURACO_SIGNING_KEYS {what}"
    assert not any(secret[:8] in problem for secret in (SECRET, OTHER_SECRET))


def test_bad_key_files(tmp_path: Path) -> None:
    """A key file that is missing, unreadable, empty or malformed is named with its problem."""
    missing, binary, empty, malformed = (tmp_path / name for name in ("missing", "binary", "empty", "malformed"))
    binary.write_bytes(b"\xff\xfe\xff")
    empty.write_text("# nothing\n")
    malformed.write_text(f"{SECRET}\n")
    for file, what in (
        (missing, "cannot be read: No such file or directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (binary, "is not a text in UTF-8"),
        (empty, "has no key"),
        (malformed, "has no secret in key 1: write it as NAME SECRET"),
    ):
        assert problems_of({"BURACO_SIGNING_KEYS_FILE": str(file)}) == (
            f"BURACO_SIGNING_KEYS_FILE {str(file)!r} {what}",
        )


def test_keys_in_one_place_only(tmp_path: Path) -> None:
    """Keys in the environment and in a file at once are refused: it would be unclear which signs."""
    file = tmp_path / "keys"
    file.write_text(f"k1 {SECRET}\n")
    (problem,) = problems_of({"BURACO_SIGNING_KEYS": f"k2:{SECRET}", "BURACO_SIGNING_KEYS_FILE": str(file)})
    assert "are both given" in problem


def test_secrets_are_not_shown() -> None:
    """Neither keys nor the store's password appear in the representation of the settings."""
    loaded = load(
        {"BURACO_SIGNING_KEYS": f"k1:{SECRET}", "BURACO_STORE": "redis://ann:hunter2@host:6379/0?password=hunter2"}, {}
    )
    assert SECRET not in repr(loaded)
    assert SECRET not in repr(loaded.signing_keys)
    assert "hunter2" not in repr(loaded)
    assert loaded.redacted_store == "redis://ann@host:6379/0"
    assert Settings().redacted_store == "sqlite:///buraco.db"


def test_every_setting_is_documented() -> None:
    """The table has a row for each setting, with its variable, flag, default, values and meaning."""
    rows = specs.format_settings_table().splitlines()[2:]
    fields = dataclasses.fields(Settings)
    assert [row.split("`")[1] for row in rows] == [f"BURACO_{field.name.upper()}" for field in fields]
    port = next(row for row in rows if "`BURACO_PORT`" in row)
    assert port == "| `BURACO_PORT` | `--port` | `50051` | 0 to 65535 | Port to serve at; 0 takes a free one. |"
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)


def test_documented_defaults_are_the_defaults() -> None:
    """The default in the table, parsed as a setting, is the default."""
    for spec in specs.SPECS:
        if spec.default != "none":
            written = spec.default.partition(" ")[0]
            assert load({spec.variable: written}, {}) == Settings(), spec.name


def test_options_on_the_command_line() -> None:
    """A command gets an option for each setting but the keys, and gets the values that were given."""
    given: dict[str, str | bool | None] = {}

    @click.command()
    @specs.add_options
    def command(**flags: str | bool | None) -> None:
        given.update(flags)

    runner = CliRunner()
    text = runner.invoke(command, ["--help"], terminal_width=200).output
    for field in dataclasses.fields(Settings):
        shown = re.search(rf"--{field.name.replace('_', '-')}\b(?!-)", text) is not None
        assert shown is (field.name not in ("signing_keys", "api_keys")), field.name
    assert runner.invoke(command, ["--port", "7", "--no-reflection", "--no-uvloop"]).exit_code == 0
    loaded = load({}, given)
    assert (loaded.port, loaded.reflection, loaded.uvloop) == (7, False, False)


def test_misspelt_variables_are_found() -> None:
    """Variables that look like settings but are not are found."""
    assert loading.find_unknown_variables({"BURACO_PROT": "1", "BURACO_PORT": "1", "PATH": ""}) == ("BURACO_PROT",)
