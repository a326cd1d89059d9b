"""Capsules seen from outside."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from strideweave.tensor import dlpack_abi


@pytest.fixture
def capsule_name() -> Callable[[Any], str]:
    """Read the name of a capsule."""
    get = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    return lambda capsule: get(capsule).decode()


@pytest.fixture
def managed() -> Callable[[Any], dlpack_abi.ManagedTensor]:
    """Read the structure in an unused capsule."""

    def structure(capsule: Any) -> dlpack_abi.ManagedTensor:
        found = dlpack_abi.managed_tensor(capsule)
        assert found is not None
        return found

    return structure
