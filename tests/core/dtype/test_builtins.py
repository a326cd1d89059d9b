"""The built-in descriptors."""

import pytest

import strideweave as sw

D = sw.DType

SIMPLE = [
    ("Float32", 32, D.Floating),
    ("Float64", 64, D.Floating),
    ("Int32", 32, D.Integer),
    ("Bool", 8, D.Any),
    ("Int8", 8, D.Integer),
    ("E8M0", 8, D.Floating),
    ("E5M2", 8, D.Floating),
    ("E4M3", 8, D.Floating),
    ("E3M2", 6, D.Floating),
    ("E2M3", 6, D.Floating),
    ("E2M1", 4, D.Floating),
]
SHARED = (sw.Level(D.E8M0, 32),)
BLOCK_SCALED = [
    ("MXFP8_E4M3", D.E4M3, SHARED, 2, 1, 8.25),
    ("MXFP8_E5M2", D.E5M2, SHARED, 2, 1, 8.25),
    ("MXFP6_E3M2", D.E3M2, SHARED, 2, 1, 6.25),
    ("MXFP6_E2M3", D.E2M3, SHARED, 2, 1, 6.25),
    ("MXFP4", D.E2M1, SHARED, 2, 1, 4.25),
    ("MXINT8", D.Int8, SHARED, 2, 1, 8.25),
    (
        "NVFP4",
        D.E2M1,
        (sw.Level(D.E4M3, 16), sw.Level(D.Float32, sw.Whole)),
        3,
        1,
        sw.SymbolicBits(4.5, 32),
    ),
]

pytestmark = pytest.mark.rule("D-25")


def test_registered_starts_with_the_built_ins_in_order() -> None:
    names = ["Any", "Floating", "Integer", *(row[0] for row in SIMPLE)]
    names += [str(row[0]) for row in BLOCK_SCALED]
    assert [entry.name for entry in D.registered()[: len(names)]] == names


def test_each_is_an_attribute_of_the_root_class() -> None:
    for entry in D.registered()[:21]:
        assert getattr(D, entry.name) is entry is D.from_name(entry.name)


def test_categories() -> None:
    assert D.Any.supertype is None
    assert D.Floating.supertype is D.Integer.supertype is D.Any


@pytest.mark.parametrize(("name", "bits", "supertype"), SIMPLE)
def test_simple_dtypes(name: str, bits: int, supertype: sw.DTypeCategory) -> None:
    found = sw.SimpleDType.from_name(name)
    assert type(found) is sw.SimpleDType
    assert (found.bits, found.supertype) == (bits, supertype)


@pytest.mark.rule("D-38", "D-36")
@pytest.mark.parametrize(("name", "element", "levels", "planes", "axes", "bits"), BLOCK_SCALED)
def test_block_scaled_dtypes(
    name: str,
    element: sw.SimpleDType,
    levels: tuple[sw.Level, ...],
    planes: int,
    axes: int,
    bits: float | sw.SymbolicBits,
) -> None:
    found = sw.BlockScaledDType.from_name(name)
    assert type(found) is sw.BlockScaledDType
    assert (found.element, found.levels, found.supertype) == (element, levels, D.Any)
    assert (found.num_carriers, found.num_axes, found.bits_per_element) == (planes, axes, bits)


@pytest.mark.rule("D-26")
def test_bool_stands_outside_the_numeric_categories() -> None:
    assert not D.Bool.is_subtype_of(D.Floating)
    assert not D.Bool.is_subtype_of(D.Integer)
