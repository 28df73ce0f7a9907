"""The mutation run sees all of the code, and excuses only mutants of code that exists."""

import ast
import runpy
from pathlib import Path

import pytest

from tests.mutation.verdicts import justified
from tests.mutation.workshop import JUDGES, ROOT, RULES, path_of, undecorated


@pytest.mark.parametrize("path", sorted(RULES.rglob("*.py")), ids=lambda path: path.relative_to(RULES).as_posix())
def test_no_function_hides(path: Path) -> None:
    """No function of the rules is left with a decorator, which would keep mutmut from it."""
    tree = ast.parse(undecorated(path.read_text()))
    functions = [*tree.body, *(node for part in tree.body if isinstance(part, ast.ClassDef) for node in part.body)]
    assert [node.name for node in functions if isinstance(node, ast.FunctionDef) and node.decorator_list] == []


def test_rewritten_decorators_mean_the_same(tmp_path: Path) -> None:
    """A property and a cached function, written as assignments, are still what they were."""
    source = (
        "from functools import lru_cache\n"
        "class Box:\n"
        "    @property\n"
        "    def size(self):\n"
        "        return 7\n"
        "@lru_cache(\n"
        "    maxsize=2\n"
        ")\n"
        "def twice(number):\n"
        "    return 2 * number\n"
    )
    (tmp_path / "module.py").write_text(undecorated(source))
    assert "@" not in undecorated(source)
    names = runpy.run_path(str(tmp_path / "module.py"))
    box, twice = names["Box"], names["twice"]
    assert (box().size, twice(4), twice.cache_info().maxsize) == (7, 8, 2)


def test_justified_mutants_change_code_that_exists() -> None:
    """What a justified mutant changes stands in its module, and a reason tells why it may live."""
    for change, reason in justified().items():
        code = " ".join(path_of(change.module).read_text().split())
        assert change.before in code, change
        assert change.after not in ("", change.before), change
        assert reason, change


def test_judges_exist() -> None:
    """The tests that judge mutants are where the run looks for them."""
    assert [judge for judge in JUDGES if not (ROOT / judge.partition("::")[0]).is_file()] == []
