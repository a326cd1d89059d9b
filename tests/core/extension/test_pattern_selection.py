"""The order in which patterns prepare, and what their answers lead to."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, KernelExecutionInterface, KernelPack, KernelPattern, Unsupported
from strideweave.carriers.extension import PreparedKernel

FLOAT32, INT32 = DType.Float32, DType.Int32


class Log:
    """Makes patterns that note when they prepare."""

    def __init__(self, workshop: Any) -> None:
        self.workshop = workshop
        self.operation = workshop.operation()
        self.prepared: list[str] = []

    def pattern(self, kernel_id: str, answer: Any = None, preference: int = 0) -> Any:
        def prepare(invocation: Any, interface: Any) -> Any:
            self.prepared.append(kernel_id)
            if isinstance(answer, Exception):
                raise answer
            if answer is None:
                return self.workshop.prepare_double(invocation, interface)
            return answer

        return self.workshop.pattern(self.operation, kernel_id, prepare, preference)


@pytest.fixture
def log(workshop: Any) -> Log:
    return Log(workshop)


@pytest.mark.rule("R-102", "R-107")
def test_prefer_an_optimized_kernel_with_fallback(workshop: Any, log: Log) -> None:
    def prepare(invocation: Any, interface: Any) -> Any:
        log.prepared.append("fast")
        if invocation.operands[0].offset % 4:
            return Unsupported("the offset must be a multiple of 4")
        return workshop.prepare_double(invocation, interface)

    fast = workshop.pattern(log.operation, "fast", prepare, preference=5)
    carrier_class = workshop.defined([log.pattern("general"), fast])
    carrier = carrier_class(8, dtype=FLOAT32).new_like(range(8))
    before = carrier.operation_capabilities()
    aligned = sw.Tensor(carrier, 4, sw.Layout(sw.Shape(2), sw.Stride(1)))
    odd = sw.Tensor(carrier, 1, sw.Layout(sw.Shape(2), sw.Stride(1)))
    assert log.operation(aligned).tolist() == [8.0, 10.0] and log.prepared == ["fast"]
    log.prepared.clear()
    assert log.operation(odd).tolist() == [2.0, 4.0] and log.prepared == ["fast", "general"]
    assert carrier.operation_capabilities() == before and carrier.version == 0


@pytest.mark.rule("R-101", "R-108")
def test_break_equal_preference_ties_deterministically(workshop: Any, log: Log) -> None:
    no = Unsupported("next")
    interface = KernelExecutionInterface("1")
    carrier_class = workshop.defined(
        [log.pattern("own.1", no), log.pattern("own.2", no), log.pattern("own.low", no, -1)]
    )
    for namespace, version in (("b", "1"), ("a", "2"), ("a", "10")):
        patterns = [
            log.pattern(f"{namespace}.{version}.first", no),
            log.pattern(f"{namespace}.{version}.second", no),
            log.pattern(f"{namespace}.{version}.high", no, 1),
        ]
        sw.register_kernel_pack(KernelPack(namespace, version, carrier_class, interface, patterns))
    tensor = workshop.tensor(carrier_class, 1.0)
    with pytest.raises(sw.UnsupportedOperationPlan):
        log.operation(tensor)
    assert log.prepared == [
        "a.10.high",
        "a.2.high",
        "b.1.high",
        "own.1",
        "own.2",
        "a.10.first",
        "a.10.second",
        "a.2.first",
        "a.2.second",
        "b.1.first",
        "b.1.second",
        "own.low",
    ]


@pytest.mark.rule("R-103", "R-109")
def test_treat_a_preparation_exception_as_terminal(workshop: Any, log: Log) -> None:
    failure = MemoryError("no workspace")
    carrier_class = workshop.defined(
        [log.pattern("fallback"), log.pattern("first", failure, preference=1)]
    )
    tensor = workshop.tensor(carrier_class, 1.0)
    with pytest.raises(MemoryError, match="no workspace") as caught:
        log.operation(tensor)
    assert caught.value is failure and log.prepared == ["first"]
    (note,) = failure.__notes__
    assert "'first'" in note and "Shelf" in note and log.operation.name in note
    assert tensor.version == 0


@pytest.mark.rule("R-104", "O-64")
def test_all_rejections_are_reported_in_order(workshop: Any, log: Log) -> None:
    carrier_class = workshop.defined(
        [
            log.pattern("one", Unsupported("too big")),
            log.pattern("two", Unsupported("too odd"), preference=2),
        ]
    )
    tensor = workshop.tensor(carrier_class, 1.0)
    with pytest.raises(sw.UnsupportedOperationPlan, match=r"too odd.*too big") as caught:
        log.operation(tensor)
    assert "Shelf" in str(caught.value) and log.operation.name in str(caught.value)
    assert tensor.version == 0


@pytest.mark.rule("R-98", "S-3")
@pytest.mark.parametrize("answer", [3, "no", KernelExecutionInterface("1")])
def test_another_answer_of_prepare_is_terminal(workshop: Any, log: Log, answer: Any) -> None:
    carrier_class = workshop.defined(
        [log.pattern("wrong", answer, preference=1), log.pattern("right")]
    )
    with pytest.raises(TypeError, match="'wrong' of Shelf: prepare must return a PreparedKernel"):
        log.operation(workshop.tensor(carrier_class, 1.0))
    assert log.prepared == ["wrong"]


@pytest.mark.rule("R-100")
def test_a_pattern_matches_its_exact_plans_only(workshop: Any, log: Log) -> None:
    def refuse(invocation: Any, interface: Any) -> Any:
        raise AssertionError("this plan is not the invocation's")

    other_plan = KernelPattern(
        log.operation, [workshop.capability(log.operation.name, INT32)], "other", refuse, 9
    )
    other_operation = workshop.pattern(workshop.operation(), "elsewhere", refuse, 9)
    carrier_class = workshop.defined([other_plan, other_operation, log.pattern("right")])
    assert log.operation(workshop.tensor(carrier_class, 1.0)).tolist() == [2.0]
    assert log.prepared == ["right"]


@pytest.mark.rule("R-105", "O-30")
def test_capabilities_are_the_union_of_all_plans(workshop: Any, log: Log) -> None:
    both = [workshop.capability(log.operation.name, dtype) for dtype in (INT32, FLOAT32)]

    def prepare(invocation: Any, interface: Any) -> Any:
        return Unsupported("never")

    patterns = [
        KernelPattern(log.operation, both, "wide", prepare),
        KernelPattern(log.operation, both[1:], "narrow", prepare),
    ]
    tensor = workshop.tensor(workshop.defined(patterns), 1.0)
    capabilities = tensor.carrier.operation_capabilities()
    assert set(capabilities) == set(both) and len(capabilities) == 2
    for _ in range(2):
        with pytest.raises(sw.UnsupportedOperationPlan):
            log.operation(tensor)
        assert tensor.carrier.operation_capabilities() == capabilities


@pytest.mark.rule("R-79", "R-80", "R-83", "R-106")
def test_prepare_a_jit_specialization(workshop: Any) -> None:
    class JitInterface(KernelExecutionInterface):
        def __init__(self, version: str) -> None:
            super().__init__(version)
            self.compiled: dict[int, Any] = {}

    interface = JitInterface("3")
    operation = workshop.operation()
    seen: list[Any] = []

    def prepare(invocation: Any, given: JitInterface) -> PreparedKernel:
        seen.append(given)
        size = invocation.operands[0].size()
        if size not in given.compiled:
            given.compiled[size] = workshop.doubled
        kernel = given.compiled[size]
        return PreparedKernel(given, lambda: kernel(invocation))

    carrier_class = workshop.defined(
        [workshop.pattern(operation, prepare=prepare)], interface=interface
    )
    assert operation(workshop.tensor(carrier_class, 1.0, 2.0)).tolist() == [2.0, 4.0]
    assert seen == [interface] and list(interface.compiled) == [2]


@pytest.mark.rule("R-81", "R-82", "R-84")
def test_use_a_precompiled_kernel_through_the_same_boundary(workshop: Any) -> None:
    precompiled = workshop.doubled
    operation = workshop.operation()
    handed: list[KernelExecutionInterface] = []

    def prepare(invocation: Any, interface: Any) -> PreparedKernel:
        return PreparedKernel(handed[-1], lambda: precompiled(invocation))

    carrier_class = workshop.defined([workshop.pattern(operation, prepare=prepare)])
    tensor = workshop.tensor(carrier_class, 3.0)
    handed.append(KernelExecutionInterface("1"))  # equal identity, another instance
    assert operation(tensor).tolist() == [6.0]

    class Native(KernelExecutionInterface):
        pass

    for wrong in (Native("1"), KernelExecutionInterface("2")):
        handed.append(wrong)
        with pytest.raises(TypeError, match=r"'kernel' of Shelf: the prepared interface is"):
            operation(tensor)
    assert tensor.version == 0
