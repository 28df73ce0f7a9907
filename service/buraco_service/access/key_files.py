"""Files of keys, read so that no error quotes what may be a secret."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def read_key_file(path: Path, parse: Callable[[str], T]) -> T:
    """Return what `parse` makes of the text of a file.

    Raise ValueError, which names the file, if the file cannot be read, is not UTF-8, or `parse` raises ValueError.
    """
    try:
        return parse(path.read_text("utf-8"))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        problem = "is not a text in UTF-8"
    except ValueError as error:
        problem = str(error)
    raise ValueError(f"{str(path)!r} {problem}")
