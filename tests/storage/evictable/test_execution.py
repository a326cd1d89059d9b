"""Operations and gradients over hierarchies."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Evictable, FileBacked, Generic, Layout, Operation, Tensor
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_policy import OperationPlan, resolve_operation_plan
from strideweave.operation import ResolvedInvocation, bind_kernel, operation_definition
from strideweave.testing import ArrayCarrier

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
VIEWS = "view permute rearrange reshape squeeze unsqueeze broadcast_to as_strided".split()


def tensor(values: list[Any], layout: str | None = None, offset: int = 0) -> Tensor:
    carrier = Evictable(Generic(values), Generic([]))
    return Tensor(carrier, offset, Layout.parse(layout or f"{len(values)}:1"))


@pytest.mark.rule("C-80", "O-44", "O-50", "O-40")
def test_every_advertised_name_and_every_view_is_dispatched() -> None:
    carrier = Evictable(Generic([1.0]), Generic([]))
    advertised = {capability.operation for capability in carrier.operation_capabilities()}
    assert {"add", "matmul", "lt"} <= advertised
    for name in [*VIEWS, *sorted(advertised)]:
        first, second = carrier.dispatch_op(name), carrier.dispatch_op(name)
        assert first is not second and first._dispatch_carrier_class is Evictable
    with pytest.raises(NotImplementedError, match=r"Evictable does not execute 'nope'"):
        carrier.dispatch_op("nope")
    with pytest.raises(TypeError, match="must be a str"):
        carrier.dispatch_op(3)  # type: ignore[arg-type]


@pytest.mark.rule("C-80")
def test_results_are_hierarchies_of_their_own() -> None:
    x = Tensor(Evictable(Generic([1.0, 2.0, 3.0]), FileBacked()), 1, Layout.parse("2:1"))
    total = sw.add(x, x)
    assert total.tolist() == [4.0, 6.0]
    result, operand = total.carrier, x.carrier
    assert isinstance(result, Evictable) and isinstance(operand, Evictable)
    assert result is not operand and not result.is_evicted() and result.is_mutable()
    assert (type(result.primary), type(result.secondary)) == (Generic, FileBacked)
    assert result.primary.is_owned() and result.size() == 2 and result.secondary.size() == 0
    result.evict()
    result.promote()
    assert total.tolist() == [4.0, 6.0]
    assert operand.version == 0 == operand.primary.version


@pytest.mark.rule("C-80", "C-77")
def test_results_of_another_dtype() -> None:
    x = tensor([1.0, -2.0])
    found = x < 0.0
    assert found.dtype() is BOOL and found.tolist() == [False, True]
    assert isinstance(found.carrier, Evictable) and found.carrier.secondary.dtype() is BOOL


@pytest.mark.rule("C-82", "50/E-24")
def test_views_reuse_the_hierarchy() -> None:
    x = tensor([1.0, 2.0, 3.0])
    for view in (x[0:2], sw.reshape(x, sw.Shape(3, 1)), sw.permute(x, 0)):
        assert view.carrier is x.carrier


@pytest.mark.rule("C-81", "C-74", "O-45", "O-50")
def test_evicted_operands_are_refused() -> None:
    x, y = tensor([1.0]), tensor([2.0])
    operation = x.carrier.dispatch_op("add")
    assert isinstance(y.carrier, Evictable) and isinstance(x.carrier, Evictable)
    y.carrier.evict()
    for refused in (lambda: sw.add(x, y), lambda: sw.add(y, x), lambda: operation.forward(x, y)):
        with pytest.raises(RuntimeError, match=r"evicted to its Generic.*promote\(\)"):
            refused()
    y.carrier.promote()
    assert sw.add(x, y).tolist() == [3.0]


@pytest.mark.rule("C-81", "O-51")
def test_released_operands_are_refused_after_semantic_faults() -> None:
    x, y = tensor([1.0, 2.0]), tensor([3.0, 4.0])
    y.carrier.release()
    with pytest.raises(RuntimeError, match="Evictable is released"):
        sw.add(x, y)
    with pytest.raises(RuntimeError, match="Evictable is released"):
        sw.add(y, x)
    with pytest.raises(ValueError):
        sw.add(y, tensor([1.0, 2.0, 3.0]))


@pytest.mark.rule("C-81")
def test_tiers_of_all_operands_have_the_same_classes() -> None:
    generic = tensor([1.0])
    array = ArrayCarrier(1, dtype=FLOAT)
    other_primary = Tensor(Evictable(array, Generic([])), 0, Layout.parse("1:1"))
    other_secondary = Tensor(
        Evictable(Generic([1.0]), FileBacked()), 0, Layout.parse("(1,1):(1,1)")
    )
    with pytest.raises(TypeError, match=r"add: the primary carriers .* Generic and ArrayCarrier"):
        sw.add(generic, other_primary)
    with pytest.raises(TypeError, match=r"secondary carriers .* Generic and FileBacked"):
        sw.add(generic, other_secondary)
    with pytest.raises(TypeError, match="secondary carriers"):
        generic.carrier.dispatch_op("add").forward(generic, other_secondary)
    with pytest.raises(TypeError, match="carriers must match"):
        sw.add(generic, Tensor(Generic([1.0]), 0, Layout.parse("1:1")))


@pytest.mark.rule("C-81")
def test_tiers_of_nested_hierarchies_have_the_same_classes() -> None:
    def nested(innermost: Any) -> Tensor:
        carrier = Evictable(Evictable(innermost, Generic([])), Generic([]))
        return Tensor(carrier, 0, Layout.parse("1:1"))

    assert sw.add(nested(Generic([1.0])), nested(Generic([2.0]))).tolist() == [3.0]
    with pytest.raises(TypeError, match=r"primary carriers .* Generic and ArrayCarrier"):
        sw.add(nested(Generic([1.0])), nested(ArrayCarrier(1, dtype=FLOAT)))


@pytest.mark.rule("C-81", "C-77", "O-50")
def test_what_is_not_advertised_is_refused() -> None:
    carrier = Evictable(FileBacked().new_like([1.0]), Generic([]))
    x = Tensor(carrier, 0, Layout.parse("1:1"))
    assert not carrier.supports_operation_plan(resolve_operation_plan("relu", FLOAT))
    for refused in (lambda: sw.relu(x), lambda: carrier.dispatch_op("relu")):
        with pytest.raises(sw.UnsupportedOperationPlan, match="Evictable executes no 'relu'"):
            refused()
    assert x[0:1].tolist() == [1.0]


class FloatsOnly(sw.Carrier):
    """A secondary that stores no Bool."""

    def size(self) -> int:
        return 0

    def dtype(self) -> DType:
        return FLOAT

    def _is_mutable(self) -> bool:
        return True

    def allocate_like(self, size: Any, **keywords: Any) -> "FloatsOnly":
        return FloatsOnly()


@pytest.mark.rule("C-77", "C-81", "O-50")
def test_a_plan_outside_the_snapshot_is_refused_by_the_match_stage() -> None:
    x = Tensor(Evictable(Generic([1.0, -1.0]), FloatsOnly()), 0, Layout.parse("2:1"))
    assert sw.neg(x).tolist() == [-1.0, 1.0]
    with pytest.raises(sw.UnsupportedOperationPlan, match="executes no 'lt'"):
        sw.lt(x, x)
    with pytest.raises(sw.UnsupportedOperationPlan, match="Evictable executes no 'lt'"):
        operation_definition("lt")(x, x)


class Own(Operation):
    """What a definition-free carrier may write itself, without a kernel."""

    def _forward(self, *inputs: Any, **keywords: Any) -> Tensor:
        first = inputs[0]
        values = [2.0 * value for value in first.tolist()]
        return Tensor(first.carrier.new_like(values), 0, Layout.parse(f"{len(values)}:1"))

    def backward(self, gradient: Any) -> Any:
        return (gradient,)


def overridden(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setattr(Generic, "_dispatch_op", lambda self, name: make(name))


@pytest.mark.rule("C-80")
def test_an_operation_without_a_kernel_runs_by_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    overridden(monkeypatch, lambda name: Own())
    result = sw.relu(tensor([1.0, -2.0]))
    assert result.tolist() == [2.0, -4.0] and isinstance(result.carrier, Evictable)
    assert type(result.autograd_ctx) is not Own


@pytest.mark.rule("C-80")
def test_a_result_on_another_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(invocation: ResolvedInvocation) -> Tensor:
        return Tensor(ArrayCarrier(2, dtype=FLOAT), 0, Layout.parse("2:1"))

    overridden(monkeypatch, lambda name: bind_kernel(name, elsewhere))
    with pytest.raises(TypeError, match="relu: the kernel of Generic gave a result on Array"):
        sw.relu(tensor([1.0, -2.0]))


@pytest.mark.rule("C-80", "O-70")
def test_the_primary_s_results_are_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(invocation: ResolvedInvocation) -> Tensor:
        return Tensor(Generic([1.0]), 0, Layout.parse("1:1"))

    overridden(monkeypatch, lambda name: bind_kernel(name, short))
    x = tensor([1.0, -2.0])
    with pytest.raises(sw.ProviderContractError) as failure:
        sw.relu(x)
    assert failure.value.field in ("storage_size", "shape")
    assert x.version == 0


@pytest.mark.rule("C-80")
def test_kernels_of_definition_backed_primaries_run() -> None:
    carrier = Evictable(ArrayCarrier(2, dtype=FLOAT).new_like([1.0, -2.0]), Generic([]))
    result = sw.relu(Tensor(carrier, 0, Layout.parse("2:1")))
    assert result.tolist() == [1.0, 0.0]
    assert isinstance(result.carrier, Evictable) and type(result.carrier.primary) is ArrayCarrier


@pytest.mark.rule("C-82", "O-75", "A-35")
def test_there_is_one_node_over_the_hierarchies() -> None:
    x = tensor([1.0, -2.0, 3.0])
    y = sw.relu(x)
    node = y.autograd_ctx
    assert node is not None and node.inputs() == (x,)
    assert node._dispatch_carrier_class is Evictable
    with pytest.raises(RuntimeError, match="executes once"):
        node.forward(x)
    y.backward(tensor([1.0, 10.0, 100.0]))
    assert x.grad is not None and x.grad.tolist() == [1.0, 0.0, 100.0]
    assert isinstance(x.grad.carrier, Evictable) and x.grad.carrier is not x.carrier


@pytest.mark.rule("C-82", "A-35", "A-14", "A-17")
def test_gradients_accumulate_on_hierarchies() -> None:
    x = tensor([1.0, 2.0])
    for total in ([3.0, 5.0], [6.0, 10.0]):
        y = x * x + x
        y.backward(tensor([1.0, 1.0]))
        assert x.grad is not None and x.grad.tolist() == total


@pytest.mark.rule("C-82", "A-35")
@pytest.mark.parametrize("layout", ["3:2", "(2,2):(3,1)", "(2,3):(0,1)", "4:1"])
def test_gradients_agree_with_the_primary_s(layout: str) -> None:
    values = [0.5, -1.0, 2.0, 3.0, -0.25, 1.5, 4.0]
    placed = Layout.parse(layout)

    def gradient(carrier: Any) -> list[float]:
        x = Tensor(carrier, 1, placed)
        y = sw.permute(x, *reversed(range(len(placed.shape)))) if len(placed.shape) > 1 else x
        total = sw.exp(y) + y * y
        ones = Tensor(carrier.new_like([1.0] * total.size()), 0, total.layout)
        total.backward(ones)
        assert x.grad is not None
        return [x.grad[ordinal] for ordinal in range(x.size())]

    expected = gradient(Generic(values))
    assert gradient(Evictable(Generic(values), Generic([]))) == expected


@pytest.mark.rule("C-82")
def test_values_that_backward_reads_are_promoted_first() -> None:
    x = tensor([1.0, 2.0])
    y = sw.exp(x * x)
    assert isinstance(y.carrier, Evictable) and isinstance(x.carrier, Evictable)
    seed = tensor([1.0, 1.0])
    x.carrier.evict()
    with pytest.raises(RuntimeError, match="promote"):
        y.backward(seed, retain_graph=True)
    x.carrier.promote()
    y.backward(seed)
    assert x.grad is not None and x.grad[0] == pytest.approx(2 * 2.718281828)


@pytest.mark.rule("C-82")
def test_a_result_and_operands_that_are_not_read_may_be_evicted() -> None:
    x, y = tensor([1.0, 2.0]), tensor([3.0, 4.0])
    total = x + y
    for carrier in (x.carrier, y.carrier, total.carrier):
        assert isinstance(carrier, Evictable)
        carrier.evict()
    total.backward(tensor([1.0, 2.0]))
    assert x.grad is not None and x.grad.tolist() == [1.0, 2.0]


@pytest.mark.rule("C-82", "A-24", "G-4")
def test_a_residency_change_is_no_modification_and_a_write_is() -> None:
    x = tensor([1.0, 2.0])
    assert isinstance(x.carrier, Evictable)
    y = x * x
    x.carrier.evict()
    x.carrier.promote()
    y.backward(tensor([1.0, 1.0]), retain_graph=True)
    x[0] = 9.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        y.backward(tensor([1.0, 1.0]))


ALIASED = "evictable_tests.negate"


class Negated(sw.Carrier):
    """Executes one operation, which changes its operand and returns it."""


def resolve_negation(call: Any) -> ResolvedInvocation:
    (x,) = call.operands
    like = resolve_operation_plan("relu", FLOAT)
    plan = OperationPlan(ALIASED, like.operands, like.compute, None, None, FLOAT)
    spec = sw.ResultSpec(FLOAT, x.shape, x.layout, alias_of=0)
    return ResolvedInvocation(call, plan, [spec], mutated_operands=(0,))


NEGATE = sw.define_operation(
    ALIASED,
    sw.OperationSchema((sw.OperandSpec("x", sw.OperandKind.TENSOR),)),
    resolve_negation,
    vjp=sw.NON_DIFFERENTIABLE,
)


def prepare_negation(invocation: Any, interface: Any) -> PreparedKernel:
    (x,) = invocation.operands

    def submit() -> ProviderResult:
        for slot in range(x.carrier.size()):
            x.carrier[slot] = -x.carrier[slot]
        return ProviderResult((x,))

    return PreparedKernel(interface, submit)


def negating() -> sw.CarrierDefinition[Any]:
    like = resolve_operation_plan("relu", FLOAT)
    plan = OperationPlan(ALIASED, like.operands, like.compute, None, None, FLOAT)
    pattern: Any = sw.KernelPattern(
        NEGATE, [sw.OperationCapability.from_plan(plan)], "negate", prepare_negation
    )
    storage: Any = sw.StorageProvider(
        lambda carrier, dtype: dtype is FLOAT,
        lambda carrier: len(carrier.values),
        lambda carrier, slots: setattr(carrier, "values", [1.0] * slots),
        lambda carrier: carrier.values.clear(),
        lambda carrier, slot: carrier.values[slot],
        lambda carrier, slot, value: carrier.values.__setitem__(slot, value),
        elementwise_fallback=True,
    )
    return sw.CarrierDefinition(
        storage, sw.KernelProvider(sw.KernelExecutionInterface("1"), [pattern])
    )


sw.register_carrier_definition(Negated, negating())


@pytest.mark.rule("C-80", "C-69", "O-72")
def test_an_aliased_result_is_the_operand_itself() -> None:
    hierarchy = Evictable(Negated(2, dtype=FLOAT), Generic([]))
    x = Tensor(hierarchy, 0, Layout.parse("2:1"))
    assert NEGATE(x) is x
    assert x.tolist() == [-1.0, -1.0] and (hierarchy.version, hierarchy.primary.version) == (1, 1)
    fixed = Evictable(Negated(2, dtype=FLOAT, mutable=False), Generic([]))
    with pytest.raises(RuntimeError, match="not mutable"):
        NEGATE(Tensor(fixed, 0, Layout.parse("2:1")))
