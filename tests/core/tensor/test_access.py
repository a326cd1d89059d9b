"""Reading and writing by coordinate."""

from collections.abc import Callable

import pytest

from strideweave import DType, Tensor


@pytest.mark.rule("T-10", "L-8", "L-14")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ((1, (2, 3)), 328.0),
        ([1, [2, 3]], 328.0),
        ((1, 11), 328.0),
        (23, 328.0),
        ((0, [1, 0]), 17.0),
        (0, 7.0),
    ],
)
def test_a_key_mirrors_the_hierarchy_or_gives_ordinals(
    ramp: Callable[..., Tensor], key: int | tuple[int, ...], value: float
) -> None:
    assert ramp("(2,(3,4)):(1,(10,100))", 7)[key] == value


@pytest.mark.rule("T-10")
def test_three_spellings_of_a_coordinate_are_one(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,3):(1,2)")
    assert tensor[1, 2] == tensor[(1, 2)] == tensor[[1, 2]] == 5.0


@pytest.mark.rule("T-10")
@pytest.mark.parametrize("key", [0, (), []])
def test_rank_zero_has_one_coordinate(ramp: Callable[..., Tensor], key: int) -> None:
    assert ramp("():()", 4)[key] == 4.0


@pytest.mark.rule("T-10", "C-21")
def test_a_value_is_a_plain_number(ramp: Callable[..., Tensor]) -> None:
    assert type(ramp("2:1")[1]) is float
    assert type(ramp("2:1", dtype=DType.Int32)[1]) is int


@pytest.mark.rule("T-11", "T-9")
def test_a_write_changes_one_slot_and_raises_the_version_by_one(
    ramp: Callable[..., Tensor], read: Callable[[Tensor], list[float]]
) -> None:
    tensor = ramp("(2,3):(1,10)")
    tensor[1, (2)] = 0.5
    assert tensor.carrier[21] == 0.5 and tensor.version == 1
    assert read(tensor) == [0.0, 1.0, 10.0, 11.0, 20.0, 0.5]
    tensor[0] = 7
    assert tensor[0, 0] == 7.0 and tensor.version == 2


@pytest.mark.rule("T-11", "G-5")
def test_a_write_through_an_alias_shows_at_every_coordinate_of_the_slot(
    ramp: Callable[..., Tensor], read: Callable[[Tensor], list[float]]
) -> None:
    tensor = ramp("(2,2):(0,1)")
    tensor[0, 1] = 9.0
    assert read(tensor) == [0.0, 0.0, 9.0, 9.0] and tensor.version == 1


BAD_KINDS = [
    1.0,
    "x",
    None,
    ...,
    (0, 1.0),
    (0, None),
    [0, "x"],
    True,
    (0, True),
    {0},
    (0, (1, 2.0)),
]


@pytest.mark.rule("T-12")
@pytest.mark.parametrize("key", BAD_KINDS)
def test_reading_with_another_kind_of_key(ramp: Callable[..., Tensor], key: object) -> None:
    with pytest.raises(TypeError, match="Tensor indices must be integers or tuples/lists of integ"):
        ramp("(2,3):(1,2)")[key]


@pytest.mark.rule("T-11", "T-12")
@pytest.mark.parametrize(
    "key", [*(key for key in BAD_KINDS if key is not ...), slice(None), (0, slice(1, 2))]
)
def test_writing_with_another_kind_of_key_or_a_slice(
    ramp: Callable[..., Tensor], key: object
) -> None:
    tensor = ramp("(2,3):(1,2)")
    with pytest.raises(TypeError, match="Tensor indices must be integers or tuples/lists of integ"):
        tensor[key] = 1.0  # type: ignore[index]
    assert tensor.version == 0


@pytest.mark.rule("T-12", "L-14")
@pytest.mark.parametrize(
    "key", [-1, 6, (2, 0), (0, 3), (-1, 2), (0,), (0, 0, 0), (0, (1, 0)), (), [[0, 0], 0]]
)
def test_keys_outside_the_domain(ramp: Callable[..., Tensor], key: int | tuple[int, ...]) -> None:
    tensor = ramp("(2,3):(1,2)")
    with pytest.raises(ValueError, match="Key is not in domain of shape"):
        tensor[key]
    with pytest.raises(ValueError, match="Key is not in domain of shape"):
        tensor[key] = 1.0
    assert tensor.version == 0


@pytest.mark.rule("T-12")
def test_a_key_fault_comes_before_a_released_carrier(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("2:1")
    tensor.carrier.release()
    with pytest.raises(TypeError, match="Tensor indices"):
        tensor["x"]
    with pytest.raises(ValueError, match="Key is not in domain"):
        tensor[2]
    with pytest.raises(RuntimeError, match="released"):
        tensor[0]
    with pytest.raises(RuntimeError, match="released"):
        tensor[0] = 1.0


@pytest.mark.rule("T-12", "C-14")
def test_an_immutable_carrier_refuses_a_write(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("2:1", mutable=False)
    with pytest.raises(RuntimeError, match="mutable"):
        tensor[0] = 1.0
    assert tensor[0] == 0.0 and tensor.version == 0


@pytest.mark.rule("T-12", "G-3")
@pytest.mark.parametrize(
    ("value", "error"), [(1.5, TypeError), (True, TypeError), (2**31, OverflowError)]
)
def test_a_failed_write_changes_nothing(
    ramp: Callable[..., Tensor], value: float, error: type[Exception]
) -> None:
    tensor = ramp("2:1", dtype=DType.Int32)
    with pytest.raises(error):
        tensor[1] = value
    assert tensor[1] == 1 and tensor.version == 0
