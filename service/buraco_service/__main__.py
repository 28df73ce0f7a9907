"""Runs the command `buraco` as `python -m buraco_service`."""

from buraco_service.commands.cli import main

main(prog_name="buraco")
