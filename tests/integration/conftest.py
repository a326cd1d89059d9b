"""Other libraries as peers."""

import os
from importlib import import_module
from typing import Any

import pytest


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch; where ``STRIDEWEAVE_REQUIRE_TORCH`` is set its absence is a failure."""
    try:
        return import_module("torch")
    except ModuleNotFoundError:
        if os.environ.get("STRIDEWEAVE_REQUIRE_TORCH"):
            raise
        pytest.skip("PyTorch is not installed; nox installs a CPU build that the machine offers")
