"""Module.to: parameters as copies on other storage."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Parameter, Tensor, friendly
from strideweave.testing import ArrayCarrier

Module: Any = sw.Module  # its attributes are not declared


@pytest.fixture
def module(make: Callable[..., Any]) -> Any:
    """A weight inside a larger carrier, a named bias, an Int32 step and a Bool mask."""
    root = Module()
    storage = make([9.0, 9.0, 1.0, 2.0, -1.0, 3.0, 4.0, 9.0]).carrier
    root.weight = Parameter(storage, 2, Layout.parse("(2,2):(1,3)"))
    root.inner = Module()
    root.inner.bias = Parameter(make([5.0], "(3):(0)", mutable=False), name="shift")
    root.step = Parameter(make([7], dtype=DType.Int32))
    root.mask = Parameter(make([True, False], dtype=DType.Bool))
    return root


def states(module: Any) -> list[Any]:
    return [
        (path, parameter.name, parameter.dtype(), parameter.layout, parameter.tolist())
        for path, parameter in module.get_named_parameters()
    ]


@pytest.mark.rule("N-27")
def test_parameters_become_copies_of_the_same_name_layout_and_values(
    module: Any, workshop: Any
) -> None:
    shelf = workshop.defined(storage=workshop.storage(elementwise_fallback=True))
    before, old = states(module), module.parameters()
    module.weight.grad = module.weight
    assert module.to(shelf) is module
    assert states(module) == before
    for parameter in module.parameters():
        assert type(parameter) is Parameter and type(parameter.carrier) is shelf
        assert parameter.offset == 0 and parameter.autograd_ctx is None
        assert parameter.is_mutable() and parameter.carrier.size() == parameter.layout.cosize
    assert module.weight.grad is None
    for parameter in old:
        assert not parameter.carrier.is_released() and not parameter.carrier.is_owned()
        assert parameter.version == 0
    module.weight[0, 0] = 100.0
    assert old[0][0, 0] == 1.0


@pytest.mark.rule("N-27")
def test_a_prototype_allocates(module: Any) -> None:
    prototype = ArrayCarrier(0, dtype=DType.Int32, mutable=False)
    before = states(module)
    module.to(prototype)
    assert states(module) == before
    assert all(p.carrier is not prototype and p.is_mutable() for p in module.parameters())
    assert prototype.size() == 0
    prototype.release()
    module.to(prototype)  # factories work after release
    assert states(module) == before


@pytest.mark.rule("N-27")
def test_shared_parameters_and_shared_storage_stay_shared(make: Callable[..., Any]) -> None:
    root, child = Module(), Module()
    root.a = root.b = child.c = Parameter(make([0.0, 1.0, 2.0, 3.0, 4.0], "(5):(1)"))
    root.window = Parameter(root.a.carrier, 3, Layout.parse("(2):(1)"))
    root.child = child
    child.back = root  # a cycle
    root.to(ArrayCarrier)
    assert root.a is root.b is child.c
    assert root.window.carrier is root.a.carrier and root.window.offset == 3
    root.a[4] = 40.0
    assert root.window.tolist() == [3.0, 40.0]


@pytest.mark.rule("N-27")
def test_windows_of_one_carrier_keep_their_distance(make: Callable[..., Any]) -> None:
    root = Module()
    storage = make([float(slot) for slot in range(9)]).carrier
    root.late = Parameter(storage, 6, Layout.parse("(2):(1)"))
    root.early = Parameter(storage, 2, Layout.parse("(2):(2)"))
    root.to(ArrayCarrier)
    assert root.late.tolist() == [6.0, 7.0] and root.early.tolist() == [2.0, 4.0]
    assert (root.early.offset, root.late.offset, root.late.carrier.size()) == (0, 4, 6)


@pytest.mark.rule("N-27", "N-22")
def test_registration_keeps_its_order_and_private_attributes_their_value(
    module: Any,
) -> None:
    paths = [path for path, _ in module.get_named_parameters()]
    module._kept = kept = module.weight
    module.to(ArrayCarrier)
    assert [path for path, _ in module.get_named_parameters()] == paths
    assert module._kept is kept and module.weight is not kept


@pytest.mark.rule("N-27", "M-55")
def test_no_graph_is_recorded_and_training_goes_on(make: Callable[..., Any]) -> None:
    root = Module()
    root.weight = old = Parameter(make([1.0, 2.0]))
    output = sw.mul(root.weight, root.weight)
    root.to(ArrayCarrier)
    output.backward(make([1.0, 1.0]))  # the old leaf still gets its gradient
    assert old.grad is not None and old.grad.tolist() == [2.0, 4.0]
    assert root.weight.autograd_ctx is None and root.weight.grad is None
    sw.mul(root.weight, 3.0).backward(make([1.0, 1.0]))
    sw.nn.SGD(root.parameters(), lr=1.0).step()
    assert root.weight.tolist() == [-2.0, -1.0] and old.tolist() == [1.0, 2.0]


@pytest.mark.rule("N-27", "G-3")
def test_a_failing_copy_replaces_nothing(module: Any, workshop: Any) -> None:
    shelf = workshop.defined(storage=workshop.storage(elementwise_fallback=True))
    module.inner.last = Parameter(friendly.zeros(2, carrier=ArrayCarrier))
    module.inner.last.carrier.release()
    before = module.parameters()
    assert before[-1] is module.inner.last
    with pytest.raises(RuntimeError, match="released"):
        module.to(shelf)
    for kept, parameter in zip(before, module.parameters(), strict=True):
        assert kept is parameter and not kept.carrier.is_owned()


@pytest.mark.rule("N-27", "M-9", "G-3")
def test_a_class_without_a_route_is_refused(module: Any, workshop: Any) -> None:
    before = module.parameters()
    with pytest.raises(NotImplementedError, match=r"\(ArrayCarrier, Shelf\)"):
        module.to(workshop.defined())
    assert all(a is b for a, b in zip(module.parameters(), before, strict=True))


@pytest.mark.rule("N-27", "G-17")
def test_targets_that_are_no_carrier(module: Any, workshop: Any) -> None:
    for wrong in (None, 3, "CPU", int, Layout, Tensor):
        with pytest.raises(TypeError, match=r"Module\.to: target must be a Carrier class"):
            module.to(wrong)
    with pytest.raises(TypeError) as caught:
        module.to(workshop.dependent())
    assert "pass an instance to allocate like" in "".join(caught.value.__notes__)
    assert Module().to(ArrayCarrier).parameters() == ()
