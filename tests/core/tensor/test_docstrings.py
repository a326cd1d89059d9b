"""Docstrings of Tensor and its views."""

import doctest
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

VIEWS = (
    sw.rearrange,
    sw.permute,
    sw.reshape,
    sw.as_strided,
    sw.broadcast_to,
    sw.broadcast_in_dim,
    sw.squeeze,
    sw.unsqueeze,
)


@pytest.mark.rule("T-45")
@pytest.mark.parametrize("function", VIEWS)
def test_every_view_documents_its_parameters_and_result(function: Callable[..., Any]) -> None:
    text = inspect.getdoc(function) or ""
    arguments = text.split("Args:")[1].split("Returns:")[0]
    for name in inspect.signature(function).parameters:
        assert f"    {name}:" in arguments.replace("*", "")
    assert "Raises:" in text and "Examples:" in text


@pytest.mark.rule("T-45")
@pytest.mark.parametrize("documented", [*VIEWS, sw.Tensor])
def test_the_examples_run(documented: Callable[..., Any]) -> None:
    (test,) = doctest.DocTestFinder(recurse=False).find(documented, documented.__name__)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
