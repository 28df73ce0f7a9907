"""Loads the settings from the environment and the command line.

A flag wins over the environment, the environment over the default; an empty variable counts as not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from buraco_service.configuration import checks
from buraco_service.configuration.settings import Settings
from buraco_service.configuration.specs import PREFIX, SPECS, Spec

Flags = Mapping[str, str | bool | None]
"""The value of each flag by the name of its setting; None where it is not given."""


class SettingsError(Exception):
    """The settings are not valid. Each of the `problems` names the variable or flag it comes from."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def load(environment: Mapping[str, str], flags: Flags) -> Settings:
    """Return the settings, with the keys of the files they name. Raise SettingsError with all problems at once."""
    problems: list[str] = []
    values: dict[str, Any] = {}
    invalid: list[str] = []
    for spec in SPECS:
        source, raw = _find_value(spec, environment, flags)
        if raw is None:
            continue
        try:
            values[spec.name] = spec.kind.parse(raw)
        except ValueError as error:
            problems.append(_describe_problem(spec, source, raw, str(error)))
            invalid.append(spec.name)
    settings, found = checks.complete(Settings(**values), given=frozenset(values), invalid=frozenset(invalid))
    problems += found
    if problems:
        raise SettingsError(tuple(problems))
    return settings


def to_environment(environment: Mapping[str, str], flags: Flags) -> dict[str, str]:
    """Return an environment that alone gives another process the settings of this environment and these flags."""
    merged = dict(environment)
    for spec in SPECS:
        source, raw = _find_value(spec, environment, flags)
        if raw is not None and source == spec.flag:
            merged[spec.variable] = raw
    return merged


def load_store(environment: Mapping[str, str], flag: str | None) -> str:
    """Return the store's URL alone (flag, else environment, else default) for commands. Raise SettingsError."""
    (spec,) = (spec for spec in SPECS if spec.name == "store")
    source, raw = _find_value(spec, environment, {spec.name: flag})
    try:
        return spec.default if raw is None else str(spec.kind.parse(raw))
    except ValueError as error:
        raise SettingsError((_describe_problem(spec, source, raw or "", str(error)),)) from None


def find_unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that look like settings but are not, most likely misspelt, sorted."""
    known = {spec.variable for spec in SPECS}
    return tuple(sorted(name for name in environment if name.startswith(PREFIX) and name not in known))


def _find_value(spec: Spec, environment: Mapping[str, str], flags: Flags) -> tuple[str, str | None]:
    """Return the flag or variable that a setting comes from, and its text; None where it has its default."""
    given = flags.get(spec.name)
    if given is not None and spec.flag is not None:
        return spec.flag, str(given).lower() if isinstance(given, bool) else given
    return spec.variable, environment.get(spec.variable) or None


def _describe_problem(spec: Spec, source: str, raw: str, problem: str) -> str:
    if spec.kind.is_secret:
        return f"{source} {problem}"
    shown = raw if len(raw) <= 40 else raw[:37] + "..."
    hint = ""
    if raw.startswith("tcp://"):
        hint = "; Kubernetes sets this variable for a Service of that name: set enableServiceLinks to false"
    return f"{source} {shown!r} {problem}{hint}"
