"""The public functions are reachable through the operation package."""

import pytest

import strideweave as sw
import strideweave.functional
import strideweave.operation


@pytest.mark.rule("O-1", "T-1")
@pytest.mark.parametrize("name", strideweave.functional.__all__)
def test_a_public_function_is_one_object_on_its_three_paths(name: str) -> None:
    function = getattr(strideweave.functional, name)
    assert getattr(strideweave.operation, name) is function
    assert getattr(sw, name) is function
    assert name in dir(strideweave.operation)
