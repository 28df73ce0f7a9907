"""The declarations of the settings as data: options of a command line, and the documented table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, NamedTuple, get_type_hints

import click

from buraco_service.configuration.kinds import Kind
from buraco_service.configuration.settings import Settings

PREFIX: Final = "BURACO_"
"""With it the name of every environment variable begins."""


class Spec(NamedTuple):
    """The declaration of one setting."""

    name: str
    default: str
    kind: Kind
    meaning: str

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str | None:
        """Its flag. Keys have none: every user of a machine can read command lines."""
        return "--" + self.name.replace("_", "-") if self.kind.flag else None


def specs() -> tuple[Spec, ...]:
    """The declarations of all settings, in the order of the documentation."""
    hints = get_type_hints(Settings, include_extras=True)
    found = []
    for field in dataclasses.fields(Settings):
        kind, meaning, *words = hints[field.name].__metadata__
        plain = str(field.default).lower() if kind.switch else str(field.default).removesuffix(".0")
        found.append(Spec(field.name, words[0] if words else plain, kind, meaning))
    return tuple(found)


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


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("\\|", "|")
