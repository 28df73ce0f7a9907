"""Settings from the environment and the command line.

A flag wins over the environment, the environment over the default; an empty variable counts as not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from buraco_service.configuration import checks
from buraco_service.configuration.settings import Settings
from buraco_service.configuration.specs import PREFIX, Spec, specs


class SettingsError(Exception):
    """The settings cannot be used: `problems` names everything wrong, with the variable or flag it came from."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


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
    return tuple(sorted(name for name in environment if name.startswith(PREFIX) and name not in known))


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
