"""`python -m buraco_service` is the command `buraco`."""

from buraco_service.cli import main

main(prog_name="buraco")
