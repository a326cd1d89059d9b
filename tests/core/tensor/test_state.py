"""What a Tensor tells about itself, and its gradient slots."""

from collections.abc import Callable

import pytest

from strideweave import DType, Layout, Operation, Tensor
from strideweave.testing import ArrayCarrier


@pytest.mark.rule("T-5")
def test_properties_describe_the_one_subtensor(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,(3,4)):(1,(10,100))", 7)
    assert tensor.offset == 7
    assert tensor.layout == Layout.parse("(2,(3,4)):(1,(10,100))")
    assert tensor.shape == tensor.layout.shape
    assert tensor.size() == 24
    assert tensor.dtype() is DType.Float32
    assert tensor.carrier_type() is ArrayCarrier
    assert tensor.autograd_ctx is None and tensor.grad is None


@pytest.mark.rule("T-5")
def test_mutability_is_that_of_the_carrier(ramp: Callable[..., Tensor]) -> None:
    assert ramp("4:1").is_mutable()
    assert not ramp("4:1", mutable=False).is_mutable()


@pytest.mark.rule("T-5", "A-1")
@pytest.mark.parametrize("dtype", [DType.Int32, DType.Bool])
def test_only_float32_is_differentiable(dtype: DType) -> None:
    layout = Layout.parse("2:1")
    assert Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, layout).is_differentiable()
    assert not Tensor(ArrayCarrier(2, dtype=dtype), 0, layout).is_differentiable()


@pytest.mark.rule("T-6", "A-1")
@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda tensor: tensor.grad, "grad is not available"),
        (lambda tensor: setattr(tensor, "grad", tensor), "grad is not available"),
        (lambda tensor: tensor.retain_grad(), "retain_grad is not available"),
        (lambda tensor: tensor.retain_grad(False), "retain_grad is not available"),
        (lambda tensor: tensor.backward(), "backward is not available"),
        (
            lambda tensor: setattr(tensor, "autograd_ctx", Operation()),
            "autograd_ctx is not available",
        ),
    ],
)
def test_a_tensor_without_gradients_refuses_them(
    ramp: Callable[..., Tensor], use: Callable[[Tensor], object], text: str
) -> None:
    with pytest.raises(RuntimeError, match=f"{text}.*Int32"):
        use(ramp("1:1", dtype=DType.Int32))


@pytest.mark.rule("T-6")
def test_none_can_always_be_assigned(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("1:1", dtype=DType.Int32)
    tensor.grad = None
    tensor.autograd_ctx = None
    assert tensor.autograd_ctx is None


@pytest.mark.rule("T-5", "T-6")
def test_setters_store_what_they_are_given(ramp: Callable[..., Tensor]) -> None:
    tensor, other, operation = ramp("4:1"), ramp("2:1", dtype=DType.Int32), Operation()
    tensor.grad = other
    tensor.autograd_ctx = operation
    assert tensor.grad is other and tensor.autograd_ctx is operation
    tensor.retain_grad()
    tensor.retain_grad(retain=False)


@pytest.mark.rule("T-9", "C-26")
def test_all_tensors_over_a_carrier_share_its_version(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,3):(1,2)")
    view, overlapping = tensor[:, 1], Tensor(tensor.carrier, 2, Layout.parse("2:1"))
    assert tensor.version == 0
    view[0] = 9.0
    assert tensor.version == view.version == overlapping.version == tensor.carrier.version == 1
    assert overlapping[0] == 9.0


@pytest.mark.rule("T-9")
def test_the_version_token_pairs_the_carrier_with_its_version(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("4:1")
    ((carrier, version),) = tensor._version_token()
    assert carrier is tensor.carrier and version == 0
    tensor[0] = 1.0
    assert tensor._version_token() == ((carrier, 1),)


@pytest.mark.rule("T-48")
def test_item_is_the_only_value(ramp: Callable[..., Tensor]) -> None:
    assert ramp("1:7", 3).item() == 3.0
    assert ramp("():()", 2, DType.Int32).item() == 2
    assert ramp("(1,(1,1)):(5,(7,9))").item() == 0.0


@pytest.mark.rule("T-48")
def test_item_of_several_values_is_refused(ramp: Callable[..., Tensor]) -> None:
    with pytest.raises(ValueError, match=r"exactly one element.*2:1"):
        ramp("2:1").item()


@pytest.mark.rule("T-48")
def test_tolist_nests_one_list_per_mode(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,3,2):(1,2,10)")
    nested = tensor.tolist()
    assert nested == [[[0, 10], [2, 12], [4, 14]], [[1, 11], [3, 13], [5, 15]]]
    assert all(
        nested[i][j][k] == tensor[i, j, k] for i in range(2) for j in range(3) for k in range(2)
    )


@pytest.mark.rule("T-48")
def test_tolist_takes_a_nested_mode_by_its_ordinals(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,(3,4)):(1,(10,100))", 7)
    nested = tensor.tolist()
    assert [len(row) for row in nested] == [12, 12]
    assert nested[1][11] == tensor[1, 11] == tensor[1, [2, 3]] == 328.0


@pytest.mark.rule("T-48")
@pytest.mark.parametrize(
    ("layout", "expected"),
    [("():()", 0.0), ("3:2", [0.0, 2.0, 4.0]), ("(2,2):(0,1)", [[0.0, 1.0], [0.0, 1.0]])],
)
def test_tolist_of_small_layouts(
    ramp: Callable[..., Tensor], layout: str, expected: object
) -> None:
    assert ramp(layout).tolist() == expected


@pytest.mark.rule("T-48")
def test_tolist_gives_plain_values_of_each_dtype(ramp: Callable[..., Tensor]) -> None:
    assert [type(value) for value in ramp("2:1").tolist()] == [float, float]
    assert [type(value) for value in ramp("2:1", dtype=DType.Int32).tolist()] == [int, int]
    flags = Tensor(ArrayCarrier(2, dtype=DType.Bool), 0, Layout.parse("2:1"))
    flags[1] = True
    assert flags.tolist() == [False, True] and type(flags.tolist()[1]) is bool


@pytest.mark.rule("T-48")
def test_detach_is_a_leaf_over_the_same_storage(ramp: Callable[..., Tensor]) -> None:
    view = ramp("(2,3):(1,2)")[:, 1]
    leaf = view.detach()
    assert view.autograd_ctx is not None and leaf.autograd_ctx is None
    assert leaf is not view
    assert (leaf.carrier, leaf.offset, leaf.layout) == (view.carrier, view.offset, view.layout)


@pytest.mark.rule("T-12", "T-48")
@pytest.mark.parametrize("use", [Tensor.item, Tensor.tolist])
def test_whole_values_of_a_released_carrier_are_refused(
    ramp: Callable[..., Tensor], use: Callable[[Tensor], object]
) -> None:
    tensor = ramp("1:1")
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        use(tensor)
