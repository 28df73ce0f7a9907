"""`buraco migrate`: brings the store's schema up to date before the replicas that need it start."""

from __future__ import annotations

import asyncio
import os

import click

from buraco_service.configuration.loading import SettingsError, load_store
from buraco_service.stores.base import StoreError
from buraco_service.stores.schema import migrate_store

CHECK_FAILED = 3
"""Exit status if migrations are due."""


@click.command("migrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", metavar="URL", help="Where the tables are kept [BURACO_STORE, as for buraco serve].")
@click.option("--check", is_flag=True, help="Change nothing; end with status 3 if migrations are due.")
def migrate(store: str | None, check: bool) -> None:
    """Bring the schema of the store up to date.

    Run it before the replicas of a new version start, with a role that may create tables. It may be repeated, also by
    several at once, and replicas of the version before keep serving. Only PostgreSQL needs it.
    """
    try:
        url = load_store(os.environ, store)
        report = asyncio.run(migrate_store(url, apply=not check))
    except (SettingsError, StoreError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(report.text)
    if report.due:
        raise SystemExit(CHECK_FAILED)
