"""No write goes through a layout that maps two coordinates to one slot, unless the result is exact.

Every entry point that changes values meets layouts with stride zero and layouts that overlap, on
every shipped carrier. It either refuses before anything changes, or every slot holds what the rule
of the entry point says.
"""

import random
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import (
    CPU,
    Carrier,
    DType,
    Evictable,
    FileBacked,
    Generic,
    Layout,
    Parameter,
    Tensor,
    nn,
)
from strideweave.layout.enumeration import slots as slots_of
from strideweave.testing import ArrayCarrier

FLOAT = DType.Float32
OFFSET = 1

Make = Callable[[Sequence[float]], Carrier]
Act = Callable[[Parameter], object]
CARRIERS: dict[str, Make] = {
    "array": lambda values: ArrayCarrier(0, dtype=FLOAT).new_like(values),
    "generic": lambda values: Generic(values),
    "cpu": lambda values: CPU(0).new_like(values),
    "evictable": lambda values: Evictable(CPU(0).new_like(values), FileBacked()),
    "files": lambda values: FileBacked().new_like(values),
}
COMPUTING = [name for name in CARRIERS if name != "files"]
BROADCAST = ["(2,3):(1,0)", "(2,3):(0,0)", "(2,(2,2)):(1,(0,4))", "(3):(0)"]
OVERLAPPING = ["(2,2):(1,1)", "(3,2):(1,2)", "((2,2),2):((1,2),3)", "(2,2,2):(0,1,1)"]
ALIASING = [*BROADCAST, *OVERLAPPING]


def held(layout: Layout) -> list[float]:
    return [float(slot) for slot in range(OFFSET + layout.cosize + 1)]


def subject(kind: str, text: str) -> Parameter:
    layout = Layout.parse(text)
    return Parameter(CARRIERS[kind](held(layout)), OFFSET, layout)


def contents(carrier: Carrier) -> list[float]:
    return [carrier[slot] for slot in range(carrier.size())]


def counted(layout: Layout) -> Tensor:
    """A source of the same shape whose coordinates all differ."""
    carrier = Generic([100.0 + ordinal for ordinal in range(layout.size)])
    strides = Layout(sw.Shape(layout.size), sw.Stride(1))
    return sw.reshape(Tensor(carrier, 0, strides), layout.shape)


def assign(tensor: Tensor, key: Any, value: Any) -> None:
    tensor[key] = value


def module_of(parameter: Parameter) -> Any:
    module: Any = sw.Module()
    module.weight = parameter
    return module


def with_gradient(parameter: Parameter) -> list[Parameter]:
    parameter.grad = counted(parameter.layout)
    return [parameter]


# Refused

REFUSED: dict[str, Act] = {
    "number": lambda p: assign(p, ..., 60.0),
    "tensor": lambda p: assign(p, ..., counted(p.layout)),
    "itself": lambda p: assign(p, ..., p),
    "buffer": lambda p: assign(p, ..., array("f", [1.0] * p.size())),
    "NumPy array": lambda p: assign(p, ..., np.zeros(p.layout.leaf_extents, "f4")),
    "detached": lambda p: assign(p.detach(), ..., 60.0),
    "kaiming_uniform_": lambda p: nn.init.kaiming_uniform_(p, 2, rng=random.Random(0)),
    "load_state_dict": lambda p: module_of(p).load_state_dict({"weight": counted(p.layout)}),
}
REFUSED_VIEWS: dict[str, Act] = {
    "permute": lambda p: assign(sw.permute(p, *range(len(p.layout))[::-1]), ..., 60.0),
    "unsqueeze": lambda p: assign(sw.unsqueeze(p, 0), ..., 60.0),
    "whole slice": lambda p: assign(p[(slice(None),) * len(p.layout)], ..., 60.0),
}
REFUSED_OVERLAPS: dict[str, Act] = {
    "fill_": lambda p: nn.init.fill_(p, 60.0),
    "SGD": lambda p: nn.SGD(with_gradient(p), lr=1.0).step(),
    "Adam": lambda p: nn.Adam(with_gradient(p)).step(),
}
ALL_REFUSED = (
    [(kind, name, text) for kind in CARRIERS for name in REFUSED for text in ALIASING]
    + [(kind, name, text) for kind in COMPUTING for name in REFUSED_VIEWS for text in ALIASING]
    + [(kind, name, text) for kind in CARRIERS for name in REFUSED_OVERLAPS for text in OVERLAPPING]
)


@pytest.mark.rule("G-5", "G-3", "T-47", "N-26", "N-31", "N-40")
@pytest.mark.parametrize(("kind", "name", "text"), ALL_REFUSED)
def test_a_write_of_many_values_is_refused(kind: str, name: str, text: str) -> None:
    parameter = subject(kind, text)
    with pytest.raises(ValueError, match=r"injective|alias"):
        (REFUSED | REFUSED_VIEWS | REFUSED_OVERLAPS)[name](parameter)
    assert contents(parameter.carrier) == held(parameter.layout) and parameter.version == 0


@pytest.mark.rule("G-5", "B-21")
@pytest.mark.parametrize("text", ALIASING)
def test_a_device_refuses_the_same(text: str, open_device: Callable[..., Any]) -> None:
    layout = Layout.parse(text)
    prototype = open_device().allocate(0)
    for name, act in (REFUSED | (REFUSED_OVERLAPS if text in OVERLAPPING else {})).items():
        parameter = Parameter(prototype.new_like(held(layout)), OFFSET, layout)
        with pytest.raises(ValueError, match=r"injective|alias"):
            act(parameter)
        assert contents(parameter.carrier) == held(layout) and parameter.version == 0, name


@pytest.mark.rule("G-5", "T-35", "T-47")
@pytest.mark.parametrize("kind", COMPUTING)
def test_a_broadcast_view_of_an_injective_tensor_is_refused(kind: str) -> None:
    tensor = Tensor(CARRIERS[kind]([1.0, 2.0]), 0, Layout.parse("(2,1):(1,1)"))
    for view in (
        sw.broadcast_to(tensor, sw.Shape(2, 4)),
        sw.broadcast_in_dim(tensor, sw.Shape(3, 2, 1), (1, 2)),
    ):
        with pytest.raises(ValueError, match="injective"):
            view[...] = 5.0
    assert contents(tensor.carrier) == [1.0, 2.0] and tensor.version == 0


@pytest.mark.rule("G-5", "M-48")
@pytest.mark.parametrize("text", ALIASING)
def test_a_numpy_view_cannot_be_written(text: str) -> None:
    view = subject("cpu", text).numpy()
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 5.0


@pytest.mark.rule("G-5", "A-13", "T-40")
@pytest.mark.parametrize("kind", COMPUTING)
@pytest.mark.parametrize("text", OVERLAPPING)
def test_no_gradient_meets_an_overlapping_layout(kind: str, text: str) -> None:
    parameter = subject(kind, text)
    with pytest.raises(ValueError, match=r"alias|injective|broadcast"):
        result = sw.neg(parameter)
        result.backward(Tensor(CARRIERS[kind]([1.0] * result.size()), 0, result.layout))
    assert parameter.grad is None and contents(parameter.carrier) == held(parameter.layout)


# Exact


@pytest.mark.rule("G-5", "T-11")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("text", ALIASING)
def test_a_coordinate_write_changes_one_slot(kind: str, text: str) -> None:
    parameter = subject(kind, text)
    expected = held(parameter.layout)
    for ordinal, slot in enumerate(slots_of(parameter.layout)):
        parameter[ordinal] = expected[OFFSET + slot] = 60.0 + ordinal
        assert contents(parameter.carrier) == expected and parameter.version == ordinal + 1
    assert [parameter[i] for i in range(parameter.size())] == [
        expected[OFFSET + slot] for slot in slots_of(parameter.layout)
    ]


@pytest.mark.rule("G-5", "T-47", "T-29")
@pytest.mark.parametrize("kind", COMPUTING)
def test_a_view_that_is_injective_again_is_written(kind: str) -> None:
    parameter = subject(kind, "(2,3):(1,0)")
    parameter[:, 2][...] = array("f", [60.0, 70.0])
    assert parameter.tolist() == [[60.0] * 3, [70.0] * 3]
    assert contents(parameter.carrier) == [0.0, 60.0, 70.0, 3.0] and parameter.version == 1


@pytest.mark.rule("G-5", "N-31")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("text", BROADCAST)
def test_fill_writes_the_addressed_slots(kind: str, text: str) -> None:
    parameter = subject(kind, text)
    nn.init.fill_(parameter, 60.0)
    expected = held(parameter.layout)
    for slot in slots_of(parameter.layout):
        expected[OFFSET + slot] = 60.0
    assert contents(parameter.carrier) == expected and parameter.version == 1


def summed(layout: Layout, values: Sequence[float]) -> dict[int, float]:
    sums: dict[int, float] = {}
    for slot, value in zip(slots_of(layout), values, strict=True):
        sums[slot] = sums.get(slot, 0.0) + value
    return sums


OPTIMISERS: dict[str, tuple[Callable[[list[Parameter]], Any], Callable[[float, float], float]]] = {
    "SGD": (lambda given: nn.SGD(given, lr=0.5), lambda held, total: held - 0.5 * total),
    # The first step of Adam is lr in the direction of the gradient, here positive.
    "Adam": (lambda given: nn.Adam(given, lr=0.5), lambda held, total: held - 0.5),
}


@pytest.mark.rule("G-5", "N-40", "A-19")
@pytest.mark.parametrize("kind", COMPUTING)
@pytest.mark.parametrize("text", BROADCAST)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_step_changes_each_slot_once_by_the_summed_gradient(
    kind: str, text: str, name: str
) -> None:
    parameter = subject(kind, text)
    layout, make = parameter.layout, CARRIERS[kind]
    result = sw.mul(parameter, 1.0)
    cotangents = [float(1 + ordinal) for ordinal in range(layout.size)]
    result.backward(Tensor(make(cotangents), 0, result.layout))
    optimiser, updated = OPTIMISERS[name]
    optimiser([parameter]).step()
    expected = held(layout)
    for slot, total in summed(layout, cotangents).items():
        expected[OFFSET + slot] = updated(expected[OFFSET + slot], total)
    assert contents(parameter.carrier) == pytest.approx(expected, abs=1e-6)
    assert parameter.version == 1


@pytest.mark.rule("G-5", "M-5", "M-6")
@pytest.mark.parametrize("call", [sw.move, sw.copy])
@pytest.mark.parametrize("destination", CARRIERS)
@pytest.mark.parametrize("source", CARRIERS)
@pytest.mark.parametrize("text", ALIASING)
def test_a_move_keeps_the_layout_and_every_value(
    source: str, destination: str, text: str, call: Callable[[Tensor, Carrier], Tensor]
) -> None:
    parameter = subject(source, text)
    layout = parameter.layout
    before = [parameter[ordinal] for ordinal in range(parameter.size())]
    target = CARRIERS[destination]([-1.0] * (layout.cosize + 1))
    moved = call(parameter.detach(), target)
    assert moved.layout == layout and target[layout.cosize] == -1.0 and target.version == 1
    assert [moved[ordinal] for ordinal in range(moved.size())] == before
    assert all(target[slot] == before[ordinal] for ordinal, slot in enumerate(slots_of(layout)))


@pytest.mark.rule("G-5", "N-27", "N-25")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("text", ALIASING)
def test_modules_keep_aliasing_parameters(kind: str, text: str) -> None:
    module = module_of(subject(kind, text))
    before = module.weight.tolist()
    state = module.state_dict()["weight"]
    assert state.layout.is_injective and state.tolist() == before
    module.to(CPU)
    assert module.weight.layout == Layout.parse(text) and module.weight.tolist() == before


@pytest.mark.rule("G-5", "T-47")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("text", ALIASING)
def test_an_aliasing_source_is_read(kind: str, text: str) -> None:
    source = subject(kind, text)
    target = counted(source.layout)
    target[...] = source
    assert target.tolist() == source.tolist() and (target.version, source.version) == (1, 0)


@pytest.mark.rule("G-5", "T-47", "N-26")
@pytest.mark.parametrize("kind", CARRIERS)
def test_overlapping_source_and_target_are_exact(kind: str) -> None:
    for target, source, expected in (
        ((0, "4:1"), (2, "4:1"), [2.0, 3.0, 4.0, 5.0, 4.0, 5.0]),
        ((2, "4:1"), (0, "4:1"), [0.0, 1.0, 0.0, 1.0, 2.0, 3.0]),
        ((0, "(2,3):(1,2)"), (0, "(2,3):(3,1)"), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
        ((1, "3:2"), (0, "3:0"), [0.0, 0.0, 2.0, 0.0, 4.0, 0.0]),
    ):
        for through_module in (False, True):
            carrier = CARRIERS[kind]([float(slot) for slot in range(6)])
            written, read = (
                Tensor(carrier, offset, Layout.parse(text)) for offset, text in (target, source)
            )
            if through_module:
                module_of(Parameter(written)).load_state_dict({"weight": read})
            else:
                written[...] = read
            assert contents(carrier) == expected and carrier.version == 1


@pytest.mark.rule("G-5", "M-51", "M-52", "T-11")
def test_overlapping_memory_of_others() -> None:
    memory = np.arange(4, dtype=np.float32)
    shared = np.lib.stride_tricks.as_strided(memory, (2, 3), (4, 4))
    tensor = sw.from_numpy(shared)
    assert str(tensor.layout) == "(2,3):(1,1)" and tensor.is_mutable()
    with pytest.raises(ValueError, match="injective"):
        tensor[...] = 5.0
    tensor[1, 1] = 60.0
    assert memory.tolist() == [0.0, 1.0, 60.0, 3.0] and tensor[0, 2] == 60.0
    fixed = sw.from_numpy(np.broadcast_to(memory, (2, 4)))
    assert not fixed.is_mutable()
    with pytest.raises(RuntimeError, match="not mutable"):
        fixed[0, 0] = 1.0


@pytest.mark.rule("G-5", "T-47", "N-31", "N-40")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("text", ["(2,1):(1,0)", "(1,(1,2)):(0,(0,3))", "(1):(0)"])
def test_modes_of_extent_one_alias_nothing(kind: str, text: str) -> None:
    for name, act in (REFUSED | REFUSED_OVERLAPS).items():
        parameter = subject(kind, text)
        act(parameter)
        assert parameter.version == 1, name
