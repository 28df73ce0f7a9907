"""What a bot is made of, which distinguishes the results of its versions."""

from __future__ import annotations

import hashlib
import inspect
import shutil
from pathlib import Path
from typing import Any

from buraco_bots.bot import name_of
from buraco_bots.programs import ProgramFactory
from buraco_bots.registry import load_factory


def describe_bot(bot: str) -> dict[str, Any]:
    """Return a bot's own name and version, and the SHA-256 of the files that it is made of. Raise UnknownBot.

    These are the files of its package, data included, or its module alone if it is in no package; of a program those
    that its command names.
    """
    factory = load_factory(bot)
    made_by = inspect.unwrap(getattr(factory, "func", factory))
    digest = hashlib.sha256()
    for file in _files_of(made_by):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return {"name": name_of(made_by), "version": getattr(made_by, "version", ""), "sha256": digest.hexdigest()}


def _files_of(made_by: Any) -> list[Path]:
    if isinstance(made_by, ProgramFactory):
        program, *words = made_by.command
        files = [Path(word) for word in (shutil.which(program) or program, *words)]
        return [file for file in files if file.is_file()]
    try:
        source = inspect.getsourcefile(made_by)
    except TypeError:  # made by an object, or by what is compiled
        source = inspect.getsourcefile(type(made_by))
    if source is None:
        return []
    module = Path(source)
    if not (module.parent / "__init__.py").exists():
        return [module]
    return sorted([file for file in module.parent.iterdir() if file.suffix in (".py", ".json")])
