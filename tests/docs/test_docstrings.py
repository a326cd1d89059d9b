"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import strideweave

MODULES = sorted(
    {"strideweave"}
    | {found.name for found in pkgutil.walk_packages(strideweave.__path__, "strideweave.")}
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_all_layers_are_covered() -> None:
    layers = {"strideweave.layout", "strideweave.carriers.generic", "strideweave.carriers.cpu"}
    assert layers <= {*MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert results.failed == 0
