"""Values and gradients of the catalogue, losses and optimisers against PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Evictable, Generic, Parameter, Tensor, nn
from strideweave.friendly import column_major
from strideweave.testing import ArrayCarrier

Make = Callable[[Sequence[float], DType], Carrier]
CARRIERS: dict[str, Make] = {
    "array": lambda values, dtype: ArrayCarrier(0, dtype=dtype).new_like(values),
    "generic": lambda values, dtype: Generic(values, dtype=dtype),
    "cpu": lambda values, dtype: CPU(0, dtype=dtype).new_like(values),
    "evictable": lambda values, dtype: Evictable(
        CPU(0, dtype=dtype).new_like(values), Generic([], dtype=dtype)
    ),
}
GRID = np.concatenate(
    [
        np.linspace(-6.0, 6.0, 49),
        [-1e-3, 1e-3, -1e-20, 1e-20, -30.0, 30.0, -88.0, 88.0, -200.0, 200.0, 1e30, -1e30],
    ]
).astype("f4")

Function = Callable[..., Any]


def tensor(make: Make, array: Any) -> Tensor:
    """A leaf with the values of an array, in the canonical layout of its shape."""
    dtype = {"f": DType.Float32, "i": DType.Int32}[array.dtype.kind]
    return Tensor(make(array.ravel(order="F").tolist(), dtype), 0, column_major(*array.shape))


def agree(found: Tensor | None, expected: Any) -> None:
    assert found is not None
    np.testing.assert_allclose(
        np.asarray(found), expected.detach().numpy(), rtol=2e-5, atol=2e-6, equal_nan=True
    )


def compare(
    torch: Any, make: Make, ours: Function, theirs: Function, *arrays: Any, cotangent: Any = None
) -> None:
    """Compare the result, and its gradients at every floating operand."""
    mine = [tensor(make, array) for array in arrays]
    peers = [torch.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    found, expected = ours(*mine), theirs(*peers)
    agree(found, expected.reshape(found.shape.top_level))
    if cotangent is None:
        cotangent = np.linspace(0.5, 2.0, found.size(), dtype="f4")
    seed = np.reshape(cotangent, np.asarray(found).shape, order="F")
    weights = Tensor(make(seed.ravel(order="F").tolist(), DType.Float32), 0, found.layout)
    found.backward(weights)
    expected.backward(torch.tensor(seed).reshape(expected.shape))
    for leaf, peer in zip(mine, peers, strict=True):
        if peer.requires_grad:
            agree(leaf.grad, peer.grad)


ACTIVATIONS: dict[str, Callable[[Any], Function]] = {
    "relu": lambda torch: torch.relu,
    "sigmoid": lambda torch: torch.sigmoid,
    "tanh": lambda torch: torch.tanh,
    "gelu": lambda torch: torch.nn.functional.gelu,
    "silu": lambda torch: torch.nn.functional.silu,
    "softplus": lambda torch: torch.nn.functional.softplus,
    "elu": lambda torch: torch.nn.functional.elu,
    "leaky_relu": lambda torch: torch.nn.functional.leaky_relu,
}
MODULES = {
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
}


@pytest.mark.rule("G-13", "F-15", "F-17", "N-33")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(torch: Any, name: str, kind: str) -> None:
    peer = ACTIVATIONS[name](torch)
    # The slope of leaky_relu at zero is 1 here, and 0.01 in PyTorch.
    values = GRID[GRID != 0] if name == "leaky_relu" else GRID
    compare(torch, CARRIERS[kind], getattr(sw, name), peer, values)
    compare(torch, CARRIERS[kind], MODULES[name](), peer, values)


UNARY = {
    "neg": GRID,
    "abs": GRID,
    "exp": GRID[:49],
    "exp2": GRID[:49],
    "log": np.abs(GRID),
    "log2": np.abs(GRID),
    "sqrt": np.abs(GRID),
    "rsqrt": np.abs(GRID[GRID > 1e-3]),
    "sin": GRID[:49],
    "cos": GRID[:49],
    "erf": GRID[:49],
    "recip": GRID[np.abs(GRID) > 1e-3],
}


@pytest.mark.rule("G-13", "F-15")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(torch: Any, name: str, kind: str) -> None:
    peer = torch.reciprocal if name == "recip" else getattr(torch, name)
    values = UNARY[name]
    compare(torch, CARRIERS[kind], getattr(sw, name), peer, values[values != 0])


def pair(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.25, 3.0, shape).astype("f4")


BINARY: dict[str, Callable[[Any], Function]] = {
    "add": lambda torch: torch.add,
    "sub": lambda torch: torch.sub,
    "mul": lambda torch: torch.mul,
    "div": lambda torch: torch.div,
    "pow": lambda torch: torch.pow,
    "maximum": lambda torch: torch.maximum,
    "minimum": lambda torch: torch.minimum,
    "rem": lambda torch: torch.fmod,
}


@pytest.mark.rule("G-13", "F-18", "F-20", "F-21", "F-22", "F-6")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_with_broadcasts(torch: Any, name: str, kind: str) -> None:
    peer = BINARY[name](torch)
    for shapes in (((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4))):
        lhs, rhs = pair(*shapes[0], seed=1), pair(*shapes[1], seed=2)
        compare(torch, CARRIERS[kind], getattr(sw, name), peer, lhs, rhs)


SPREAD = np.array([[3.0, -1.5, 0.25, 2.0], [0.5, 4.0, -2.0, 1.0], [1.25, 0.75, 6.0, -3.0]], "f4")
MODES: dict[str, tuple[Function, Callable[[Any], Function]]] = {
    "reduce_sum": (
        lambda t: sw.reduce_sum(t, "a b -> a"),
        lambda torch: lambda t: t.sum(1),
    ),
    "reduce_prod": (
        lambda t: sw.reduce_prod(t, "a b -> b"),
        lambda torch: lambda t: t.prod(0),
    ),
    "reduce_max": (
        lambda t: sw.reduce_max(t, "a b -> a"),
        lambda torch: lambda t: t.amax(1),
    ),
    "reduce_min": (
        lambda t: sw.reduce_min(t, "a b -> b"),
        lambda torch: lambda t: t.amin(0),
    ),
    "cumsum": (lambda t: sw.cumsum(t, 1), lambda torch: lambda t: t.cumsum(1)),
    "mean": (lambda t: sw.mean(t, 0), lambda torch: lambda t: t.mean(0)),
    "softmax": (lambda t: sw.softmax(t, 0), lambda torch: lambda t: t.softmax(0)),
    "log_softmax": (lambda t: sw.log_softmax(t), lambda torch: lambda t: t.log_softmax(1)),
    "logsumexp": (lambda t: sw.logsumexp(t, 1), lambda torch: lambda t: t.logsumexp(1)),
    "sort": (lambda t: sw.sort(t, 0).values, lambda torch: lambda t: t.sort(0).values),
    "topk": (
        lambda t: sw.topk(t, 2, 1, largest=False).values,
        lambda torch: lambda t: t.topk(2, 1, largest=False).values,
    ),
    "flip": (lambda t: sw.flip(t, 1), lambda torch: lambda t: t.flip(1)),
    "pad": (
        lambda t: sw.pad(t, ((1, 0), (0, 2)), 0.5),
        lambda torch: lambda t: torch.nn.functional.pad(t, (0, 2, 1, 0), value=0.5),
    ),
    "concat": (lambda t: sw.concat([t, t], 1), lambda torch: lambda t: torch.cat([t, t], 1)),
    "stack": (lambda t: sw.stack([t, t], 1), lambda torch: lambda t: torch.stack([t, t], 1)),
    "clamp": (lambda t: sw.clamp(t, -1.0, 2.5), lambda torch: lambda t: t.clamp(-1.0, 2.5)),
}


@pytest.mark.rule("G-13", "F-25", "F-28", "F-30", "F-32", "F-45", "F-49", "F-50")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", MODES)
def test_operations_along_modes(torch: Any, name: str, kind: str) -> None:
    ours, peer = MODES[name]
    compare(torch, CARRIERS[kind], ours, peer(torch), SPREAD)


@pytest.mark.rule("G-13", "F-30")
@pytest.mark.parametrize("kind", CARRIERS)
def test_ties_share_the_gradient_of_an_extremum(torch: Any, kind: str) -> None:
    ties = np.array([[2.0, 2.0, 1.0, 2.0], [0.0, -0.0, -1.0, -2.0], [-1.0] * 4], "f4")
    for ours, theirs in (
        (lambda t: sw.reduce_max(t, "a b -> a"), lambda t: t.amax(1)),
        (lambda t: sw.reduce_min(t, "a b -> a"), lambda t: t.amin(1)),
    ):
        compare(torch, CARRIERS[kind], ours, theirs, ties)


@pytest.mark.rule("G-13", "F-35", "F-37", "F-38", "F-41", "F-42", "F-43", "F-24")
@pytest.mark.parametrize("kind", CARRIERS)
def test_contractions_and_indexing(torch: Any, kind: str) -> None:
    make = CARRIERS[kind]
    lhs, rhs = pair(3, 4, seed=3), pair(5, 4, seed=4)
    compare(torch, make, sw.matmul, lambda a, b: a @ b.T, lhs, rhs)
    batch, other = pair(2, 3, 4, seed=5), pair(2, 5, 4, seed=6)
    compare(
        torch,
        make,
        lambda a, b: sw.einsum(a, b, "b i k, b j k -> b i j"),
        lambda a, b: torch.einsum("bik,bjk->bij", a, b),
        batch,
        other,
    )
    indices, updates = np.array([2, 0], "i4"), pair(2, 4, seed=7)
    compare(
        torch,
        make,
        lambda a, i: sw.gather(a, i, 0),
        lambda a, i: a.index_select(0, i),
        lhs,
        np.array([2, 0, 2], "i4"),
    )
    for ours, theirs in (
        (
            lambda a, i, u: sw.scatter(a, i, u, 0),
            lambda a, i, u: torch.index_put(a, (i.long(),), u),
        ),
        (
            lambda a, i, u: sw.scatter_add(a, i, u, 0),
            lambda a, i, u: torch.index_put(a, (i.long(),), u, accumulate=True),
        ),
    ):
        compare(torch, make, ours, theirs, lhs, indices, updates)
    compare(
        torch,
        make,
        lambda a, b: sw.select(sw.lt(a, b), a, b),
        lambda a, b: torch.where(a < b, a, b),
        lhs,
        pair(3, 4, seed=8),
    )


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7), (4, 3, 3), {}),
    ((1, 2, 9), (2, 2, 3), {"stride": 2, "padding": 2, "dilation": 2}),
    ((2, 4, 5, 6), (6, 2, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
    ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2), {"padding": 1}),
]


@pytest.mark.rule("G-13", "F-39")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize(("shape", "kernel", "options"), CONVOLUTIONS)
def test_convolutions(
    torch: Any, kind: str, shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]
) -> None:
    rank = len(shape) - 2

    def per_mode(name: str, default: int) -> tuple[int, ...]:
        value = options.get(name, default)
        return value if isinstance(value, tuple) else (value,) * rank

    peer = getattr(torch.nn.functional, f"conv{rank}d")
    compare(
        torch,
        CARRIERS[kind],
        lambda x, k: sw.conv_general(
            x,
            k,
            per_mode("stride", 1),
            [(border, border) for border in per_mode("padding", 0)],
            kernel_dilation=per_mode("dilation", 1),
            feature_groups=options.get("groups", 1),
        ),
        lambda x, k: peer(x, k, **options),
        pair(*shape, seed=15),
        pair(*kernel, seed=16),
    )


@pytest.mark.rule("G-13", "F-39")
@pytest.mark.parametrize("kind", CARRIERS)
def test_a_dilated_operand_is_a_transposed_convolution(torch: Any, kind: str) -> None:
    compare(
        torch,
        CARRIERS[kind],
        lambda x, k: sw.conv_general(
            x, sw.permute(sw.flip(k, 2), 1, 0, 2), (1,), ((2, 2),), lhs_dilation=(2,)
        ),
        lambda x, k: torch.nn.functional.conv_transpose1d(x, k, stride=2),
        pair(1, 2, 4, seed=17),
        pair(2, 3, 3, seed=18),
    )


@pytest.mark.rule("G-13", "N-35")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize(
    "logits",
    [
        np.random.default_rng(9).normal(0.0, 3.0, (16, 10)).astype("f4"),
        np.array([[1000.0, 0.0], [-1000.0, 1000.0], [88.0, 89.0]], "f4"),
        np.array([[-np.inf, 0.0, 1.0], [2.0, -np.inf, 2.0]], "f4"),
        np.array([[0.5]], "f4"),
    ],
    ids=["normal", "large", "masked", "one class"],
)
def test_softmax_cross_entropy(torch: Any, kind: str, logits: Any) -> None:
    batch, classes = logits.shape
    targets = (np.arange(batch) * 7 + classes - 1).astype("i4") % classes
    compare(
        torch,
        CARRIERS[kind],
        nn.CrossEntropyLoss(),
        lambda z, t: torch.nn.functional.cross_entropy(z, t.long()),
        logits,
        targets.astype("i4"),
        cotangent=np.array([1.5], "f4"),
    )


@pytest.mark.rule("G-13", "N-34", "N-37")
@pytest.mark.parametrize("kind", CARRIERS)
def test_other_losses_and_tables(torch: Any, kind: str) -> None:
    mse = torch.nn.functional.mse_loss
    compare(torch, CARRIERS[kind], nn.MSELoss(), mse, pair(3, 4, seed=10), pair(3, 4, seed=11))
    table, indices = nn.Embedding(4, 3), np.array([[3, 0], [3, 1]], "i4")
    weight = np.array(table.weight)
    table.to(CARRIERS[kind]([0.0], DType.Float32))
    found = table(tensor(CARRIERS[kind], indices))
    peer = torch.tensor(weight, requires_grad=True)
    expected = torch.nn.functional.embedding(torch.tensor(indices), peer)
    agree(found, expected)
    found.backward(Tensor(CARRIERS[kind]([1.0] * found.size(), DType.Float32), 0, found.layout))
    expected.sum().backward()
    agree(table.weight.grad, peer.grad)


OPTIMISERS: dict[str, tuple[Function, Callable[[Any], Function]]] = {
    "SGD": (
        lambda given: nn.SGD(given, lr=0.1),
        lambda torch: lambda given: torch.optim.SGD(given, lr=0.1),
    ),
    "Adam": (
        lambda given: nn.Adam(given, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.01),
        lambda torch: (
            lambda given: torch.optim.Adam(
                given, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.01
            )
        ),
    ),
}


@pytest.mark.rule("G-13", "N-38", "N-39")
@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(torch: Any, name: str, kind: str) -> None:
    values, generator = pair(3, 4, seed=12), np.random.default_rng(13)
    parameter = Parameter(tensor(CARRIERS[kind], values))
    peer = torch.tensor(values, requires_grad=True)
    ours, theirs = OPTIMISERS[name]
    mine, other = ours([parameter]), theirs(torch)([peer])
    for _ in range(5):
        gradient = generator.normal(size=(3, 4)).astype("f4")
        parameter.grad, peer.grad = tensor(CARRIERS[kind], gradient), torch.tensor(gradient)
        mine.step()
        other.step()
        agree(parameter, peer)


@pytest.mark.rule("G-13", "N-32", "N-35", "N-36", "N-39")
@pytest.mark.parametrize("kind", CARRIERS)
def test_a_small_network_learns_alike(torch: Any, kind: str) -> None:
    make, inputs = CARRIERS[kind], pair(8, 3, seed=14)
    targets = (np.arange(8) % 2).astype("i4")
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    peer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for ours, theirs in zip(model.parameters(), peer.parameters(), strict=True):
            theirs.copy_(torch.tensor(np.array(ours)).reshape(theirs.shape))
    model.to(make([0.0], DType.Float32))
    mine, other = nn.Adam(model.parameters(), lr=0.05), torch.optim.Adam(peer.parameters(), lr=0.05)
    x, labels = tensor(make, inputs), tensor(make, targets)
    for _ in range(5):
        mine.zero_grad()
        other.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), labels)
        expected = torch.nn.functional.cross_entropy(
            peer(torch.tensor(inputs)), torch.tensor(targets).long()
        )
        agree(loss, expected.reshape(1))
        loss.backward()
        expected.backward()
        for ours, theirs in zip(model.parameters(), peer.parameters(), strict=True):
            agree(ours.grad, theirs.grad.reshape(np.asarray(ours).shape))
        mine.step()
        other.step()
