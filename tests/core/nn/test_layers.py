"""Activations, Sequential and losses, on any carrier."""

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

import pytest

import strideweave as sw
from strideweave import DType, Layout, Module, nn
from strideweave.testing import ArrayCarrier


@pytest.mark.rule("N-30")
def test_public_names() -> None:
    names = "Adam CrossEntropyLoss ELU Embedding GELU LeakyReLU Linear MSELoss ReLU SGD Sequential"
    assert sorted(nn.__all__) == [*names.split(), "SiLU", "Sigmoid", "Softplus", "Tanh"]
    assert sorted(nn.init.__all__) == ["fill_", "kaiming_uniform_"]
    assert not hasattr(sw, "Linear")


@pytest.mark.rule("N-30")
def test_every_module_takes_a_name() -> None:
    kinds: list[Any] = [nn.ReLU, nn.Sigmoid, nn.Tanh, nn.MSELoss, nn.CrossEntropyLoss]
    for kind in (nn.Sequential, *kinds):
        assert kind(name="block").name == "block"
    with pytest.raises(TypeError):
        kind("block")


@pytest.mark.rule("N-33")
@pytest.mark.parametrize(
    ("module", "function"),
    [
        (nn.ReLU, sw.relu),
        (nn.Sigmoid, sw.sigmoid),
        (nn.Tanh, sw.tanh),
        (nn.GELU, sw.gelu),
        (nn.SiLU, sw.silu),
        (nn.Softplus, sw.softplus),
        (nn.ELU, sw.elu),
        (nn.LeakyReLU, sw.leaky_relu),
    ],
)
def test_activations_are_their_functions(
    make: Callable[..., Any], module: Any, function: Any
) -> None:
    x = make([-1.0, 0.5, 2.0, -3.0], "(2,2):(2,1)")
    result = module()(x)
    assert result.tolist() == function(x).tolist() and result.layout == function(x).layout
    assert module().parameters() == ()


@pytest.mark.rule("N-36")
def test_sequential_feeds_each_module_the_previous_result(make: Callable[..., Any]) -> None:
    network = nn.Sequential(nn.ReLU(), nn.Tanh(), name="net")
    x = make([-1.0, 1.0])
    assert network(x).tolist() == sw.tanh(sw.relu(x)).tolist()
    assert nn.Sequential()(x) is x
    assert len(network) == 2 and [type(m) for m in network] == [nn.ReLU, nn.Tanh]
    assert type(network[0]) is nn.ReLU and network[-1] is network[1]
    for position in (2, -3):
        with pytest.raises(IndexError, match="out of range"):
            network[position]
    sequential: Any = nn.Sequential
    with pytest.raises(TypeError, match="argument 1 must be a Module"):
        sequential(nn.ReLU(), 3)


@pytest.mark.rule("N-36", "N-24")
def test_sequential_paths_are_positions(make: Callable[..., Any]) -> None:
    inner = Module()
    inner.weight = sw.Parameter(make([1.0]))
    network = nn.Sequential(inner, nn.ReLU())
    assert [path for path, _ in network.get_named_parameters()] == ["0.weight"]


@pytest.mark.rule("N-34", "Z-29")
def test_mse_loss(make: Callable[..., Any]) -> None:
    prediction = make([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    target = make([0.0, 0.0, 0.0, 8.0], "(2,2):(1,2)")
    loss = nn.MSELoss()(prediction, target)
    assert loss.tolist() == [7.5] and loss.layout == Layout.parse("(1):(1)")
    loss.backward()
    assert sw.friendly.to_list(prediction.grad) == [0.5, 1.0, 1.5, -2.0]
    assert sw.friendly.to_list(target.grad) == [-0.5, -1.0, -1.5, 2.0]


@pytest.mark.rule("N-34")
def test_mse_loss_refuses_other_layouts(make: Callable[..., Any]) -> None:
    flat = make([1.0] * 4, "(2,2):(1,2)")
    for wrong in ("(4):(1)", "((2,2)):((1,2))", "(2,(1,2)):(1,(2,2))"):
        with pytest.raises(ValueError, match="flat two-mode"):
            nn.MSELoss()(make([1.0] * 4, wrong), flat)
    loss: Any = nn.MSELoss()
    for arguments, name in (((3, flat), "prediction"), ((flat, 3), "target")):
        with pytest.raises(TypeError, match=f"{name} must be a Tensor.*from_numpy"):
            loss(*arguments)
    with pytest.raises(ValueError, match=r"layouts must match.*tensor \+ 0\.0.*asfortranarray"):
        nn.MSELoss()(flat, make([1.0] * 4, "(2,2):(2,1)"))
    with pytest.raises(ValueError, match=r"layouts must match.*one shape"):
        nn.MSELoss()(flat, make([1.0] * 4, "(4,1):(1,4)"))
    assert nn.MSELoss()(flat, make([1.0] * 4, "(2,2):(2,1)") + 0.0).tolist() == [0.0]


@pytest.mark.rule("N-34")
@pytest.mark.parametrize("layout", ["(3,1):(1,1)", "(3,1):(1,0)", "(3,1):(1,3)"])
def test_mse_loss_ignores_strides_of_extent_one(make: Callable[..., Any], layout: str) -> None:
    prediction, target = make([1.0, 2.0, 3.0], "(3,1):(1,3)"), make([1.0, 2.0, 6.0], layout)
    loss = nn.MSELoss()(prediction, target)
    assert loss.tolist() == [3.0]
    loss.backward()
    assert sw.friendly.to_list(prediction.grad) == [0.0, 0.0, -2.0]
    assert target.grad.layout == target.layout
    assert sw.friendly.to_list(target.grad) == [0.0, 0.0, 2.0]


def rows(make: Callable[..., Any], *values: tuple[float, ...], layout: str | None = None) -> Any:
    columns = list(zip(*values, strict=True))
    flat = [value for column in columns for value in column]
    return make(flat, layout or f"({len(values)},{len(columns)}):(1,{len(values)})")


@pytest.mark.rule("N-35", "Z-30")
def test_cross_entropy_value_and_gradient(make: Callable[..., Any]) -> None:
    logits = rows(make, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))
    loss = nn.CrossEntropyLoss()(logits, make([2, 0], dtype=DType.Int32))
    assert loss.item() == pytest.approx(0.7531091, abs=1e-6)
    assert loss.layout == Layout.parse("(1):(1)")
    loss.backward()
    expected = [[0.0450153, 0.1223642, -0.1673795], [-1 / 3, 1 / 6, 1 / 6]]
    for row, wanted in zip(logits.grad.tolist(), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


@pytest.mark.rule("N-35", "Z-31")
@pytest.mark.parametrize(
    ("row", "target", "loss"),
    [
        ((1000.0, 0.0), 0, 0.0),
        ((1000.0, 0.0), 1, 1000.0),
        ((-math.inf, 0.0), 0, math.inf),
        ((-math.inf, 0.0), 1, 0.0),
        ((math.inf, 0.0), 0, math.nan),
        ((math.nan, 0.0), 1, math.nan),
    ],
)
def test_cross_entropy_extremes(
    make: Callable[..., Any], row: tuple[float, ...], target: int, loss: float
) -> None:
    found = nn.CrossEntropyLoss()(rows(make, row), make([target], dtype=DType.Int32)).item()
    assert found == pytest.approx(loss, nan_ok=True)


@pytest.mark.rule("N-35")
def test_cross_entropy_reads_any_flat_layout(make: Callable[..., Any]) -> None:
    dense = rows(make, (1.0, 2.0, 3.0), (0.5, 0.0, -1.0))
    apart = make([0.0] * 23, "(2,3):(11,5)")
    apart[...] = dense
    targets = make([1, 2], dtype=DType.Int32)
    loss = nn.CrossEntropyLoss()(apart, targets)
    assert loss.item() == nn.CrossEntropyLoss()(dense, targets).item()
    loss.backward()
    assert apart.grad.layout == apart.layout
    single = make([1.0, 0.0, 2.0], "(1,2):(7,2)")
    assert nn.CrossEntropyLoss()(single, make([1], dtype=DType.Int32)).item() == pytest.approx(
        math.log(1 + math.exp(1.0)) - 1.0, abs=1e-6
    )


@pytest.mark.rule("N-35")
def test_cross_entropy_checks_in_order(make: Callable[..., Any]) -> None:
    logits = rows(make, (1.0, 2.0), (3.0, 4.0))
    targets = make([0, 1], dtype=DType.Int32)

    class Other(sw.Carrier):
        def size(self) -> int:
            return 2

        def dtype(self) -> DType:
            return DType.Int32

        def get_value(self, index: SupportsIndex) -> int:
            return 0

    elsewhere = sw.Tensor(Other(), 0, targets.layout)
    for arguments, kind, message in (
        ((3, 3), TypeError, "logits must be a Tensor.*from_numpy"),
        ((make([1.0]), 3), ValueError, "logits must be a flat two-mode tensor"),
        ((logits, 3), TypeError, "targets must be a Tensor.*from_numpy"),
        ((logits, make([0.0])), ValueError, "one flat mode of extent 2"),
        ((logits, make([0, 1], "(2,1):(1,2)")), ValueError, "one flat mode of extent 2"),
        ((logits, elsewhere), TypeError, "carriers must match"),
        ((logits, make([0.0, 1.0])), TypeError, r"targets must be DType\.Int32"),
        ((make([0] * 4, "(2,2):(1,2)", DType.Int32), targets), TypeError, "logits must be DType"),
        ((logits, make([0, 2], dtype=DType.Int32)), IndexError, "target 2 is out of range"),
        ((logits, make([-1, 2], dtype=DType.Int32)), IndexError, "target -1 is out of range"),
    ):
        with pytest.raises(kind, match=message):
            nn.CrossEntropyLoss()(*arguments)


@pytest.mark.rule("N-35")
def test_cross_entropy_takes_no_gradient_through_the_row_maximum(make: Callable[..., Any]) -> None:
    logits = rows(make, (1.0, 1.0, 1.0))
    nn.CrossEntropyLoss()(logits, make([0], dtype=DType.Int32)).backward()
    assert logits.grad.tolist()[0] == pytest.approx([-2 / 3, 1 / 3, 1 / 3], abs=1e-6)
    assert type(logits.grad.carrier) is ArrayCarrier
