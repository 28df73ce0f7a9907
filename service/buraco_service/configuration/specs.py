"""The declarations of the settings as data, from which the command line's options and the document's table are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, NamedTuple, get_type_hints

import click

from buraco_service.configuration.kinds import Kind
from buraco_service.configuration.settings import Settings

PREFIX: Final = "BURACO_"
"""The start of every environment variable's name."""


class Spec(NamedTuple):
    """The declaration of one setting."""

    name: str
    default: str
    """As documents show it: "none" for no value, maybe followed by a note in brackets."""
    kind: Kind
    meaning: str
    """In Markdown."""

    @property
    def variable(self) -> str:
        """Return its environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str | None:
        """Return its flag, None for a kind without one."""
        return "--" + self.name.replace("_", "-") if self.kind.has_flag else None


def _read_declarations() -> tuple[Spec, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    found = []
    for field in dataclasses.fields(Settings):
        kind, meaning, *words = hints[field.name].__metadata__
        plain = str(field.default).lower() if kind.is_switch else str(field.default).removesuffix(".0")
        found.append(Spec(field.name, words[0] if words else plain, kind, meaning))
    return tuple(found)


SPECS: Final = _read_declarations()
"""All settings, in the order of the documents."""


def add_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each setting to a click command: text, for a switch a bool, or None if it is not given."""
    for spec in reversed(SPECS):
        if spec.flag is None:
            continue
        declaration = f"{spec.flag}/--no-{spec.flag[2:]}" if spec.kind.is_switch else spec.flag
        command = click.option(
            declaration,
            spec.name,
            default=None,
            metavar=spec.kind.metavar,
            help=_strip_markdown(f"{spec.meaning} [{spec.variable}; {spec.kind.values}; default: {spec.default}]"),
        )(command)
    return command


def format_settings_table() -> str:
    """Return the settings as a Markdown table."""
    lines = ["| Environment | Flag | Default | Values | Meaning |", "| --- | --- | --- | --- | --- |"]
    for spec in SPECS:
        flag = "none" if spec.flag is None else f"`{spec.flag}`"
        if spec.kind.is_switch:
            flag += f", `--no-{spec.name.replace('_', '-')}`"
        value, _, note = spec.default.partition(" ")
        default = value if value == "none" else f"`{value}` {note}".strip()
        lines.append(f"| `{spec.variable}` | {flag} | {default} | {spec.kind.values} | {spec.meaning} |")
    return "\n".join(lines) + "\n"


def _strip_markdown(markdown: str) -> str:
    return markdown.replace("`", "").replace("\\|", "|")
