"""Constructing carriers with and without a definition, and factories of definition-backed ones."""

import copy
import gc
import pickle
import sys
import weakref
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Shape, Stride, Tensor
from strideweave.carriers import CLOSED_CARRIER_MESSAGE, reject_carrier_subclass

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool


class Plain(Carrier):
    """A definition-free class with the least it needs."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.values = values

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return FLOAT32

    def get_value(self, index: Any) -> Any:
        return self.values[index]


@pytest.mark.rule("C-7")
@pytest.mark.parametrize("arguments", [{"slots": 1}, {"dtype": FLOAT32}, {"mutable": False}])
def test_a_definition_free_class_passes_no_arguments(
    workshop: Any, arguments: dict[str, Any]
) -> None:
    carrier_class = workshop.subclass()
    with pytest.raises(TypeError, match=r"Shelf.*definition-free Carrier construction"):
        carrier_class(**arguments)


@pytest.mark.rule("C-8", "R-23")
@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, TypeError, "Shelf is definition-backed and needs slots and dtype"),
        ({"slots": 3}, TypeError, "needs dtype"),
        ({"slots": "3", "dtype": FLOAT32}, TypeError, r"slots must be an int, got '3' \(str\)"),
        ({"slots": True, "dtype": FLOAT32}, TypeError, r"slots must be an int, got True \(bool\)"),
        ({"slots": -1, "dtype": FLOAT32}, ValueError, "slots must be at least 0, got -1"),
        ({"slots": 1, "dtype": "Float32"}, TypeError, "dtype must be a DType, got 'Float32'"),
        ({"slots": 1, "dtype": FLOAT32, "mutable": 1}, TypeError, "mutable must be a bool, got 1"),
        ({"slots": 1, "dtype": DType.Float64}, TypeError, "does not support storage dtype"),
    ],
)
def test_constructor_checks_name_the_argument(
    workshop: Any, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    carrier_class = workshop.defined()
    with pytest.raises(kind, match=message):
        carrier_class(**arguments)


@pytest.mark.rule("C-8")
def test_constructor_checks_come_in_order(workshop: Any) -> None:
    calls: list[str] = []
    carrier_class = workshop.defined(
        storage=workshop.storage(supports_dtype=lambda carrier, dtype: calls.append("asked"))
    )
    with pytest.raises(TypeError, match="needs dtype"):
        carrier_class("x")
    with pytest.raises(TypeError, match="slots must be an int"):
        carrier_class("x", dtype="y", mutable=1)
    with pytest.raises(ValueError, match="slots must be at least 0"):
        carrier_class(-1, dtype="y", mutable=1)
    with pytest.raises(TypeError, match="dtype must be a DType"):
        carrier_class(1, dtype="y", mutable=1)
    with pytest.raises(TypeError, match="mutable must be a bool"):
        carrier_class(1, dtype=FLOAT32, mutable=1)
    assert calls == []
    with pytest.raises(TypeError, match="supports_dtype of Shelf must return a bool, got None"):
        carrier_class(1, dtype=FLOAT32)


@pytest.mark.rule("C-9", "R-20", "R-16")
def test_the_provider_gets_the_configured_instance_live_and_mutable(workshop: Any) -> None:
    seen: list[Any] = []

    def supports(carrier: Any, dtype: DType) -> bool:
        seen.append(carrier)
        return dtype is carrier.tier_dtype

    def allocate(carrier: Any, slots: int) -> None:
        seen.append((carrier.is_mutable(), carrier.is_released(), carrier.dtype(), slots))
        carrier.cells = [0] * slots

    def construct(self: Any, tier_dtype: DType) -> None:
        self.tier_dtype = tier_dtype
        Carrier.__init__(self, 2, dtype=INT32, mutable=False)

    carrier_class = workshop.subclass(__init__=construct)
    workshop.defined(
        carrier_class=carrier_class,
        storage=workshop.storage(supports_dtype=supports, allocate=allocate),
    )
    carrier = carrier_class(INT32)
    assert seen == [carrier, (True, False, INT32, 2)]
    assert not carrier.is_mutable()
    with pytest.raises(TypeError, match="does not support"):
        carrier_class(FLOAT32)
    assert carrier.supports_storage_dtype(INT32) and not carrier.supports_storage_dtype(FLOAT32)
    assert seen[-1] is carrier


@pytest.mark.rule("C-11")
def test_slots_hold_what_the_provider_established(workshop: Any) -> None:
    def allocate(carrier: Any, slots: int) -> None:
        carrier.cells = [7] * slots

    carrier_class = workshop.defined(storage=workshop.storage(allocate=allocate))
    carrier = carrier_class(2, dtype=INT32)
    assert [carrier[0], carrier[1], carrier.version] == [7, 7, 0]
    assert carrier.allocate_like(1)[0] == 7


@pytest.mark.rule("C-11")
def test_an_instance_whose_base_initializer_never_ran_is_unusable(workshop: Any) -> None:
    def construct(self: Any) -> None:
        self.values = [1.0]

    uses: list[Any] = [
        lambda carrier: carrier[0],
        lambda carrier: carrier.__setitem__(0, 1.0),
        lambda carrier: carrier.version,
        lambda carrier: carrier.is_mutable(),
        lambda carrier: carrier.is_owned(),
        lambda carrier: carrier.is_released(),
        lambda carrier: carrier.release(),
        lambda carrier: carrier.size(),
        lambda carrier: carrier.dtype(),
        lambda carrier: carrier.supports_storage_dtype(FLOAT32),
        lambda carrier: carrier.operation_capabilities(),
        lambda carrier: carrier.dispatch_op("add"),
        lambda carrier: carrier.facet(sw.CarrierFacet),
        lambda carrier: carrier._claim_ownership(),
        lambda carrier: carrier._increment_version(),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match=r"never initialized.*super\(\).__init__\(\)"):
            use(workshop.subclass(__init__=construct)())


@pytest.mark.rule("C-6")
def test_carriers_take_attributes_and_weak_references_and_are_compared_by_identity(
    workshop: Any,
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("the framework must not compare carriers")

    carrier_class = workshop.subclass(__eq__=refuse, __hash__=refuse, size=lambda self: 1)
    carrier = carrier_class()
    carrier.anything = 3
    token = carrier._claim_ownership()
    carrier._begin_owner_access(token)
    carrier._end_owner_access(token)
    carrier._relinquish_ownership(token)
    carrier.release()
    reference = weakref.ref(carrier)
    del carrier
    gc.collect()
    assert reference() is None


@pytest.mark.rule("C-6", "G-18")
def test_carriers_refuse_copies_and_pickles() -> None:
    carrier = Plain([1.0])
    for refused in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"Plain .*cannot be copied or pickled.*new_like.*move"):
            refused(carrier)


@pytest.mark.rule("C-12", "C-84", "R-116")
def test_hooks_of_a_definition_backed_class_are_ignored(workshop: Any) -> None:
    def refuse(self: Any, *arguments: Any) -> Any:
        raise AssertionError("a definition-backed class has no hooks")

    policy = ("_is_mutable", "_supports_storage_dtype", "_release", "_dispatch_op")
    names = (*policy, "_read_span", "_write_span", "_host_array")
    carrier_class = workshop.subclass(**dict.fromkeys(names, refuse))
    storage = workshop.storage(elementwise_fallback=True)
    workshop.defined(carrier_class=carrier_class, storage=storage)
    carrier = carrier_class(1, dtype=INT32)
    carrier[0] = 5
    assert carrier.is_mutable() and carrier.supports_storage_dtype(FLOAT32) and carrier[0] == 5
    assert carrier.new_like([1, 2])[1] == 2
    tensor = Tensor(carrier, 0, Layout(Shape(1), Stride(1)))
    assert tensor.tolist() == [5]
    assert sw.copy(tensor, carrier.new_like([0])).tolist() == [5]
    tensor[...] = 6
    assert carrier[0] == 6
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier.dispatch_op("add")


@pytest.mark.rule("C-31", "C-34", "S-11")
def test_new_like_builds_a_fresh_carrier_of_the_exact_class(workshop: Any) -> None:
    carrier = workshop.defined()(2, dtype=FLOAT32)
    made = carrier.new_like((value for value in (0.1, 2)), mutable=False)
    assert type(made) is type(carrier)
    assert [made[0], made[1]] == [0.10000000149011612, 2.0]
    assert (made.version, made.is_mutable(), made.size(), made.dtype()) == (0, False, 2, FLOAT32)
    whole = carrier.new_like([True, False], dtype=BOOL)
    assert (whole.dtype(), whole[0]) == (BOOL, True)
    with pytest.raises(TypeError, match=r"Shelf.new_like: values must be iterable, got 3"):
        carrier.new_like(3)
    with pytest.raises(TypeError, match="None is no value"):
        carrier.new_like([1.0, None])
    with pytest.raises(TypeError):
        carrier.new_like([1.0], False)
    with pytest.raises(TypeError, match="mutable must be a bool"):
        carrier.new_like([1.0], mutable=1)


@pytest.mark.rule("C-34")
def test_the_provider_writes_into_a_mutable_carrier_even_for_an_immutable_result(
    workshop: Any,
) -> None:
    seen: list[bool] = []

    def write(carrier: Any, index: int, value: Any) -> None:
        seen.append(carrier.is_mutable())
        carrier.cells[index] = value

    carrier = workshop.defined(storage=workshop.storage(write=write))(1, dtype=INT32)
    made = carrier.new_like([1, 2], mutable=False)
    assert seen == [True, True] and not made.is_mutable() and made.version == 0


@pytest.mark.rule("C-34", "C-10")
def test_a_failing_write_releases_the_fresh_carrier(workshop: Any) -> None:
    released: list[Any] = []

    def write(carrier: Any, index: int, value: Any) -> None:
        if index == 1:
            raise OSError("full")
        carrier.cells[index] = value

    storage = workshop.storage(write=write, release=lambda carrier: released.append(carrier))
    carrier = workshop.defined(storage=storage)(1, dtype=INT32)
    with pytest.raises(OSError, match="full"):
        carrier.new_like([1, 2, 3])
    (fresh,) = released
    assert fresh is not carrier and fresh.is_released() and not carrier.is_released()


@pytest.mark.rule("C-33", "C-34", "C-30")
def test_allocate_like_checks_its_size(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=FLOAT32)
    made = carrier.allocate_like(3, mutable=False, dtype=INT32, empty=True)
    assert (made.size(), made.dtype(), made.is_mutable(), made[2]) == (3, INT32, False, 0)
    with pytest.raises(TypeError, match=r"size must be an integer, got '3' \(str\)"):
        carrier.allocate_like("3")
    with pytest.raises(ValueError, match="size must be at least 0, got -1"):
        carrier.allocate_like(-1)
    with pytest.raises(OverflowError, match="exceed the address space"):
        carrier.allocate_like(sys.maxsize // 4 + 1)
    with pytest.raises(TypeError, match="empty must be a bool, got 1"):
        carrier.allocate_like(1, empty=1)
    carrier.release()
    assert carrier.allocate_like(0).size() == 0 and carrier.new_like([1.0])[0] == 1.0


@pytest.mark.rule("C-2", "C-12")
def test_a_definition_free_class_without_a_hook_says_which(workshop: Any) -> None:
    carrier = workshop.subclass()()
    for name, arguments in {
        "size": (),
        "dtype": (),
        "get_value": (0,),
        "new_like": ([],),
        "allocate_like": (1,),
    }.items():
        with pytest.raises(NotImplementedError, match=rf"Shelf must implement {name}\(\)"):
            getattr(carrier, name)(*arguments)
    with pytest.raises(RuntimeError, match="Shelf is not mutable"):
        carrier.set_value(0, 1.0)
    with pytest.raises(NotImplementedError, match="does not execute 'add'"):
        carrier.dispatch_op("add")
    with pytest.raises(BufferError, match="Shelf does not export"):
        carrier.dlpack_info()
    assert carrier._host_array() is None


@pytest.mark.rule("C-5")
def test_a_closed_carrier_refuses_subclasses() -> None:
    assert CLOSED_CARRIER_MESSAGE.count("{") == 1
    with pytest.raises(TypeError) as caught:
        reject_carrier_subclass("FastSlab")
    assert str(caught.value) == CLOSED_CARRIER_MESSAGE.format(name="FastSlab")
    assert "closed carrier implementation" in str(caught.value) and "Carrier" in str(caught.value)
