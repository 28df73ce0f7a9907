"""What is wrong with a value from elsewhere: every problem with its path, all of them reported at once."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
D = TypeVar("D")

MAX_PROBLEMS: Final = 100
"""Problems of one value that are reported; those found after them are left out."""

Path: TypeAlias = "str | int | tuple[Path, ...]"
"""A field: its name, the index of an item, or the steps to it, which are joined only when there is a problem."""


class Problem(NamedTuple):
    """One thing that is wrong with a value."""

    path: str
    """The field at fault within the value, `sides[0].melds[2]`; "" is the value as a whole."""
    problem: str


class ValidationError(ValueError):
    """A value cannot be used; `problems` lists what is wrong with it.

    >>> str(ValidationError([Problem("seats", "2 or 4, not 3"), Problem("deal", "must be given")]))
    'seats: 2 or 4, not 3; deal: must be given'
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: Final = tuple(problems)
        super().__init__("; ".join([f"{path}: {problem}" for path, problem in self.problems]))


class Problems:
    """Collects what is wrong with a value while it is read or checked.

    >>> problems = Problems()
    >>> problems.add(("hands", 1), "is empty")
    >>> problems.raise_if_any()
    Traceback (most recent call last):
    buraco_rules.problems.ValidationError: hands[1]: is empty
    """

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def __bool__(self) -> bool:
        """Return True if there is any problem."""
        return bool(self._found)

    def add(self, path: Path, problem: str) -> None:
        """Add a problem; leave it out if there are MAX_PROBLEMS."""
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(Problem(join_path(path), problem))

    def add_all(self, path: Path, problems: Iterable[Problem]) -> None:
        """Add the problems of a part of the value: of what `path` names."""
        for inner, problem in problems:
            self.add((path, inner), problem)

    def collect(self, read: Callable[[], T], otherwise: D, path: Path = "") -> T | D:
        """Return what `read` returns; where it raises ValidationError, add its problems and return `otherwise`."""
        try:
            return read()
        except ValidationError as error:
            self.add_all(path, error.problems)
            return otherwise

    def error(self) -> Exception:
        """Return the error that reports all problems, for the caller to raise."""
        return ValidationError(self._found)

    def raise_if_any(self) -> None:
        """Raise ValidationError if there is any problem."""
        if self._found:
            raise self.error()


def join_path(path: Path) -> str:
    """Return a path as text, empty names left out.

    >>> join_path(("deal.hands", 1, "cards", 3))
    'deal.hands[1].cards[3]'
    """
    if isinstance(path, str):
        return path
    if isinstance(path, int):
        return f"[{path}]"
    text = ""
    for step in map(join_path, path):
        text += f".{step}" if text and step and not step.startswith("[") else step
    return text
