"""Layers that make their parameters on CPU."""

from random import Random
from typing import Any

import numpy as np
import pytest

import strideweave as sw
import strideweave.nn.losses as losses
from strideweave import CPU, DType, Generic, Layout, Tensor, friendly, nn


def dense(values: list[float], *extents: int) -> Any:
    return friendly.tensor(values, layout=friendly.column_major(*extents))


def listed(tensor: Tensor | None) -> list[Any]:
    assert tensor is not None
    return friendly.to_list(tensor)


@pytest.fixture
def affine() -> nn.Linear:
    """Weight rows (1,10), (1,20), (1,30) and bias 100."""
    layer = nn.Linear(2, 3)
    assert layer.bias is not None
    layer.weight[...] = dense([1.0, 1.0, 1.0, 10.0, 20.0, 30.0], 3, 2)
    nn.init.fill_(layer.bias, 100.0)
    return layer


@pytest.mark.rule("N-32", "Z-24")
def test_linear_draws_all_of_the_weight_then_the_bias() -> None:
    layer = nn.Linear(2, 3, rng=Random(0), name="first")
    assert (layer.in_features, layer.out_features, layer.name) == (2, 3, "first")
    assert type(layer.weight.carrier) is CPU and layer.weight.dtype() is DType.Float32
    assert layer.weight.layout == Layout.parse("(3,2):(1,3)")
    assert listed(layer.weight) == pytest.approx(
        [0.48708606, 0.36480263, -0.11232875, -0.34094319, 0.01594486, -0.13444343], abs=1e-7
    )
    assert layer.bias is not None and layer.bias.layout == Layout.parse("(3,1):(1,3)")
    assert listed(layer.bias) == pytest.approx([0.40135181, -0.2781578, -0.03309691], abs=1e-7)
    assert nn.Linear(2, 3, bias=False).bias is None
    assert listed(nn.Linear(9, 9).weight) != listed(nn.Linear(9, 9).weight)
    assert [path for path, _ in layer.get_named_parameters()] == ["weight", "bias"]


@pytest.mark.rule("N-32", "Z-25", "Z-26", "Z-27")
def test_linear_forward_backward_and_step(affine: nn.Linear) -> None:
    x = dense([1.0, 2.0, 3.0, 4.0], 2, 2)
    result = affine(x)
    assert listed(result) == [131.0, 142.0, 161.0, 182.0, 191.0, 222.0]
    assert result.layout == Layout.parse("(2,3):(1,2)")
    result.backward(dense([1.0] * 6, 2, 3))
    assert affine.bias is not None and affine.bias.grad is not None
    assert listed(affine.weight.grad) == [3.0, 3.0, 3.0, 7.0, 7.0, 7.0]
    assert listed(affine.bias.grad) == [2.0, 2.0, 2.0]
    assert affine.bias.grad.layout == Layout.parse("(3,1):(1,3)")
    version = affine.weight.version
    nn.SGD(affine.parameters(), lr=0.5).step()
    assert listed(affine.weight) == [-0.5, -0.5, -0.5, 6.5, 16.5, 26.5]
    assert listed(affine.bias) == [99.0, 99.0, 99.0]
    assert affine.weight.version == version + 1


@pytest.mark.rule("N-32")
@pytest.mark.parametrize("layout", ["(2,2):(2,1)", "(2,2):(5,1)", "(1,2):(1,1)", "(1,2):(7,3)"])
def test_linear_takes_any_flat_layout(affine: nn.Linear, layout: str) -> None:
    placement = Layout.parse(layout)
    x = Tensor(CPU(placement.cosize), 0, placement)
    x[...] = 1.0
    rows = placement.leaf_extents[0]
    result = affine(x)
    assert listed(result) == [111.0] * rows + [121.0] * rows + [131.0] * rows
    assert result.layout == friendly.column_major(rows, 3)


@pytest.mark.rule("N-32")
def test_linear_refuses_other_inputs(affine: nn.Linear) -> None:
    for x, kind, message in (
        (friendly.ones(2), ValueError, "flat two-mode"),
        (friendly.ones(2, 2, 1), ValueError, "flat two-mode"),
        (dense([1.0] * 2, 2)[0:2], ValueError, "flat two-mode"),
        (Tensor(CPU(4), 0, Layout.parse("((2,1),2):((1,2),2)")), ValueError, "flat two-mode"),
        (friendly.ones(2, 3), ValueError, "2 input features"),
        (Tensor(Generic([1.0] * 4), 0, friendly.column_major(2, 2)), TypeError, "carriers must"),
    ):
        with pytest.raises(kind, match=message):
            affine(x)
    with pytest.raises(TypeError, match="x must be a Tensor"):
        affine([[1.0, 2.0]])


@pytest.mark.rule("N-32", "N-37")
@pytest.mark.parametrize("layer", [nn.Linear, nn.Embedding])
def test_sizes_are_positive_integers(layer: Any) -> None:
    for sizes in ((0, 1), (1, 0), (-1, 1), (1.5, 1), ("2", 1), (1, None), (True, 1)):
        with pytest.raises(ValueError, match="must be a positive integer"):
            layer(*sizes)


@pytest.mark.rule("N-37", "Z-33")
def test_embedding_looks_up_rows_and_adds_repeated_gradients() -> None:
    table = nn.Embedding(3, 2, rng=Random(0))
    rng = Random(0)
    assert listed(table.weight) == pytest.approx([rng.gauss(0.0, 1.0) for _ in range(6)])
    assert type(table.weight.carrier) is CPU
    table.weight[...] = dense([1.0, 2.0, 3.0, 10.0, 20.0, 30.0], 3, 2)
    indices = friendly.tensor([2, 0, 2], dtype=DType.Int32)
    result = table(indices)
    assert listed(result) == [3.0, 1.0, 3.0, 30.0, 10.0, 30.0]
    result.backward(dense([1.0] * 6, 3, 2))
    assert listed(table.weight.grad) == [1.0, 0.0, 2.0, 1.0, 0.0, 2.0]
    with pytest.raises(IndexError, match="out of range"):
        table(friendly.tensor([3], dtype=DType.Int32))


@pytest.mark.rule("N-35")
def test_cross_entropy_loops_over_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(tensor: Tensor) -> list[float]:
        raise AssertionError("read one value at a time")

    monkeypatch.setattr(losses, "logical_values", refuse)
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(50, 7)).astype(np.float32)
    targets = generator.integers(0, 7, 50).astype(np.int32)
    tensor = sw.from_numpy(logits)
    loss = nn.CrossEntropyLoss()(tensor, sw.from_numpy(targets))
    loss.backward()
    exponentials = np.exp(logits.astype(np.float64))
    softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
    onehot = np.eye(7)[targets]
    assert loss.item() == pytest.approx(-np.log((softmax * onehot).sum(axis=1)).mean(), rel=1e-5)
    assert tensor.grad is not None
    assert np.allclose(tensor.grad.numpy(), (softmax - onehot) / 50, atol=1e-6)


@pytest.mark.rule("N-35", "O-65")
def test_ordinals_beyond_int32_are_refused() -> None:
    logits = Tensor(CPU(1), 0, Layout.parse("(65536,65536):(0,0)"))
    targets = Tensor(CPU(1, dtype=DType.Int32), 0, Layout.parse("(65536):(0)"))
    with pytest.raises(OverflowError, match="out of int32 range"):
        nn.CrossEntropyLoss()(logits, targets)
