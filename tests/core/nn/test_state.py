"""state_dict and load_state_dict."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Parameter
from strideweave.module import LoadStateResult
from strideweave.testing import ArrayCarrier

Module: Any = sw.Module  # its attributes are not declared


@pytest.fixture
def module(make: Callable[..., Any]) -> Any:
    """weight with holes, bias, and an Int32 step."""
    root = Module()
    root.weight = Parameter(make([1.0, 2.0, -1.0, 3.0, 4.0], "(2,2):(1,3)"))
    root.inner = Module()
    root.inner.bias = Parameter(make([5.0, 6.0]))
    root.step = Parameter(make([7], dtype=DType.Int32))
    return root


@pytest.mark.rule("N-25")
def test_state_is_a_detached_canonical_copy(module: Any) -> None:
    state = module.state_dict()
    assert list(state) == ["weight", "step", "inner.bias"]
    assert str(state["weight"].layout) == "(2,2):(1,2)"
    assert state["weight"].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert state["step"].dtype() is DType.Int32 and state["step"].item() == 7
    for path, parameter in module.get_named_parameters():
        assert type(state[path].carrier) is ArrayCarrier
        assert state[path].carrier is not parameter.carrier
        assert state[path].autograd_ctx is None
    module.weight[0, 0] = 9.0
    assert state["weight"][0, 0] == 1.0


@pytest.mark.rule("N-25", "N-26")
def test_two_parameters_with_one_path_are_refused(make: Callable[..., Any]) -> None:
    root = Module()
    root.a = Parameter(make([1.0]), name="same")
    root.b = Parameter(make([2.0]), name="same")
    with pytest.raises(ValueError, match="'same'"):
        root.state_dict()
    with pytest.raises(ValueError, match="'same'"):
        root.load_state_dict({})


@pytest.mark.rule("N-26")
def test_loading_writes_in_place(module: Any, make: Callable[..., Any]) -> None:
    before = {path: p.carrier for path, p in module.get_named_parameters()}
    module.weight.grad = gradient = make([1.0] * 4, "(2,2):(1,2)")
    state = {
        "weight": make([10.0, 20.0, 30.0, 40.0], "(2,2):(2,1)"),
        "inner.bias": make([50.0, 60.0]),
        "step": make([70], dtype=DType.Int32),
    }
    assert module.load_state_dict(state) == LoadStateResult((), ())
    assert module.weight.tolist() == [[10.0, 20.0], [30.0, 40.0]]
    assert module.weight.carrier[2] == -1.0
    assert module.inner.bias.tolist() == [50.0, 60.0] and module.step.item() == 70
    assert module.weight.grad is gradient
    for path, parameter in module.get_named_parameters():
        assert parameter.carrier is before[path] and parameter.carrier.version == 1


@pytest.mark.rule("N-26")
def test_loading_the_own_state_is_the_identity(module: Any) -> None:
    state = module.state_dict()
    module.load_state_dict(state)
    assert {p: t.tolist() for p, t in state.items()} == {
        p: t.tolist() for p, t in module.state_dict().items()
    }


@pytest.mark.rule("N-26")
def test_values_may_alias_the_parameters(make: Callable[..., Any]) -> None:
    root = Module()
    root.a, root.b = Parameter(make([1.0, 2.0])), Parameter(make([3.0, 4.0]))
    root.load_state_dict({"a": root.b, "b": root.a})
    assert root.a.tolist() == [3.0, 4.0] and root.b.tolist() == [1.0, 2.0]


@pytest.mark.rule("N-26")
def test_keys_that_do_not_fit(module: Any) -> None:
    state = module.state_dict()
    del state["weight"]
    state["other"] = state["step"]
    with pytest.raises(KeyError, match=r"missing keys \['weight'\], unexpected keys \['other'\]"):
        module.load_state_dict(state)
    result = module.load_state_dict(state, strict=False)
    assert result.missing_keys == ("weight",) and result.unexpected_keys == ("other",)
    assert module.weight.version == 0 and module.step.version == 1


@pytest.mark.rule("N-26", "G-3")
def test_everything_is_checked_before_anything_is_written(
    module: Any, make: Callable[..., Any]
) -> None:
    released = make([50.0, 60.0])
    released.carrier.release()
    cases = [
        (3, TypeError, "must be a mapping"),
        ({1: make([1.0])}, TypeError, "keys must be str"),
        ({"inner.bias": [1.0, 2.0]}, TypeError, "inner.bias must be a Tensor.*from_numpy"),
        ({"inner.bias": make([1, 2], dtype=DType.Int32)}, TypeError, "dtype Int32"),
        ({"inner.bias": make([1.0] * 3)}, ValueError, "inner.bias has shape"),
        ({"inner.bias": make([1.0] * 2, "((2)):((1))")}, ValueError, "inner.bias has shape"),
        ({"inner.bias": released}, RuntimeError, "released"),
    ]
    fits = {"weight": make([0.0] * 4, "(2,2):(1,2)"), "step": make([0], dtype=DType.Int32)}
    for state, kind, message in cases:
        if isinstance(state, dict) and "inner.bias" in state:
            state = fits | state
        with pytest.raises(kind, match=message):
            module.load_state_dict(state)
    assert [parameter.version for parameter in module.parameters()] == [0, 0, 0]


@pytest.mark.rule("N-26", "G-5")
def test_unwritable_parameters_are_refused(make: Callable[..., Any]) -> None:
    frozen, aliased, gone = Module(), Module(), Module()
    frozen.p = Parameter(make([1.0, 2.0], mutable=False))
    aliased.p = Parameter(make([1.0], "(2):(0)"))
    gone.p = Parameter(make([1.0, 2.0]))
    gone.p.carrier.release()
    value = make([3.0, 4.0])
    for module, kind, message in (
        (frozen, RuntimeError, "not mutable"),
        (aliased, ValueError, "aliases"),
        (gone, RuntimeError, "released"),
    ):
        with pytest.raises(kind, match=message):
            module.load_state_dict({"p": value})
    assert aliased.p.layout == Layout.parse("(2):(0)") and aliased.p.version == 0
