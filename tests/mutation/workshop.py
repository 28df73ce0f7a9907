"""The folder in which mutmut works: the rules as it can mutate them, the tests, and its settings."""

import ast
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
RULES: Final = ROOT / "service" / "buraco_rules"
FOLDER: Final = ROOT / ".venv" / ".mutation"
MUTMUT: Final = ROOT / ".venv" / "bin" / "mutmut"
JUDGES: Final = (
    *(f"tests/rules/{path.name}" for path in sorted((ROOT / "tests" / "rules").glob("test_r[01]*.py"))),
    "tests/rules/test_known_mistakes.py",
    "tests/rules/test_seeing.py",
    "tests/rules/test_shuffle.py",
    "tests/rules/test_move_lists.py",
    "tests/rules/test_arrangements.py",
    "tests/rules/test_dead_ends.py",
    "tests/test_vectors.py::test_vectors",
)
"""The tests that say what a deal is. Those of notation and of stored positions judge other things."""
_DECORATORS: Final = ("property", "lru_cache", "ANSWERS.cached", "_LAY_OFFS.cached", "dataclass_transform")


def path_of(module: str) -> Path:
    """Return the file of a module of the rules, named as `melds.runs`."""
    return RULES.joinpath(*module.split(".")).with_suffix(".py")


def furnish(modules: Sequence[str]) -> None:
    """Make the folder anew, so that no verdict is older than the tests, for mutants of these modules."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    package = FOLDER / RULES.name
    for path in RULES.rglob("*.py"):
        copy = package / path.relative_to(RULES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(undecorated(path.read_text()))
    for name in ("tests", "pyproject.toml"):
        (FOLDER / name).symlink_to(ROOT / name)
    (FOLDER / "setup.cfg").write_text(_settings(modules))


def undecorated(source: str) -> str:
    """The same module with `@property`, `@lru_cache(…)` and the like written as assignments: mutmut leaves decorated
    functions as they are.
    """
    lines = source.splitlines()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for function in sorted(functions, key=lambda node: -node.lineno):
        if len(function.decorator_list) == 1 and function.col_offset <= 4:
            (decorator,) = function.decorator_list
            if (text := ast.unparse(decorator)).startswith(_DECORATORS):
                assert function.end_lineno is not None
                assert decorator.end_lineno is not None
                indent = " " * function.col_offset
                lines.insert(function.end_lineno, f"{indent}{function.name} = {text}({function.name})")
                del lines[decorator.lineno - 1 : decorator.end_lineno]
    return "\n".join(lines) + "\n"


def _settings(modules: Sequence[str]) -> str:
    """Mutants are run by processes forked from one that has imported the tests but run none: gRPC's threads do not
    survive a fork.
    """
    options: dict[str, Sequence[str]] = {
        "source_paths": [RULES.name],
        "only_mutate": [f"{RULES.name}/{path_of(module).relative_to(RULES)}" for module in modules],
        "pytest_add_cli_args_test_selection": JUDGES,
        "pytest_add_cli_args": ["-p", "tests.mutation.plugin", "-p", "no:cacheprovider", "--timeout=60"],
        "process_isolation": ["forkserver"],
        "track_dependencies": ["false"],
        "use_git_change_detection": ["false"],
    }
    lines = [" = ".join((name, "\n    ".join(values))) for name, values in options.items()]
    return "\n".join(["[mutmut]", *lines, ""])
