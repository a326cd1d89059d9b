"""Layers that go from CPU to other shipped carriers, and factories that allocate there."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from strideweave import CPU, Carrier, DType, Evictable, FileBacked, Generic, Tensor, friendly, nn
from strideweave.testing import ArrayCarrier

FLOAT = DType.Float32
PROTOTYPES: dict[str, Callable[[], Carrier]] = {
    "cpu": lambda: CPU(0),
    "generic": lambda: Generic([], dtype=DType.Int32),
    "files": lambda: FileBacked(dtype=FLOAT),
    "array": lambda: ArrayCarrier(0, dtype=DType.Bool),
    "evictable": lambda: Evictable(CPU(1), FileBacked(dtype=FLOAT)),
}
COMPUTING = sorted(PROTOTYPES.keys() - {"files"})  # FileBacked stores and does not compute


def listed(tensor: Tensor | None) -> list[Any]:
    assert tensor is not None
    return friendly.to_list(tensor)


@pytest.mark.rule("N-27")
@pytest.mark.parametrize("name", PROTOTYPES)
def test_a_layer_goes_there_and_back(name: str) -> None:
    layer = nn.Linear(3, 2, rng=random.Random(0))
    before = {path: value.tolist() for path, value in layer.state_dict().items()}
    prototype = PROTOTYPES[name]()
    assert layer.to(prototype) is layer
    for parameter in layer.parameters():
        assert type(parameter.carrier) is type(prototype) and parameter.carrier is not prototype
    assert {path: value.tolist() for path, value in layer.state_dict().items()} == before
    layer.to(CPU)
    assert type(layer.weight.carrier) is CPU
    assert {path: value.tolist() for path, value in layer.state_dict().items()} == before


@pytest.mark.rule("N-27", "G-13")
@pytest.mark.parametrize("name", COMPUTING)
def test_a_layer_trains_where_it_went(name: str) -> None:
    losses, gradients = [], []
    for prototype in (CPU(0), PROTOTYPES[name]()):
        rng = random.Random(1)
        layer = nn.Linear(3, 2, rng=rng).to(prototype)
        rows = friendly.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]], carrier=prototype)
        targets = friendly.tensor([1, 0], dtype=DType.Int32, carrier=prototype)
        loss = nn.CrossEntropyLoss()(layer(rows), targets)
        loss.backward()
        gradients.append([listed(parameter.grad) for parameter in layer.parameters()])
        nn.SGD(layer.parameters(), lr=0.5).step()
        losses.append(nn.CrossEntropyLoss()(layer(rows), targets).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for ours, reference in zip(*gradients, strict=True):
        assert ours == pytest.approx(reference, rel=1e-5, abs=1e-6)


@pytest.mark.rule("N-27", "M-55", "S-8")
def test_an_evicted_layer_must_be_promoted_first() -> None:
    layer = nn.Linear(2, 2).to(PROTOTYPES["evictable"]())
    carrier: Any = layer.weight.carrier
    carrier.evict()
    before = layer.parameters()
    with pytest.raises(RuntimeError, match="promote"):
        layer.to(CPU)
    assert all(a is b for a, b in zip(layer.parameters(), before, strict=True))
    carrier.promote()
    assert type(layer.to(CPU).parameters()[0].carrier) is CPU


@pytest.mark.rule("N-27", "G-17")
@pytest.mark.parametrize("carrier_class", [Generic, FileBacked, Evictable])
def test_classes_with_another_constructor_need_an_instance(carrier_class: type[Carrier]) -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError) as caught:
        layer.to(carrier_class)
    assert "pass an instance to allocate like" in "".join(caught.value.__notes__)
    with pytest.raises(TypeError) as caught:
        friendly.zeros(2, carrier=carrier_class)
    assert "pass an instance to allocate like" in "".join(caught.value.__notes__)
    assert type(layer.weight.carrier) is CPU


FACTORIES: dict[str, Callable[[Any], Any]] = {
    "full": lambda carrier: friendly.full(2, 3, value=1.5, carrier=carrier),
    "zeros": lambda carrier: friendly.zeros(2, 3, carrier=carrier),
    "ones": lambda carrier: friendly.ones(2, 3, dtype=DType.Bool, carrier=carrier),
    "arange": lambda carrier: friendly.arange(6, dtype=DType.Int32, carrier=carrier),
    "rand": lambda carrier: friendly.rand(2, 3, rng=random.Random(2), carrier=carrier),
    "randn": lambda carrier: friendly.randn(2, 3, rng=random.Random(2), carrier=carrier),
    "tensor": lambda carrier: friendly.tensor([[1, 2], [3, 4]], carrier=carrier),
    "tensor in a layout": lambda carrier: friendly.tensor(
        range(6), layout=friendly.row_major(2, 3), carrier=carrier
    ),
}


@pytest.mark.rule("N-50", "N-52", "N-53", "N-54")
@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("name", PROTOTYPES)
def test_every_factory_allocates_like_any_prototype(name: str, factory: str) -> None:
    prototype = PROTOTYPES[name]()
    made, reference = FACTORIES[factory](prototype), FACTORIES[factory](None)
    assert type(made.carrier) is type(prototype) and type(reference.carrier) is CPU
    assert (made.layout, made.dtype(), made.tolist()) == (
        reference.layout,
        reference.dtype(),
        reference.tolist(),
    )
    assert made.version == 0 and made.is_mutable() and made.carrier.size() == made.layout.cosize
