"""Whole, levels, and block-scaled dtypes."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw

D = sw.DType


@pytest.mark.rule("D-34")
def test_whole_is_one_object() -> None:
    again = (sw.WholeExtent(), copy.copy(sw.Whole), copy.deepcopy([sw.Whole])[0])
    assert all(value is sw.Whole for value in again)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(sw.Whole, protocol)) is sw.Whole
    assert repr(sw.Whole) == "Whole"
    with pytest.raises(TypeError):
        sw.WholeExtent(3)  # type: ignore[call-arg]  # the fault under test


class Sixteen(int):
    pass


@pytest.mark.rule("D-35")
def test_a_level_is_a_value() -> None:
    level = sw.Level(D.E8M0, 32)
    assert level == sw.Level(scale=D.E8M0, block=32)
    assert hash(level) == hash(sw.Level(D.E8M0, 32))
    assert level != sw.Level(D.E8M0, 16)
    assert level != sw.Level(D.E4M3, 32)
    assert repr(level) == "Level(scale=SimpleDType('E8M0'), block=32)"
    assert not level.is_whole()
    assert sw.Level(D.E8M0, sw.Whole).is_whole()
    assert type(sw.Level(D.E8M0, Sixteen(16)).block) is int
    with pytest.raises(FrozenInstanceError):
        level.block = 3  # type: ignore[misc]  # the fault under test


@pytest.mark.rule("D-35")
@pytest.mark.parametrize(
    ("scale", "block", "error", "text"),
    [
        ("E8M0", 0, TypeError, "scale must be a SimpleDType, got 'E8M0' of type str"),
        (D.Floating, 0, TypeError, "scale must be a SimpleDType, got DTypeCategory"),
        (D.E8M0, True, TypeError, "block must be Whole or an int, got True of type bool"),
        (D.E8M0, 4.0, TypeError, "block must be Whole or an int, got 4.0"),
        (D.E8M0, sw.WholeExtent, TypeError, "block must be Whole or an int"),
        (D.E8M0, 0, ValueError, "block must be at least 1, got 0"),
    ],
)
def test_level_faults_in_order(
    scale: sw.SimpleDType, block: int, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.Level(scale, block)


E8M0_16 = sw.Level(D.E8M0, 16)
WHOLE = sw.Level(D.E8M0, sw.Whole)


@pytest.mark.rule("D-36")
@pytest.mark.parametrize(
    ("name", "element", "levels", "error", "text"),
    [
        ("", D.Any, 3, TypeError, "element must be a SimpleDType, got DTypeCategory"),
        ("", D.E2M1, 3, TypeError, "levels must be an iterable, got 3"),
        ("", D.E2M1, [], ValueError, "levels needs at least one Level"),
        ("", D.E2M1, [E8M0_16, 3, WHOLE], TypeError, r"levels\[1\] must be a Level, got 3"),
        ("", D.E2M1, [WHOLE, 3], ValueError, r"levels\[0\] spans a Whole level"),
        ("", D.E2M1, [E8M0_16, WHOLE], ValueError, "name must be a non-empty str"),
        ("Float32", D.E2M1, [E8M0_16], ValueError, "'Float32' is already registered"),
    ],
)
def test_block_scaled_faults_in_order(
    name: str,
    element: sw.SimpleDType,
    levels: list[sw.Level],
    error: type[Exception],
    text: str,
) -> None:
    with pytest.raises(error, match=text):
        sw.BlockScaledDType(name, element=element, levels=levels)


@pytest.mark.rule("D-36", "D-38")
def test_two_integer_levels(fresh_name: Callable[[], str]) -> None:
    levels = [sw.Level(D.E8M0, 16), sw.Level(D.Float32, 4)]
    made = sw.BlockScaledDType(fresh_name(), element=D.E2M1, levels=levels)
    levels.clear()
    assert made.bits_per_element == 5.0
    assert made.num_axes == 2
    assert made.num_carriers == 3
    assert made.supertype is D.Any
    assert made.simple_types == (D.E2M1, D.E8M0, D.Float32)
    found = [(rule.level, rule.extent) for rule in made.representation_rules]  # type: ignore[attr-defined]  # LevelExtent
    assert found == [(0, 16), (1, 4)]


@pytest.mark.rule("D-37")
def test_one_structure_has_one_descriptor_across_subclasses(fresh_name: Callable[[], str]) -> None:
    class Plain(sw.BlockScaledDType, abstract=False):
        pass

    class Variant(sw.BlockScaledDType, abstract=False):
        def structure_extension(self) -> tuple[str, ...]:
            return ("block scaled variant",)

    levels = [sw.Level(D.E8M0, 32)]
    with pytest.raises(ValueError, match="'MXFP4'"):
        sw.BlockScaledDType(fresh_name(), element=D.E2M1, levels=levels)
    with pytest.raises(ValueError, match="'MXFP4'"):
        Plain(fresh_name(), element=D.E2M1, levels=levels)
    assert Variant(fresh_name(), element=D.E2M1, levels=levels).element is D.E2M1


@pytest.mark.rule("D-38")
@given(
    st.lists(st.tuples(st.integers(1, 64), st.integers(1, 9)), min_size=1, max_size=3),
    st.booleans(),
)
def test_bits_per_element_sums_the_shares_of_each_level(
    rows: list[tuple[int, int]], whole: bool
) -> None:
    class Unregistered(sw.BlockScaledDType, abstract=False):
        def __init__(self) -> None:
            levels = [sw.Level(widths[bits], block) for bits, block in rows]
            levels += [sw.Level(D.Float32, sw.Whole)] * whole
            super().__init__("Unregistered", element=D.E2M1, levels=levels)
            found.append(self.bits_per_element)
            raise RuntimeError("kept out of the registry")

    widths = {bits: width(bits) for bits, _ in rows}
    found: list[float | sw.SymbolicBits] = []
    with pytest.raises(RuntimeError, match="kept out"):
        Unregistered()
    expected, product = Fraction(4), 1
    for bits, block in rows:
        product *= block
        expected += Fraction(bits, product)
    if whole:
        assert isinstance(found[0], sw.SymbolicBits)
        assert found[0].constant == pytest.approx(float(expected))
        assert found[0].whole_scale_bits == 32
    else:
        assert type(found[0]) is float
        assert found[0] == pytest.approx(float(expected))


def width(bits: int) -> sw.SimpleDType:
    """Return a simple dtype of that width, registered on first use."""
    name = f"TestWidth{bits}"
    try:
        return sw.SimpleDType.from_name(name)
    except LookupError:
        return sw.SimpleDType(name, bits=bits, supertype=D.Floating)


@pytest.mark.rule("D-39")
def test_symbolic_bits() -> None:
    bits = D.NVFP4.bits_per_element
    assert isinstance(bits, sw.SymbolicBits)
    assert bits == sw.SymbolicBits(4.5, 32)
    assert bits.evaluate(1024) == 4.53125
    for count in (True, 1.0, "1"):
        with pytest.raises(TypeError, match="element_count must be an int"):
            bits.evaluate(count)  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(ValueError, match="element_count must be at least 1, got 0"):
        bits.evaluate(0)
    unchecked = sw.SymbolicBits("a", None)  # type: ignore[arg-type]  # stored as given
    assert repr(unchecked) == "SymbolicBits(constant='a', whole_scale_bits=None)"
    with pytest.raises(FrozenInstanceError):
        bits.constant = 1.0  # type: ignore[misc]  # the fault under test
