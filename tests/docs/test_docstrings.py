"""Every example in a docstring runs."""

import doctest
import importlib
import os
import pkgutil

import pytest

import strideweave

METAL = "strideweave.carriers.metal"


def modules() -> list[str]:
    """Name all modules; those of Metal, which load MLX, where a device is chosen for them."""
    runs_metal = "STRIDEWEAVE_METAL_DEVICE" in os.environ

    def refuse(name: str) -> None:
        if runs_metal or not name.startswith(METAL):
            raise  # called while the failure of an import is handled

    found = pkgutil.walk_packages(strideweave.__path__, "strideweave.", refuse)
    names = {"strideweave"} | {module.name for module in found}
    return sorted(name for name in names if runs_metal or not name.startswith(METAL))


MODULES = modules()
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_all_layers_are_covered() -> None:
    layers = {"strideweave.layout", "strideweave.carriers.generic", "strideweave.carriers.cpu"}
    assert layers <= {*MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert results.failed == 0
