"""The command `buraco`: a group whose subcommands are entry points, imported only when they are called.

So a command works wherever its own dependencies are installed.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points, version

import click

DISTRIBUTION = "buraco"
ENTRY_POINTS = "buraco.commands"


class LazyGroup(click.Group):
    """A group that finds its subcommands in the entry-point group `buraco.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or one that fails with what to install; None for an unknown name."""
        found = _commands().get(cmd_name)
        if found is None:
            return None
        try:
            command = found.load()
        except ModuleNotFoundError as error:
            return _create_missing_command(cmd_name, found, error.name)
        if not isinstance(command, click.Command):
            raise TypeError(f"the entry point {found.value} is not a click command")
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, prog_name="buraco")
def main() -> None:
    """Buraco: serve games over gRPC, and let bots play them."""


def distribution_version() -> str:
    """Return the version of the installed distribution."""
    return version(DISTRIBUTION)


def _commands() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _create_missing_command(name: str, point: EntryPoint, module: str | None) -> click.Command:
    """Return a command that fails with what to install, and with which extra.

    The message names a checkout or a wheel: the distribution is on no index, and its name there may be another's.
    """
    extra = "server" if point.module.startswith("buraco_service") else "bots"
    message = f"not installed here (no module {module}): pip install '.[{extra}]' in a checkout, or 'WHEEL[{extra}]'"

    @click.command(
        name,
        short_help=f"({message})",
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(f"`buraco {name}` is {message}")

    return command
