"""DependentCarrier: one frozen capability snapshot per instance."""

import gc
from typing import Any

import pytest

import strideweave as sw
from strideweave import DependentCarrier, DType, OperationCapability
from strideweave.carriers.operation_capability import capabilities_for_carrier_class
from strideweave.carriers.operation_policy import resolve_operation_plan

FLOAT32 = DType.Float32
RELU = resolve_operation_plan("relu", FLOAT32)
EXP = resolve_operation_plan("exp", FLOAT32)


def capability(plan: Any) -> OperationCapability:
    return OperationCapability.from_plan(plan)


class Wrapper(DependentCarrier):
    """A definition-free dependent carrier that reports what it is given."""

    def __init__(self, reported: Any, *, finalizes: bool = True) -> None:
        super().__init__()
        self.reported = reported
        if finalizes:
            self._finalize_dependent_capabilities()

    def _generate_operation_capabilities(self) -> Any:
        return self.reported


@pytest.mark.rule("O-32", "O-33")
def test_instances_of_one_class_keep_their_own_snapshots() -> None:
    relu, exp = capability(RELU), capability(EXP)
    first, second = Wrapper([relu, exp]), Wrapper(iter([relu]))
    assert first.operation_capabilities() == (exp, relu)
    assert second.operation_capabilities() == (relu,)
    assert first.supports_operation_plan(EXP) and not second.supports_operation_plan(EXP)
    assert capabilities_for_carrier_class(Wrapper) == ()


@pytest.mark.rule("O-29", "O-33")
def test_an_unfinalized_instance_answers_nothing() -> None:
    carrier = Wrapper([], finalizes=False)
    for query in (
        carrier.operation_capabilities,
        lambda: carrier.supports_operation_plan("no plan"),  # type: ignore[arg-type]
        lambda: carrier.require_operation_plan(RELU),
    ):
        with pytest.raises(RuntimeError, match="Wrapper are not final yet"):
            query()
    carrier._finalize_dependent_capabilities()
    assert carrier.operation_capabilities() == ()


@pytest.mark.rule("O-33")
def test_finalization_happens_once_and_keeps_the_first_snapshot() -> None:
    carrier = Wrapper([capability(RELU)])
    carrier.reported = []
    with pytest.raises(RuntimeError, match="Wrapper are final already"):
        carrier._finalize_dependent_capabilities()
    assert carrier.supports_operation_plan(RELU)


@pytest.mark.rule("O-33")
@pytest.mark.parametrize(
    ("reported", "kind", "message"),
    [
        (3, TypeError, "_generate_operation_capabilities must give an iterable"),
        ([RELU], TypeError, "entry 0 must be an OperationCapability"),
        ([capability(RELU)] * 2, ValueError, "entry 1 repeats"),
    ],
)
def test_a_failed_finalization_publishes_nothing(
    reported: Any, kind: type[Exception], message: str
) -> None:
    carrier = Wrapper(reported, finalizes=False)
    with pytest.raises(kind, match=message):
        carrier._finalize_dependent_capabilities()
    with pytest.raises(RuntimeError, match="not final yet"):
        carrier.operation_capabilities()
    carrier.reported = [capability(EXP)]
    carrier._finalize_dependent_capabilities()
    assert carrier.supports_operation_plan(EXP)


@pytest.mark.rule("O-33")
def test_an_exception_of_the_generator_propagates() -> None:
    def generate() -> Any:
        yield capability(RELU)
        raise KeyError("inner")

    with pytest.raises(KeyError, match="inner"):
        Wrapper(generate())


@pytest.mark.rule("O-32")
def test_a_definition_free_subclass_must_report() -> None:
    class Silent(DependentCarrier):
        def __init__(self) -> None:
            super().__init__()
            self._finalize_dependent_capabilities()

    with pytest.raises(NotImplementedError, match="Silent must implement _generate_operation"):
        Silent()


@pytest.mark.rule("O-34", "G-11")
def test_snapshots_belong_to_the_object_not_to_its_equality() -> None:
    class Equal(Wrapper):
        __slots__ = ("extra",)

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    first, second = Equal([capability(RELU)]), Equal([])
    assert first == second
    assert first.supports_operation_plan(RELU) and not second.supports_operation_plan(RELU)


@pytest.mark.rule("O-34", "G-11")
def test_a_new_instance_at_a_reused_address_has_no_old_snapshot() -> None:
    for _ in range(200):
        carrier = Wrapper([capability(RELU)])
        assert carrier.supports_operation_plan(RELU)
        del carrier
        gc.collect(0)
        fresh = Wrapper([], finalizes=False)
        with pytest.raises(RuntimeError, match="not final yet"):
            fresh.operation_capabilities()


@pytest.mark.rule("O-32", "C-62", "R-69")
def test_a_definition_backed_instance_is_finalized_after_its_init(workshop: Any) -> None:
    inner = workshop.defined([workshop.pattern(workshop.operation())])(1, dtype=FLOAT32)
    seen: list[Any] = []

    def capabilities(carrier: Any) -> Any:
        seen.append((carrier, carrier.inner, carrier.size()))
        return carrier.inner.operation_capabilities()

    carrier = workshop.dependent(workshop.composite(capabilities=capabilities))(inner, 3)
    assert seen == [(carrier, inner, 3)]
    assert carrier.operation_capabilities() == inner.operation_capabilities() != ()


@pytest.mark.rule("O-32")
def test_a_definition_backed_init_may_finalize_itself(workshop: Any) -> None:
    calls: list[Any] = []

    def construct(self: Any) -> None:
        DependentCarrier.__init__(self, 1, dtype=FLOAT32)
        self._finalize_dependent_capabilities()

    def capabilities(carrier: Any) -> Any:
        calls.append(carrier)
        return ()

    carrier_class = workshop.subclass(DependentCarrier, "Wrap", __init__=construct)
    workshop.defined(
        None,
        carrier_class=carrier_class,
        composite=workshop.composite(capabilities=capabilities),
    )
    carrier = carrier_class()
    assert calls == [carrier]


@pytest.mark.rule("C-62", "O-29", "C-46")
def test_the_snapshot_ignores_mutability_ownership_and_release(workshop: Any) -> None:
    inner = workshop.defined([workshop.pattern(workshop.operation())])(1, dtype=FLOAT32)
    carrier = workshop.dependent()(inner)
    before = carrier.operation_capabilities()
    carrier._claim_ownership()
    inner.release()
    assert carrier.operation_capabilities() == before
    other = workshop.dependent()(inner)
    other.release()
    assert other.operation_capabilities() == before


@pytest.mark.rule("R-69", "O-33", "C-10", "S-20", "G-3")
@pytest.mark.parametrize(
    ("capabilities", "kind", "message"),
    [
        (lambda carrier: 3, TypeError, "CompositeProvider.capabilities of Wrap must give"),
        (lambda carrier: ["relu"], TypeError, "entry 0 must be an OperationCapability"),
        (lambda carrier: [capability(RELU)] * 2, ValueError, "entry 1 repeats"),
        (lambda carrier: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_failed_composite_exposes_no_instance_and_releases_its_storage(
    workshop: Any, capabilities: Any, kind: type[Exception], message: str
) -> None:
    released: list[Any] = []
    carrier_class = workshop.dependent(
        workshop.composite(capabilities=capabilities),
        storage=workshop.storage(release=lambda carrier: released.append(carrier)),
    )
    inner = workshop.defined()(1, dtype=FLOAT32)
    with pytest.raises(kind, match=message) as caught:
        carrier_class(inner)
    (unfinished,) = released
    assert unfinished.is_released()
    if kind is ZeroDivisionError:
        assert caught.value.__notes__ == ["raised by CompositeProvider.capabilities of Wrap"]


@pytest.mark.rule("C-10")
def test_an_init_that_fails_after_its_base_releases_the_storage(workshop: Any) -> None:
    def construct(self: Any) -> None:
        DependentCarrier.__init__(self, 1, dtype=FLOAT32)
        raise KeyError("late")

    def release(carrier: Any) -> None:
        raise OSError("stuck")

    carrier_class = workshop.subclass(DependentCarrier, "Wrap", __init__=construct)
    workshop.defined(
        None,
        carrier_class=carrier_class,
        composite=workshop.composite(),
        storage=workshop.storage(release=release),
    )
    with pytest.raises(KeyError, match="late") as caught:
        carrier_class()
    assert "releasing the unfinished Wrap failed too" in caught.value.__notes__[0]


@pytest.mark.rule("C-10", "C-11")
def test_an_init_that_fails_before_its_base_shows_its_own_error(workshop: Any) -> None:
    def construct(self: Any) -> None:
        raise KeyError("early")

    carrier_class = workshop.subclass(DependentCarrier, "Wrap", __init__=construct)
    with pytest.raises(KeyError, match="early"):
        carrier_class()
    defined = workshop.subclass(DependentCarrier, "Wrap", __init__=construct)
    workshop.defined(None, carrier_class=defined, composite=workshop.composite())
    with pytest.raises(KeyError, match="early"):
        defined()


@pytest.mark.rule("A-35")
def test_gradient_hooks_say_what_to_implement() -> None:
    carrier = Wrapper([])
    for hook, arguments in (
        ("_vjp_operand", (None,)),
        ("_vjp_gradient", (None, None)),
        ("_accumulate_gradient", (None, None)),
    ):
        with pytest.raises(NotImplementedError, match=f"Wrapper must implement {hook}"):
            getattr(carrier, hook)(*arguments)


@pytest.mark.rule("O-32")
def test_dependent_carrier_itself_stays_open() -> None:
    assert issubclass(DependentCarrier, sw.Carrier)
    with pytest.raises(TypeError, match="concrete subclass"):
        sw.register_carrier_definition(DependentCarrier, None)  # type: ignore[arg-type]
