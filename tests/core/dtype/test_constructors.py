"""Constructor arguments of categories and simple dtypes, and the order of their faults."""

from collections.abc import Callable

import pytest

import strideweave as sw

D = sw.DType


@pytest.mark.parametrize("name", ["", 3, None, b"x"])
def test_a_name_is_a_non_empty_str(name: object) -> None:
    with pytest.raises(ValueError, match="name must be a non-empty str"):
        sw.DTypeCategory(name)  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(ValueError, match="name must be a non-empty str"):
        sw.SimpleDType(name, bits=8, supertype=D.Any)  # type: ignore[arg-type]  # the same


def test_a_category_reports_its_name_before_its_supertype() -> None:
    with pytest.raises(ValueError, match="name must be"):
        sw.DTypeCategory("", supertype=D.Float32)  # type: ignore[arg-type]  # both are faults


def test_a_category_needs_a_category_above(fresh_name: Callable[[], str]) -> None:
    with pytest.raises(TypeError, match=r"must be a DTypeCategory, got SimpleDType\('Float32'\)"):
        sw.DTypeCategory(fresh_name(), supertype=D.Float32)  # type: ignore[arg-type]  # the fault


def test_a_simple_dtype_reports_its_supertype_first() -> None:
    with pytest.raises(TypeError, match="supertype must be a DTypeCategory"):
        sw.SimpleDType("", bits=0, supertype=D.Float32)  # type: ignore[arg-type]  # three faults
    with pytest.raises(TypeError, match="supertype must be a DTypeCategory, got None"):
        sw.SimpleDType("", bits=0, supertype=None)  # type: ignore[arg-type]  # three faults


def test_a_simple_dtype_reports_its_name_before_its_bits() -> None:
    with pytest.raises(ValueError, match="name must be"):
        sw.SimpleDType("", bits=0, supertype=D.Any)


@pytest.mark.parametrize("bits", [True, 8.0, "8", None, 0, -1])
def test_bits_is_a_positive_int(fresh_name: Callable[[], str], bits: object) -> None:
    name = fresh_name()
    with pytest.raises(ValueError, match=rf"bits must be a positive int, got {bits!r}"):
        sw.SimpleDType(name, bits=bits, supertype=D.Any)  # type: ignore[arg-type]  # the fault
    with pytest.raises(LookupError):
        D.from_name(name)


@pytest.mark.rule("D-7")
def test_everything_after_the_name_is_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        sw.DTypeCategory("Q", D.Any)  # type: ignore[call-arg]  # the fault under test
    with pytest.raises(TypeError, match="positional"):
        sw.SimpleDType("Q", 8, D.Any)  # type: ignore[call-arg]  # the fault under test
    with pytest.raises(TypeError, match="positional"):
        sw.BlockScaledDType("Q", D.E2M1, ())  # type: ignore[call-arg]  # the fault under test


class LyingText(str):
    """A ``str`` whose hash and equality must never run inside the registry."""

    def __hash__(self) -> int:
        raise AssertionError("user hashing ran")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("user equality ran")


class Eight(int):
    pass


@pytest.mark.rule("D-7", "D-14")
def test_subclasses_of_str_and_int_become_exact(fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    made = sw.SimpleDType(LyingText(name), bits=Eight(8), supertype=D.Any)
    assert type(made.name) is str and made.name == name
    assert type(made.bits) is int and made.bits == 8
    assert D.from_name(LyingText(name)) is made


@pytest.mark.rule("D-8")
def test_an_unfinished_supertype_is_refused(fresh_name: Callable[[], str]) -> None:
    unfinished = sw.DTypeCategory.__new__(sw.DTypeCategory)
    name = fresh_name()
    with pytest.raises(ValueError, match="construction did not complete"):
        sw.SimpleDType(name, bits=8, supertype=unfinished)
    with pytest.raises(LookupError):
        D.from_name(name)


@pytest.mark.rule("D-8", "D-13")
def test_a_descriptor_left_over_from_a_rejected_construction_is_refused(
    fresh_name: Callable[[], str],
) -> None:
    escaped: list[sw.SimpleDType] = []

    class Escaping(sw.SimpleDType, abstract=False):
        def __init__(self, name: str) -> None:
            super().__init__(name, bits=4, supertype=D.Floating)
            escaped.append(self)

    with pytest.raises(ValueError, match="already registered"):
        Escaping("Float32")
    with pytest.raises(ValueError, match=r"'Test\d+' refers to Escaping\('Float32'\)"):
        sw.BlockScaledDType(fresh_name(), element=escaped[0], levels=[sw.Level(D.E8M0, 4)])
    with pytest.raises(ValueError, match=r"refers to Escaping\('Float32'\)"):
        sw.BlockScaledDType(fresh_name(), element=D.E2M1, levels=[sw.Level(escaped[0], 4)])
