"""The rule that relates two levels of a block-scaled representation."""

import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave.layout import Layout, Shape, Stride

D = sw.DType


@dataclass(frozen=True)
class Context:
    """One edge of a representation of MXFP4."""

    adjacent_layouts: tuple[Layout, ...]
    level_shapes: tuple[Shape, ...]
    logical_dtype: sw.DType = D.MXFP4
    storage_dtypes: tuple[sw.DType, ...] = D.MXFP4.simple_types
    placement_layouts: tuple[Layout, ...] = ()


def edge(lower: list[int], strides: list[int], upper: int) -> Context:
    shape = Shape(lower)
    return Context((Layout(shape, Stride(strides)),), (shape, Shape(upper)))


@pytest.mark.rule("D-31")
def test_a_context_is_recognized_by_structure() -> None:
    assert isinstance(edge([4], [1], 4), sw.RepresentationValidationContext)
    assert not isinstance(object(), sw.RepresentationValidationContext)


@pytest.mark.rule("D-32")
def test_fields_structure_and_pickling() -> None:
    rule = sw.LevelExtent(1, sw.Whole)
    assert (rule.level, rule.extent) == (1, sw.Whole)
    assert rule.structure() == (
        "str:strideweave.carriers.dtype",
        "str:LevelExtent",
        ("int:1", "whole"),
    )
    again = pickle.loads(pickle.dumps(rule))
    assert again is not rule and again.structure() == rule.structure()
    assert rule.__reduce__() == (sw.LevelExtent, (1, sw.Whole))


class Three(int):
    pass


@pytest.mark.rule("D-32")
@pytest.mark.parametrize(
    ("level", "extent", "error", "text"),
    [
        (True, 0, TypeError, "level must be an int, got True"),
        (True, 3, TypeError, "level must be an int, got True"),
        (Three(3), 3, TypeError, "level must be an int, got 3 of type Three"),
        (-1, "x", ValueError, "level must be non-negative, got -1"),
        (0, True, TypeError, "extent must be Whole or an int, got True"),
        (0, "x", TypeError, "extent must be Whole or an int, got 'x'"),
        (0, Three(3), TypeError, "extent must be Whole or an int, got 3 of type Three"),
        (0, 0, ValueError, "extent must be positive, got 0"),
    ],
)
def test_constructor_faults_in_order(
    level: int, extent: int, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.LevelExtent(level, extent)


@pytest.mark.rule("D-33")
def test_uniform_blocks_pass() -> None:
    sw.LevelExtent(0, 32).validate(edge([32, 2], [0, 1], 2))
    sw.LevelExtent(0, sw.Whole).validate(edge([32, 2], [0, 0], 1))
    sw.LevelExtent(0, 1).validate(edge([32, 2], [1, 32], 64))


@pytest.mark.rule("D-33")
@pytest.mark.parametrize(
    ("rule", "context", "text"),
    [
        (sw.LevelExtent(1, 32), edge([32, 2], [0, 1], 2), "MXFP4 level 1: .* has no level 2"),
        (sw.LevelExtent(0, 32), edge([32, 2], [1, 0], 2), "MXFP4 level 0: .*no uniform number"),
        (sw.LevelExtent(0, 48), edge([32, 2], [0, 1], 2), "blocks of 48 do not divide its 64"),
        (sw.LevelExtent(0, 16), edge([32, 2], [0, 1], 2), "need 4 coordinates on level 1, got 2"),
        (sw.LevelExtent(0, sw.Whole), edge([32, 2], [0, 1], 2), "blocks of Whole .* need 1"),
        (sw.LevelExtent(0, sw.Whole), edge([32, 2], [0, 1], 1), "MXFP4 level 0: .*must cover 64"),
    ],
)
def test_other_edges_are_refused(rule: sw.LevelExtent, context: Context, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        rule.validate(context)


@pytest.mark.rule("D-33")
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.data(),
)
def test_what_passes_has_uniform_preimages(extents: list[int], data: st.DataObject) -> None:
    strides = [data.draw(st.integers(0, 4)) for _ in extents]
    shape = Shape(extents)
    extent = data.draw(
        st.sampled_from([e for e in range(1, shape.size + 1) if shape.size % e == 0])
    )
    context = edge(extents, strides, shape.size // extent)
    try:
        sw.LevelExtent(0, extent).validate(context)
    except ValueError:
        return
    layout = context.adjacent_layouts[0]
    images = sorted(layout(ordinal) for ordinal in range(shape.size))
    assert images == sorted(target for target in range(shape.size // extent) for _ in range(extent))
