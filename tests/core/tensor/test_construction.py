"""Construction and the object protocol of Tensor."""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Permutation, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier


class Reporting(Carrier):
    """A definition-free carrier that reports what a test tells it to."""

    def __init__(self, dtype: DType, size: int) -> None:
        super().__init__()
        self.reported_dtype = dtype
        self.reported_size = size

    def dtype(self) -> DType:
        return self.reported_dtype

    def size(self) -> int:
        return self.reported_size


def vector(size: int) -> Layout:
    return Layout(Shape(size), Stride(1))


@pytest.mark.rule("T-1")
def test_tensor_is_one_object_on_both_paths() -> None:
    import strideweave.tensor

    assert sw.Tensor is strideweave.tensor.Tensor
    assert strideweave.tensor.__all__ == ["Tensor"]
    assert not hasattr(strideweave.tensor, "view")


@pytest.mark.rule("T-1")
@pytest.mark.parametrize(
    "name",
    "rearrange permute reshape as_strided broadcast_to broadcast_in_dim squeeze unsqueeze "
    "no_grad is_grad_enabled set_grad_enabled".split(),
)
def test_public_functions_are_one_object_on_all_paths(name: str) -> None:
    import strideweave.functional
    import strideweave.operation

    function = getattr(sw, name)
    assert getattr(strideweave.functional, name) is function
    assert getattr(strideweave.operation, name) is function


@pytest.mark.rule("T-2", "T-3")
def test_construction_keeps_its_arguments_by_identity_and_touches_nothing() -> None:
    carrier, layout = ArrayCarrier(6, dtype=DType.Int32), Layout.parse("(2,3):(1,2)")
    tensor = Tensor(carrier=carrier, offset=0, layout=layout)
    assert tensor.carrier is carrier
    assert tensor.layout is layout
    assert tensor.shape is layout.shape
    assert tensor.dtype() is DType.Int32
    assert carrier.version == 0 and not carrier.is_released()


@pytest.mark.rule("T-4")
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((1.5, 0, 0), TypeError, "offset must be an integer"),
        ((True, 0, 0), TypeError, "offset must be an integer"),
        (("0", 0, 0), TypeError, "offset must be an integer"),
    ],
)
def test_a_wrong_offset_is_reported_before_a_wrong_carrier(
    arguments: tuple[object, int, int], error: type[Exception], text: str
) -> None:
    offset, _, _ = arguments
    with pytest.raises(error, match=text):
        Tensor("no carrier", offset, "no layout")  # type: ignore[arg-type]


@pytest.mark.rule("T-4")
def test_missing_arguments_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        Tensor(ArrayCarrier(1, dtype=DType.Float32), 0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Tensor(ArrayCarrier(1, dtype=DType.Float32), 0, vector(1), stride=1)  # type: ignore[call-arg]


@pytest.mark.rule("T-4")
@pytest.mark.parametrize("carrier", [None, ArrayCarrier, [1.0, 2.0]])
def test_the_carrier_must_be_a_carrier(carrier: object) -> None:
    with pytest.raises(TypeError, match="carrier must be a Carrier"):
        Tensor(carrier, -1, None)  # type: ignore[arg-type]


@pytest.mark.rule("T-4", "T-14")
def test_an_abstract_category_has_no_storage_schema() -> None:
    with pytest.raises(ValueError, match=r"Floating.*no Tensor storage schema"):
        Tensor(Reporting(DType.Floating, 4), -1, vector(2))


@pytest.mark.rule("T-4", "T-14")
def test_a_compound_dtype_needs_several_carriers() -> None:
    with pytest.raises(ValueError, match="MXFP4 is stored in planes"):
        Tensor(Reporting(DType.MXFP4, 4), 0, vector(2))


@pytest.mark.rule("T-4")
def test_a_negative_offset_comes_before_the_layout() -> None:
    with pytest.raises(ValueError, match="Tensor offset must be non-negative"):
        Tensor(ArrayCarrier(1, dtype=DType.Float32), -1, None)  # type: ignore[arg-type]


@pytest.mark.rule("T-4")
@pytest.mark.parametrize("layout", [None, Permutation([1, 0], 2), Shape(2)])
def test_the_placement_must_be_a_layout(layout: object) -> None:
    with pytest.raises(TypeError, match="Float32 subtensor 0 placement must be a Layout"):
        Tensor(Reporting(DType.Float32, -1), 0, layout)  # type: ignore[arg-type]


@pytest.mark.rule("T-4")
def test_a_negative_carrier_size_is_refused() -> None:
    with pytest.raises(ValueError, match="carrier size must be non-negative"):
        Tensor(Reporting(DType.Float32, -1), 0, vector(1))


@pytest.mark.rule("T-4", "L-15")
@pytest.mark.parametrize(
    ("size", "offset", "layout"),
    [(11, 0, "(2,2):(1,10)"), (12, 1, "(2,2):(1,10)"), (0, 0, "():()"), (2, 2, "(5):(0)")],
)
def test_the_span_of_the_layout_must_fit(size: int, offset: int, layout: str) -> None:
    carrier = ArrayCarrier(size, dtype=DType.Float32)
    with pytest.raises(ValueError, match="Tensor storage exceeds carrier size"):
        Tensor(carrier, offset, Layout.parse(layout))


@pytest.mark.rule("T-4", "G-17")
def test_a_released_carrier_is_named_as_the_reason() -> None:
    carrier = ArrayCarrier(2, dtype=DType.Float32)
    carrier.release()
    with pytest.raises(ValueError, match=r"exceeds carrier size.* has 0; it is released"):
        Tensor(carrier, 0, Layout.parse("2:1"))


@pytest.mark.rule("T-4")
def test_the_bound_uses_the_span_and_not_the_logical_size() -> None:
    carrier = ArrayCarrier(12, dtype=DType.Float32)
    carrier[11] = 11.0
    assert Tensor(carrier, 0, Layout.parse("(2,2):(1,10)"))[1, 1] == 11.0
    assert Tensor(carrier, 11, Layout.parse("(100):(0)")).size() == 100


@pytest.mark.rule("T-4")
def test_index_like_offsets_become_plain_integers() -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    tensor = Tensor(ArrayCarrier(3, dtype=DType.Float32), Two(), vector(1))  # type: ignore[arg-type]
    assert type(tensor.offset) is int and tensor.offset == 2


@pytest.mark.rule("T-4")
def test_a_released_carrier_is_too_small() -> None:
    carrier = ArrayCarrier(3, dtype=DType.Float32)
    carrier.release()
    with pytest.raises(ValueError, match="Tensor storage exceeds carrier size"):
        Tensor(carrier, 0, vector(1))


@pytest.mark.rule("T-7")
@pytest.mark.parametrize("member", ["carrier", "offset", "layout", "shape", "version"])
def test_state_is_read_only(ramp: Callable[..., Tensor], member: str) -> None:
    tensor = ramp("4:1")
    with pytest.raises(AttributeError):
        setattr(tensor, member, getattr(tensor, member))


@pytest.mark.rule("T-7")
def test_only_subclasses_accept_new_attributes(ramp: Callable[..., Tensor]) -> None:
    class Named(Tensor):
        name = "weights"

    with pytest.raises(AttributeError):
        ramp("4:1").name = "x"  # type: ignore[attr-defined]
    named = Named(ramp("4:1").carrier, 0, vector(4))
    named.name = "bias"
    assert named.name == "bias"
    assert type(named[0:2]) is Tensor


@pytest.mark.rule("T-7")
def test_weak_references_equality_and_hash_go_by_identity(ramp: Callable[..., Tensor]) -> None:
    first = ramp("4:1")
    second = Tensor(first.carrier, 0, first.layout)
    assert first == first and first != second
    assert len({first, second, first}) == 2
    reference = weakref.ref(second)
    del second
    gc.collect()
    assert reference() is None


@pytest.mark.rule("T-7", "S-16")
def test_a_tensor_is_no_collection_and_has_no_truth_value(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("4:1")
    with pytest.raises(TypeError, match=r"size\(\)"):
        len(tensor)
    with pytest.raises(TypeError, match=r"item\(\)"):
        bool(tensor)
    with pytest.raises(TypeError, match="not iterable"):
        iter(tensor)
    with pytest.raises(TypeError):
        1.0 in tensor  # type: ignore[operator]  # noqa: B015


@pytest.mark.rule("T-7", "G-18")
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_tensor_is_neither_pickled_nor_copied(
    ramp: Callable[..., Tensor], duplicate: Callable[[object], object]
) -> None:
    with pytest.raises(TypeError, match="new_like"):
        duplicate(ramp("4:1"))


@pytest.mark.rule("T-7")
def test_repr_names_dtype_layout_and_carrier(ramp: Callable[..., Tensor]) -> None:
    assert repr(ramp("(2,3):(1,2)", 1)) == "<Tensor Float32 (2,3):(1,2) at slot 1 of ArrayCarrier>"
