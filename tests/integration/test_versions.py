"""Versions tell the truth: every path that changes stored values advances them, nothing else does.

Each row of the tables below acts on a Parameter that sees four of the eight slots of its carrier.
A graph recorded before the row tells whether backward still trusts what it saved.
"""

import copy
import pickle
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
    TiledEvictable,
    friendly,
    nn,
)
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.testing import ArrayCarrier

FLOAT = DType.Float32
HELD = [0.5, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
PLACE, OFFSET = Layout.parse("(2,2):(1,3)"), 2

Make = Callable[[Sequence[float]], Carrier]
Act = Callable[[Parameter], object]
CARRIERS: dict[str, Make] = {
    "array": lambda values: ArrayCarrier(0, dtype=FLOAT).new_like(values),
    "generic": lambda values: Generic(values),
    "cpu": lambda values: CPU(0).new_like(values),
    "evictable": lambda values: Evictable(CPU(0).new_like(values), FileBacked()),
    "evictable of generic": lambda values: Evictable(Generic(values), Generic([])),
    "files": lambda values: FileBacked().new_like(values),
    "tiles": lambda values: TiledEvictable(
        CPU(0).new_like(values), FileBacked(), grid_shape=(4,), tile_shape=(2,)
    ),
}
COMPUTING = [name for name in CARRIERS if name not in ("files", "tiles")]
EVICTABLE = [name for name in CARRIERS if name.startswith("evictable")]


class Witness(sw.Operation):
    """Saves its input on any carrier, so that backward compares versions and reads no value."""

    def _forward(self, *inputs: Any) -> Tensor:
        return Tensor(Generic([0.0]), 0, Layout.parse("1:1"))

    def backward(self, gradient: Any) -> Sequence[Tensor | None]:
        return (None,)


def subject(kind: str) -> Parameter:
    return Parameter(CARRIERS[kind](HELD), OFFSET, PLACE)


def slots(carrier: Carrier) -> list[float]:
    return [carrier[slot] for slot in range(carrier.size())]


def elsewhere(*values: float, layout: str = "(2,2):(2,1)") -> Tensor:
    return Tensor(Generic(values), 0, Layout.parse(layout))


def with_gradient(parameter: Parameter) -> list[Parameter]:
    parameter.grad = elsewhere(1.0, 2.0, 3.0, 4.0)
    return [parameter]


def module_of(parameter: Parameter) -> Any:
    module: Any = sw.Module()
    module.weight = parameter
    return module


def window(parameter: Parameter, layout: str) -> Tensor:
    return Tensor(parameter.carrier, OFFSET, Layout.parse(layout))


def assign(tensor: Tensor, key: Any, value: Any) -> None:
    tensor[key] = value


# Writes


class Draws:
    """A generator whose draws all differ from what is stored."""

    def uniform(self, low: float, high: float) -> float:
        return 0.25


STEPS: dict[str, Act] = {
    "coordinate": lambda p: assign(p, (1, 1), 60.0),
    "ordinal": lambda p: assign(p, 3, 60.0),
    "carrier index": lambda p: p.carrier.__setitem__(3, 60.0),
    "set_value": lambda p: p.carrier.set_value(3, 60.0),
    "coordinate of a window": lambda p: assign(window(p, "4:1"), 3, 60.0),
    "coordinate of an aliasing window": lambda p: assign(window(p, "(2,3):(1,0)"), (1, 2), 60.0),
    "coordinate of a detached tensor": lambda p: assign(p.detach(), 3, 60.0),
    "number": lambda p: assign(p, ..., 60.0),
    "tensor": lambda p: assign(p, ..., elsewhere(9.0, 8.0, 7.0, 6.0)),
    "own tensor": lambda p: assign(p, ..., window(p, "(2,2):(3,1)")),
    "buffer": lambda p: assign(p, ..., array("f", [9.0, 8.0, 7.0, 6.0])),
    "NumPy array": lambda p: assign(p, ..., np.full((2, 2), 9.0, "f4")),
    "number through a window": lambda p: assign(window(p, "2:4"), ..., 60.0),
    "fill_": lambda p: nn.init.fill_(p, 60.0),
    "kaiming_uniform_": lambda p: nn.init.kaiming_uniform_(p, 2, rng=Draws()),  # type: ignore[arg-type]
    "SGD": lambda p: nn.SGD(with_gradient(p), lr=1.0).step(),
    "Adam": lambda p: nn.Adam(with_gradient(p)).step(),
    "load_state_dict": lambda p: module_of(p).load_state_dict({"weight": elsewhere(9, 8, 7, 6)}),
}
VIEW_STEPS: dict[str, Act] = {
    "slice": lambda p: assign(p[1:2, :], ..., 60.0),
    "coordinate of a slice": lambda p: assign(p[:, 1], 1, 60.0),
    "permute": lambda p: assign(sw.permute(p, 1, 0), ..., elsewhere(9.0, 8.0, 7.0, 6.0)),
    "rearrange": lambda p: assign(sw.rearrange(p, "a b -> (b a)"), ..., 60.0),
    "reshape": lambda p: assign(sw.reshape(p[1, :], sw.Shape(1, 2)), ..., 60.0),
    "as_strided": lambda p: assign(sw.as_strided(p, sw.Shape(2), sw.Stride(2)), ..., 60.0),
    "unsqueeze": lambda p: assign(sw.unsqueeze(p, 0), ..., 60.0),
    "squeeze": lambda p: assign(sw.squeeze(sw.unsqueeze(p, 1), 1), ..., 60.0),
    "broadcast_to": lambda p: assign(sw.broadcast_to(p[0:1, :], sw.Shape(5, 2)), (4, 1), 60.0),
    "broadcast_in_dim": lambda p: assign(
        sw.broadcast_in_dim(p, sw.Shape(3, 2, 2), (1, 2)), (2, 1, 1), 60.0
    ),
}
ALL_STEPS = [(kind, name) for kind in CARRIERS for name in STEPS] + [
    (kind, name) for kind in COMPUTING for name in VIEW_STEPS
]


@pytest.mark.rule("G-4", "C-26", "C-69", "T-9", "T-11", "T-20", "T-47", "A-24", "N-26", "N-31")
@pytest.mark.rule("N-38", "N-40")
@pytest.mark.parametrize(("kind", "name"), ALL_STEPS)
def test_a_write_is_one_step(kind: str, name: str) -> None:
    parameter = subject(kind)
    check_step(parameter, name)
    if kind in EVICTABLE:
        carrier: Any = parameter.carrier
        assert carrier.primary.version == 1


@pytest.mark.rule("G-4", "B-22", "C-26")
@pytest.mark.parametrize("name", STEPS)
def test_a_write_to_a_device_is_one_step(name: str, open_device: Callable[..., Any]) -> None:
    carrier = open_device().allocate(0).new_like(HELD)
    check_step(Parameter(carrier, OFFSET, PLACE), name)


def check_step(parameter: Parameter, name: str) -> None:
    graph = Witness().forward(parameter)
    (STEPS | VIEW_STEPS)[name](parameter)
    after = slots(parameter.carrier)
    assert after != HELD and parameter.version == 1
    assert [after[slot] for slot in (0, 1, 7)] == [HELD[slot] for slot in (0, 1, 7)]
    if name not in ("coordinate of a window", "number through a window"):
        assert after[4] == HELD[4]  # a hole
    with pytest.raises(RuntimeError, match="modified in-place"):
        graph.backward()


@pytest.mark.rule("G-4", "N-26", "N-40", "C-26")
@pytest.mark.parametrize("kind", [name for name in CARRIERS if name != "tiles"])
def test_steps_add_up(kind: str) -> None:
    carrier = CARRIERS[kind](HELD)
    module: Any = sw.Module()
    module.first = Parameter(carrier, 0, Layout.parse("3:1"))
    module.second = Parameter(carrier, 4, Layout.parse("2:2"))
    state = module.state_dict()
    module.load_state_dict(state)
    assert carrier.version == 2
    module.first.grad = elsewhere(1.0, 1.0, 1.0, layout="3:1")
    module.second.grad = elsewhere(1.0, 1.0, layout="2:1")
    for optimizer in (nn.SGD(module.parameters(), lr=0.5), nn.Adam(module.parameters())):
        before = carrier.version
        optimizer.step()
        assert carrier.version == before + 2
    module.second.grad = None
    nn.SGD(module.parameters(), lr=0.5).step()
    assert carrier.version == 7
    for slot in range(8):
        carrier[slot] = 1.0
    assert module.first.version == module.second.version == carrier.version == 15


# Failing writes


def released(tensor: Tensor) -> Tensor:
    tensor.carrier.release()
    return tensor


def unfit(shape: str) -> Tensor:
    return elsewhere(*[1.0] * Layout.parse(shape).cosize, layout=shape)


def refused_gradient(parameter: Parameter, gradient: Tensor) -> list[Parameter]:
    parameter.grad = gradient
    return [parameter]


FAILURES: dict[str, tuple[type[Exception] | tuple[type[Exception], ...], Act]] = {
    "no number": (TypeError, lambda p: assign(p, 0, "1")),
    "no key": (TypeError, lambda p: assign(p, 1.0, 1.0)),
    "outside": (ValueError, lambda p: assign(p, (2, 0), 1.0)),
    "outside the carrier": (IndexError, lambda p: p.carrier.__setitem__(8, 1.0)),
    "no number for the carrier": (TypeError, lambda p: p.carrier.set_value(0, None)),
    "huge number": (OverflowError, lambda p: p.carrier.set_value(0, 10**400)),
    "slice": (TypeError, lambda p: assign(p, (slice(0, 1), 0), 1.0)),
    "no bulk value": (TypeError, lambda p: assign(p, ..., "1")),
    "huge bulk value": (OverflowError, lambda p: assign(p, ..., 10**400)),
    "another dtype": (TypeError, lambda p: assign(p, ..., np.zeros((2, 2), "i4"))),
    "another shape": (ValueError, lambda p: assign(p, ..., unfit("4:1"))),
    "released source": (RuntimeError, lambda p: assign(p, ..., released(unfit("(2,2):(1,2)")))),
    "aliasing": (ValueError, lambda p: assign(window(p, "(2,2):(1,0)"), ..., 1.0)),
    "fill_": (TypeError, lambda p: nn.init.fill_(p, "1")),  # type: ignore[arg-type]
    "fan_in": (ValueError, lambda p: nn.init.kaiming_uniform_(p, 0, rng=Draws())),  # type: ignore[arg-type]
    "SGD": (ValueError, lambda p: nn.SGD(refused_gradient(p, unfit("4:1")), lr=1.0).step()),
    "Adam": (
        RuntimeError,
        lambda p: nn.Adam(refused_gradient(p, released(unfit("(2,2):(1,2)")))).step(),
    ),
    "load_state_dict": (KeyError, lambda p: module_of(p).load_state_dict({})),
    "load_state_dict of another shape": (
        ValueError,
        lambda p: module_of(p).load_state_dict({"weight": unfit("4:1")}),
    ),
    "move into too few slots": (
        (ValueError, NotImplementedError),  # nothing moves into tiles
        lambda p: sw.move(unfit("9:1"), p.carrier),
    ),
    "move of another dtype": (
        TypeError,
        lambda p: sw.move(friendly.zeros(2, dtype=DType.Int32), p.carrier),
    ),
    "copy into itself": (ValueError, lambda p: sw.copy(p, p.carrier)),
    "pickle": (TypeError, lambda p: pickle.dumps(p.carrier)),
    "deepcopy": (TypeError, lambda p: copy.deepcopy(p.carrier)),
}


@pytest.mark.rule("G-4", "G-3", "C-14", "C-28", "T-12")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_write_is_no_step(kind: str, name: str) -> None:
    parameter = subject(kind)
    graph = Witness().forward(parameter)
    error, act = FAILURES[name]
    with pytest.raises(error):
        act(parameter)
    assert parameter.version == 0 and slots(parameter.carrier) == HELD
    graph.backward()


@pytest.mark.rule("G-4", "C-14", "C-23")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", ["immutable", "owned", "released"])
def test_what_cannot_be_written_keeps_its_version(kind: str, name: str, state: str) -> None:
    parameter = subject(kind)
    if state == "immutable":
        if kind in EVICTABLE:
            primary = CPU(0).new_like(HELD, mutable=False)
            carrier: Carrier = Evictable(primary, FileBacked())
        else:
            carrier = parameter.carrier.new_like(HELD, mutable=False)
        parameter = Parameter(carrier, OFFSET, PLACE)
    token = parameter.carrier._claim_ownership() if state == "owned" else 0
    if state == "released":
        parameter.carrier.release()
    if state == "released":  # a window of a released carrier is not even constructed
        expected: Any = pytest.raises((RuntimeError, ValueError), match=r"released|exceeds carrier")
    else:
        expected = pytest.raises(RuntimeError, match="mutable")
    with expected:
        STEPS[name](parameter)
    assert parameter.version == 0
    if state == "owned":
        parameter.carrier._relinquish_ownership(token)
    if state != "released":
        assert slots(parameter.carrier) == HELD


# Everything else


READS: dict[str, Act] = {
    "coordinate": lambda p: p[1, 1],
    "carrier index": lambda p: (p.carrier[0], p.carrier.get_value(1)),
    "whole values": lambda p: (p.tolist(), friendly.to_list(p), p.detach()),
    "one value": lambda p: window(p, "1:1").item(),
    "state": lambda p: (p.is_mutable(), p.size(), p.version, p.dtype(), repr(p), hash(p)),
    "more tensors": lambda p: (Parameter(p), Tensor(p.carrier, 0, PLACE), window(p, "3:0")),
    "NumPy": lambda p: (np.asarray(p), np.array(p), p.__array__("f8")),
    "factories": lambda p: (p.carrier.new_like([1.0]), p.carrier.allocate_like(3)),
    "state_dict": lambda p: module_of(p).state_dict(),
    "Module.to": lambda p: module_of(p).to(CPU),
    "zero_grad": lambda p: nn.SGD(with_gradient(p), lr=1.0).zero_grad(),
    "SGD without a gradient": lambda p: nn.SGD([p], lr=1.0).step(),
    "Adam without a gradient": lambda p: nn.Adam([p]).step(),
    "source of a bulk write": lambda p: assign(elsewhere(1.0, 2.0, 3.0, 4.0), ..., p),
    "source of load_state_dict": lambda p: module_of(
        Parameter(elsewhere(0.0, 0.0, 0.0, 0.0))
    ).load_state_dict({"weight": p}),
    "copy": lambda p: (sw.copy(p, CPU(5)), sw.copy_async(p, FileBacked()).wait()),
    "explain_move": lambda p: (sw.explain_move(p, CPU(5)), sw.explain_move(p, p.carrier)),
    "capabilities": lambda p: (
        p.carrier.operation_capabilities(),
        p.carrier.supports_operation_plan(next(iter(resolvable_plans()))),
    ),
    "ownership": lambda p: p.carrier._relinquish_ownership(p.carrier._claim_ownership()),
    "export": lambda p: _exported(p),
}
COMPUTED_READS: dict[str, Act] = {
    "views": lambda p: (
        p[0:1, :],
        sw.permute(p, 1, 0),
        sw.rearrange(p, "a b -> (b a)"),
        sw.reshape(p[1, :], sw.Shape(1, 2)),
        sw.as_strided(p, sw.Shape(2), sw.Stride(2)),
        sw.broadcast_to(p[0:1, :], sw.Shape(3, 2)),
        sw.broadcast_in_dim(p, sw.Shape(3, 2, 2), (1, 2)),
        sw.squeeze(sw.unsqueeze(p, 1), 1),
    ),
    "pointwise": lambda p: (p + p, -p, p * 2.0, sw.relu(p), p < 1.0, sw.cast(p, DType.Int32)),
    "reductions": lambda p: (
        sw.reduce_sum(p, "a b -> a"),
        sw.argmax(p, "a b -> 1"),
        sw.cumsum(p, 0),
        sw.softmax(p),
    ),
    "products": lambda p: (p @ p, sw.einsum(p, p, "a b, c b -> c a")),
    "order": lambda p: (sw.sort(p), sw.topk(p, 1)),
    "joins": lambda p: (sw.concat([p, p]), sw.stack([p, p]), sw.pad(p, ((1, 0), (0, 0)))),
    "scatter": lambda p: _scattered(p),
    "backward": lambda p: sw.mul(p, p).backward(ones(p)),
    "grad": lambda p: sw.grad(sw.mul(p, p), [p], ones(p)),
    "profile": lambda p: _profiled(p),
    "explain": lambda p: sw.explain(sw.add, p, p),
}
OF_ONE_TENSOR = {"factories", "state_dict", "Module.to", "copy"}
"""What tiles, whose carriers hold one full tensor and do not move, refuse."""
ALL_READS = [
    (kind, name)
    for kind in CARRIERS
    for name in READS
    if not (kind == "tiles" and name in OF_ONE_TENSOR)
] + [(kind, name) for kind in COMPUTING for name in COMPUTED_READS]


def _exported(parameter: Parameter) -> None:
    if type(parameter.carrier) is not CPU:
        with pytest.raises(BufferError):
            parameter.__dlpack__()
        return
    sw.from_dlpack(parameter).tolist()
    np.from_dlpack(parameter).sum()
    parameter.numpy().sum()
    parameter.__dlpack__(max_version=(1, 0))


def ones(parameter: Parameter) -> Tensor:
    """A cotangent in the layout of results."""
    return Tensor(parameter.carrier.new_like([1.0] * 4), 0, Layout.parse("(2,2):(1,2)"))


def _scattered(parameter: Parameter) -> None:
    indices = Tensor(parameter.carrier.new_like([1], dtype=DType.Int32), 0, Layout.parse("1:1"))
    updates = Tensor(parameter.carrier.new_like([9.0, 9.0]), 0, Layout.parse("(1,2):(1,1)"))
    for function in (sw.scatter, sw.scatter_add):
        function(parameter, indices, updates, 0)
    sw.gather(parameter, indices, 0)


def _profiled(parameter: Parameter) -> None:
    with sw.profile() as profiler:
        sw.neg(parameter)
    assert profiler.events()


@pytest.mark.rule("G-4", "C-26", "C-28", "T-9", "T-20", "F-3", "M-21", "M-45", "M-49", "M-55")
@pytest.mark.parametrize(("kind", "name"), ALL_READS)
def test_reads_are_no_step(kind: str, name: str) -> None:
    parameter = subject(kind)
    graph = Witness().forward(parameter)
    (READS | COMPUTED_READS)[name](parameter)
    assert parameter.version == 0 and slots(parameter.carrier) == HELD
    if kind in EVICTABLE:
        carrier: Any = parameter.carrier
        assert carrier.primary.version == 0
    graph.backward()
