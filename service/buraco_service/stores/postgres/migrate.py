"""`buraco migrate` for PostgreSQL: connects with the rights that the URL gives, and applies what is due."""

from __future__ import annotations

from buraco_service.stores.postgres.connect import connect, parse, translated
from buraco_service.stores.postgres.schema import due, migrations, schema_version
from buraco_service.stores.postgres.schema import migrate as apply_migrations


async def migrate(rest: str, *, apply: bool) -> tuple[str, tuple[str, ...]]:
    """What was found or done, and the names of the migrations still due. See `schema.migrate_store`."""
    known = migrations()
    db = await connect(parse(rest))
    try:
        await db.execute("SET statement_timeout = 0")  # a migration takes what time it needs
        applied = await apply_migrations(db, known) if apply else []
        found = await schema_version(db)
        lacking = tuple(migration.name for migration in due(found, known))
    except Exception as error:
        raise translated(error) from error
    finally:
        await db.close(timeout=1.0)
    text = f"PostgreSQL: schema version {found.version}, this program knows {len(known)}"
    if applied:
        text += f"; applied {', '.join(applied)}"
    elif lacking:
        text += f"; due: {', '.join(lacking)}"
    else:
        text += "; nothing to do"
    return text, lacking
