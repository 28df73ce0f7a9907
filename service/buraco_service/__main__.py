"""`python -m buraco_service` is the command `buraco`."""

from buraco_service.commands.cli import main

main(prog_name="buraco")
