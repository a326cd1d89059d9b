"""What a Tensor of several subtensors answers, and what it refuses before anything happens."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import CompoundDType, DType, Layout, Operation, Tensor, functional
from strideweave.operation import OperandKind, operation_definitions
from strideweave.tensor.representation import Subtensor, TensorRepresentation
from strideweave.testing import ArrayCarrier

Levels = Callable[..., Tensor]
Ramp = Callable[..., Tensor]
REFUSAL = "is not implemented; the operation was rejected before changing any constituent carrier"
FLOAT32 = DType.Float32
CATALOGUE = [it for it in operation_definitions() if "." not in it.name]


def refused(reason: str) -> Any:
    return pytest.raises(NotImplementedError, match=f"^Multi-subtensor Tensor {reason} {REFUSAL}$")


@pytest.fixture
def array_levels(pair: CompoundDType) -> Tensor:
    """The illustration on a carrier class that executes every operation."""
    subtensors = []
    for text in ("(2,2):(1,2)", "2:1"):
        layout = Layout.parse(text)
        carrier = ArrayCarrier(layout.cosize, dtype=FLOAT32)
        subtensors.append(Subtensor(FLOAT32, carrier, 0, layout))
    representation = TensorRepresentation(pair, subtensors, [Layout.parse("(2,2):(0,1)")])
    return Tensor._from_representation(representation)


# What it answers


@pytest.mark.rule("T-5", "T-6", "T-18")
def test_state_of_several_subtensors(levels: Levels) -> None:
    tensor = levels()
    assert not tensor.is_mutable() and tensor.carrier.is_mutable()
    assert not tensor.is_differentiable()
    assert tensor.version == 0 and tensor.autograd_ctx is None
    tensor.grad = None
    tensor.autograd_ctx = None
    with pytest.raises(RuntimeError, match="grad is not available on a TestPair"):
        _ = tensor.grad


@pytest.mark.rule("T-9")
def test_the_version_token_lists_each_carrier_once(
    pair: CompoundDType, plane_carrier: Any, levels: Levels
) -> None:
    tensor = levels()
    first, second = (entry.carrier for entry in tensor._representation().subtensors)
    second[0] = 9.0
    second._increment_version()
    assert [version for _, version in tensor._version_token()] == [0, second.version]
    assert [carrier for carrier, _ in tensor._version_token()] == [first, second]
    shared = plane_carrier(range(6), FLOAT32)
    parts = [
        Subtensor(FLOAT32, shared, 0, tensor.layout),
        Subtensor(FLOAT32, shared, 4, Layout.parse("2:1")),
    ]
    adjacent = tensor._representation().adjacent_layouts
    other = Tensor._from_representation(TensorRepresentation(pair, parts, adjacent))
    assert other._version_token() == ((shared, 0),)


# Coordinate access


@pytest.mark.rule("T-12", "T-18", "T-29")
@pytest.mark.parametrize("key", [0, (1, 1), [0, 0], "x", 0.5, None, ..., (9, 9)])
def test_reading_is_refused_whatever_the_key(levels: Levels, key: Any) -> None:
    with refused("indexing"):
        levels()[key]


@pytest.mark.rule("T-12", "T-18", "T-47")
@pytest.mark.parametrize("key", [0, (1, 1), "x", slice(None), (slice(None), 0), ...])
def test_writing_is_refused_whatever_the_key(levels: Levels, key: Any) -> None:
    tensor = levels()
    with refused("mutation"):
        tensor[key] = object()
    assert tensor._version_token()[0][1] == 0


@pytest.mark.rule("T-18", "T-48")
@pytest.mark.parametrize("name", ["item", "tolist", "detach"])
def test_whole_values_are_refused(levels: Levels, name: str) -> None:
    with refused("indexing"):
        getattr(levels(), name)()


@pytest.mark.rule("T-18", "M-49")
def test_numpy_export_is_refused(levels: Levels) -> None:
    with refused("NumPy export"):
        levels().numpy()
    with refused("NumPy export"):
        levels().__array__()


@pytest.mark.rule("T-47")
def test_several_subtensors_are_no_source_of_a_bulk_write(levels: Levels, ramp: Ramp) -> None:
    tensor = ramp("(2,2):(1,2)")
    with pytest.raises(TypeError, match="TestPair"):
        tensor[...] = levels()
    assert tensor.version == 0


# Operations


@pytest.mark.rule("T-18", "O-46", "O-61")
@pytest.mark.parametrize("definition", CATALOGUE, ids=lambda it: it.name)
@pytest.mark.parametrize("several_at", [0, -1])
def test_every_operation_refuses_them_first(
    array_levels: Tensor, ramp: Ramp, definition: Any, several_at: int
) -> None:
    operands: list[Any] = [
        ramp("(2,2):(1,2)") if spec.kind is OperandKind.TENSOR else "whatever"
        for spec in definition.schema.operands
    ]
    tensors = [at for at, operand in enumerate(operands) if isinstance(operand, Tensor)]
    operands[tensors[several_at]] = array_levels
    with refused("operation execution"):
        definition(*operands)
    with refused("operation execution"):
        array_levels.carrier.dispatch_op(definition.name).forward(*operands)


@pytest.mark.rule("T-18", "T-8")
@pytest.mark.parametrize(
    "use",
    [
        lambda t: t + t,
        lambda t: t + 1.0,
        lambda t: 1.0 - t,
        lambda t: t / 2,
        lambda t: t < 0.0,
        lambda t: t * 2.0,
        lambda t: t**2,
        lambda t: -t,
        lambda t: t @ t,
        lambda t: functional.softmax(t, 0),
        lambda t: functional.mean(t, 0),
        lambda t: functional.concat([t, t], 0),
        lambda t: functional.stack([t, t], 0),
        lambda t: functional.reduce_sum(t, "a b -> a"),
        lambda t: sw.rearrange(t, "a b -> b a"),
        lambda t: sw.explain("exp", t),
    ],
)
def test_public_functions_and_operators_refuse_them(
    array_levels: Tensor, monkeypatch: pytest.MonkeyPatch, use: Callable[[Tensor], object]
) -> None:
    def no_allocation(*arguments: object, **options: object) -> object:
        raise AssertionError("allocated before the refusal")

    monkeypatch.setattr(ArrayCarrier, "new_like", no_allocation)
    with refused("operation execution"):
        use(array_levels)


@pytest.mark.rule("O-46", "T-18")
def test_an_operation_of_the_carrier_itself_is_guarded_too(levels: Levels) -> None:
    class Own(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            raise AssertionError("executed")

    with refused("operation execution"):
        Own().forward(3, levels())
    with pytest.raises(TypeError, match="no keyword 'other'"):
        Own().forward(levels(), other=1)


@pytest.mark.rule("T-18", "T-28")
def test_rearrange_is_no_view_of_several_subtensors(levels: Levels) -> None:
    tensor = levels()
    with refused("operation execution"):
        tensor.carrier.dispatch_op("rearrange").forward(tensor, sw.Tree(sw.Node.id(0)))
    with refused("operation execution"):
        sw.rearrange(tensor, "a b -> (a b)")


# Gradients


@pytest.mark.rule("T-18", "T-6", "A-11")
def test_backward_and_grad_are_refused_before_the_dtype_is(levels: Levels, ramp: Ramp) -> None:
    with refused("backward"):
        levels().backward()
    with refused("grad"):
        sw.grad(levels(), [ramp("2:1")], ramp("2:1"))


@pytest.mark.rule("T-18")
def test_several_subtensors_are_no_cotangent(levels: Levels, ramp: Ramp) -> None:
    tensor = ramp("(2,2):(1,2)")
    with refused("backward"):
        tensor.backward(levels())
    with refused("backward"):
        sw.grad(tensor, [tensor], levels())
    with refused("backward"):
        sw.grad(tensor, [tensor], levels(), batched=True)
    for result in (sw.neg(tensor), sw.permute(tensor, 0, 1)):
        node = result.autograd_ctx
        assert node is not None
        with refused("backward"):
            node.backward(levels())
    assert tensor.grad is None
