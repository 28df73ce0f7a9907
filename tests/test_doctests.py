import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import buraco_bots
import buraco_client
import buraco_codec
import buraco_notation
import buraco_rules


def modules() -> Iterator[str]:
    """Every module whose public functions have examples."""
    for package in (buraco_bots, buraco_client, buraco_codec, buraco_notation, buraco_rules):
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str) -> None:
    """The examples in the docstrings of a module give the results that are shown."""
    module: ModuleType = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
