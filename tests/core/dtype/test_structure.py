"""Structural identity: the recorded tuple and the values an extension may hold."""

import math
from collections.abc import Callable
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave.dtype.identity import encode_extension, first_difference

D = sw.DType
ANY = ("str:Any", "str:DType", "none", "str:DTypeCategory", ())


class Extended(sw.DTypeCategory, abstract=False):
    def __init__(self, name: str, extension: tuple[object, ...]) -> None:
        super().__init__(name)
        self.extension = extension

    def structure_extension(self) -> tuple[str, ...]:
        return self.extension  # type: ignore[return-value]  # tests return anything


@pytest.mark.rule("D-22", "D-23")
def test_structures_of_categories_and_simple_dtypes() -> None:
    assert D.Any.structure() == ANY[1:]
    assert D.Integer.structure() == ("str:DType", ANY, "str:DTypeCategory", ())
    integer = ("str:Integer", *D.Integer.structure())
    assert D.Int8.structure() == ("str:DType", integer, "str:SimpleDType", "int:8", ())


@pytest.mark.rule("D-23", "D-36")
def test_structure_of_a_block_scaled_dtype() -> None:
    element = ("str:E2M1", *D.E2M1.structure())
    inner = ("str:E4M3", *D.E4M3.structure())
    outer = ("str:Float32", *D.Float32.structure())
    rule = ("str:strideweave.carriers.dtype", "str:LevelExtent")
    assert D.NVFP4.structure() == (
        "str:DType",
        ANY,
        "str:CompoundDType",
        (element, inner, outer),
        ((*rule, ("int:0", "int:16")), (*rule, ("int:1", "whole"))),
        "str:BlockScaledDType",
        element,
        ((inner, "int:16"), (outer, "whole")),
        (),
    )


@pytest.mark.rule("D-23")
def test_name_and_class_are_not_part_of_the_structure(fresh_name: Callable[[], str]) -> None:
    class Other(sw.SimpleDType, abstract=False):
        pass

    made = Other(fresh_name(), bits=32, supertype=D.Floating)
    assert made.structure() == D.Float32.structure()


@pytest.mark.rule("D-21", "D-22")
def test_extension_values_are_encoded_with_their_type(fresh_name: Callable[[], str]) -> None:
    made = Extended(fresh_name(), ("a", 1, 1.5, None, sw.Whole, (True,), math.nan))
    assert made.structure()[-1] == (
        "str:a",
        "int:1",
        "float:0x1.8000000000000p+0",
        "none",
        "whole",
        ("bool:True",),
        "float:nan",
    )


@pytest.mark.rule("D-22")
def test_equal_values_of_different_type_differ_and_nan_has_one_spelling() -> None:
    assert len({encode_extension((value,)) for value in (True, 1, 1.0)}) == 3
    assert encode_extension((-math.nan,)) == encode_extension((math.nan,)) == ("float:nan",)
    assert encode_extension((0.0,)) != encode_extension((-0.0,))


@pytest.mark.rule("D-22")
def test_a_structure_is_recorded_once(fresh_name: Callable[[], str]) -> None:
    values = ["first"]

    class Changing(sw.DTypeCategory, abstract=False):
        def structure_extension(self) -> tuple[str, ...]:
            return tuple(values)

    made = Changing(fresh_name())
    values.append("second")
    assert made.structure()[-1] == ("str:first",)
    assert made.structure() is made.structure()


class Text(str):
    pass


class Number(IntEnum):
    ONE = 1


class Fraction32(float):
    pass


class Pair(tuple[int, int]):
    pass


@pytest.mark.rule("D-21")
@pytest.mark.parametrize(
    "value",
    [1j, b"x", [1], Text("x"), Number.ONE, Fraction32(1), Pair((1, 2)), D.Float32, {}, object],
    ids=repr,
)
def test_other_extension_values_are_refused(fresh_name: Callable[[], str], value: object) -> None:
    name = fresh_name()
    for extension in ((value,), ("a", (value,))):
        with pytest.raises(TypeError, match=r"structure_extension\(\) contains .* only exact str"):
            Extended(name, extension)
    with pytest.raises(LookupError):
        D.from_name(name)


@pytest.mark.rule("D-21")
@pytest.mark.parametrize("extension", [[], None, "ab", Pair((1, 2))], ids=repr)
def test_an_extension_that_is_no_exact_tuple_is_refused(
    fresh_name: Callable[[], str], extension: object
) -> None:
    with pytest.raises(TypeError, match=r"Extended\.structure_extension\(\) must return a tuple"):
        Extended(fresh_name(), extension)  # type: ignore[arg-type]  # the fault under test


leaves = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.just(sw.Whole),
)
extensions = st.lists(
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6),
    max_size=4,
).map(tuple)


def all_text(structure: object) -> bool:
    if isinstance(structure, tuple):
        return all(all_text(item) for item in structure)
    return type(structure) is str


@pytest.mark.rule("D-21", "D-22")
@given(extensions)
def test_every_permitted_extension_becomes_nested_text(extension: tuple[object, ...]) -> None:
    assert all_text(encode_extension(extension))


@pytest.mark.rule("D-24")
@given(extensions, extensions)
def test_a_first_difference_exists_exactly_between_different_structures(
    left: tuple[object, ...], right: tuple[object, ...]
) -> None:
    ours, theirs = encode_extension(left), encode_extension(right)
    path = first_difference(ours, theirs)
    assert (path is None) == (ours == theirs)
    if path is None:
        return
    *outer, last = path
    for index in outer:
        assert ours[:index] == theirs[:index]
        ours, theirs = ours[index], theirs[index]  # type: ignore[assignment]  # tuples on the way
    assert ours[:last] == theirs[:last]
    assert ours[last : last + 1] != theirs[last : last + 1]
