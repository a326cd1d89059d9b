"""Views of several subtensors: the leading layouts change, everything else stays."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    CompoundDType,
    DType,
    Layout,
    LevelExtent,
    RepresentationRule,
    RepresentationValidationContext,
    Shape,
    Stride,
    Tensor,
    Whole,
)

Levels = Callable[..., Tensor]
View = Callable[[Tensor], Any]

VIEWS: dict[str, tuple[View, str, str]] = {
    # of the contract's illustration: the view, its placement and its adjacent layout
    "slice": (lambda t: t[:, :1], "(2,1):(1,2)", "(2,1):(0,1)"),
    "integer": (lambda t: t[:, 0], "2:1", "2:0"),
    "permute": (lambda t: sw.permute(t, 1, 0), "(2,2):(2,1)", "(2,2):(1,0)"),
    "as_strided": (
        lambda t: sw.as_strided(t, Shape(2, 2), Stride(2, 1)),
        "(2,2):(2,1)",
        "(2,2):(1,0)",
    ),
    "broadcast_to": (
        lambda t: sw.broadcast_to(sw.unsqueeze(t, 1), Shape(2, 3, 2)),
        "(2,3,2):(1,0,2)",
        "(2,3,2):(0,0,1)",
    ),
    "broadcast_in_dim": (
        lambda t: sw.broadcast_in_dim(t, Shape(2, 3, 2), (0, 2)),
        "(2,3,2):(1,0,2)",
        "(2,3,2):(0,0,1)",
    ),
    "unsqueeze": (lambda t: sw.unsqueeze(t, 0), "(1,2,2):(0,1,2)", "(1,2,2):(0,0,1)"),
    "squeeze": (lambda t: sw.squeeze(t[:, :1], 1), "2:1", "2:0"),
    "reshape": (lambda t: sw.reshape(t[:, 0], Shape(1, 2)), "(1,2):(1,1)", "(1,2):(0,0)"),
}


@pytest.mark.rule("T-19", "T-20", "T-22", "T-28", "T-29")
@pytest.mark.parametrize("name", VIEWS)
def test_the_illustration(levels: Levels, name: str) -> None:
    call, placement, adjacent = VIEWS[name]
    tensor = levels(offsets=(3, 5))
    before = tensor._representation()
    view = call(tensor)
    after = view._representation()
    assert str(view.layout) == placement
    assert str(after.adjacent_layouts[0]) == adjacent
    assert type(view) is Tensor and view is not tensor and view.autograd_ctx is None
    assert view.carrier is tensor.carrier and view.offset == 3 and view.dtype() is tensor.dtype()
    assert after.subtensors[1] is before.subtensors[1]
    assert tensor._representation() == before


@pytest.mark.rule("T-19", "T-32")
def test_each_leading_layout_must_step_evenly(levels: Levels) -> None:
    with pytest.raises(ValueError, match="coalesces to one logical leaf"):
        sw.reshape(levels(), Shape(4))


@pytest.mark.rule("T-19", "T-32")
def test_each_leading_layout_steps_by_its_own_distance(levels: Levels) -> None:
    tensor = levels(("(2,2):(3,6)", "(4):(2)"), ("(2,2):(1,2)",))
    view = sw.reshape(tensor, Shape([4, 1]))
    assert str(view.layout) == "(4,1):(3,12)"
    assert str(view._representation().adjacent_layouts[0]) == "(4,1):(1,4)"


@pytest.mark.rule("T-29")
@pytest.mark.parametrize(
    "use",
    [
        lambda t: t[:, 1],
        lambda t: t[1, :],
        lambda t: t[:, 1:],
        lambda t: t[-1:, :],
        lambda t: t[1:2:1, 0],
    ],
)
def test_a_slice_starts_at_zero(levels: Levels, use: View) -> None:
    with pytest.raises(NotImplementedError, match="normalized start 0"):
        use(levels())


@pytest.mark.rule("T-29")
@pytest.mark.parametrize("placement", ["(2,2):(0,1)", "(2,2):(1,0)"])
def test_a_later_start_is_refused_where_it_would_not_move_the_offset(
    levels: Levels, placement: str
) -> None:
    tensor = levels((placement, "2:1"), ("(2,2):(0,0)",))
    with pytest.raises(NotImplementedError, match="normalized start 0"):
        _ = tensor[1, :]
    with pytest.raises(NotImplementedError, match="normalized start 0"):
        _ = tensor[:, 1:]


@pytest.mark.rule("T-29")
@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        ((1, slice(0, 0)), NotImplementedError, "normalized start 0"),
        ((slice(0, 0), 1), ValueError, "must be non-empty"),
        ((slice(None), 2), ValueError, "View integer key is out of domain"),
        ((slice(None), slice(1, 2, 0)), ValueError, "positive step"),
        ((slice(None),), ValueError, "exactly one key per top-level mode"),
        ((slice(None), None), TypeError, "must be an integer or slice"),
    ],
)
def test_entries_are_checked_from_left_to_right(
    levels: Levels, key: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        levels()[key]


@pytest.mark.rule("T-29", "T-27")
def test_nested_modes_of_several_subtensors(levels: Levels) -> None:
    tensor = levels(("(2,(2,3)):(1,(2,4))", "6:1"), ("(2,(2,3)):(0,(1,2))",))
    view = tensor[0:1, :]
    assert str(view.layout) == "(1,(2,3)):(1,(2,4))"
    assert str(tensor[:, 0].layout) == "2:1"
    with pytest.raises(NotImplementedError, match="normalized start 0"):
        _ = tensor[:, 3]


@pytest.mark.rule("T-29", "T-19")
def test_an_operation_slices_by_integers_alone(levels: Levels) -> None:
    tensor = levels()
    view = tensor.carrier.dispatch_op("view").forward(tensor, (0, 0))
    assert str(view.layout) == "():()" and len(view._representation().subtensors) == 2


@pytest.mark.rule("T-33", "T-19")
def test_as_strided_repeats_in_the_adjacent_layout_only(levels: Levels) -> None:
    aliased = levels(("(2,2):(0,1)", "2:1"), ("(2,2):(0,1)",))
    with pytest.raises(ValueError, match="composed placement must be injective"):
        sw.as_strided(aliased, Shape(2), Stride(1))
    assert str(sw.as_strided(levels(), Shape(2), Stride(1)).layout) == "2:1"


@pytest.mark.rule("T-34", "T-19")
def test_both_compositions_must_be_representable(levels: Levels) -> None:
    tensor = levels(("(2,3):(1,2)", "6:1"), ("(2,3):(3,1)",))
    with pytest.raises(ValueError, match="composition is not representable"):
        sw.as_strided(tensor, Shape(6), Stride(1))


@pytest.mark.rule("T-26")
def test_views_of_released_storage(levels: Levels) -> None:
    leading, deeper = levels(), levels()
    leading.carrier.release()
    with pytest.raises(RuntimeError, match="carrier is released"):
        sw.as_strided(leading, Shape(2), Stride(1))
    with pytest.raises(ValueError, match=r"Tensor storage exceeds carrier size.*subtensor 0"):
        sw.permute(leading, 1, 0)
    deeper._representation().subtensors[1].carrier.release()
    with pytest.raises(ValueError, match=r"Tensor storage exceeds carrier size.*subtensor 1"):
        sw.permute(deeper, 1, 0)


# Rules of the dtype


class Recorder(RepresentationRule):
    """Notes each context, and complains where it is told to."""

    def __init__(self, seen: list[Any], complaint: str | None = None) -> None:
        self.seen, self.complaint = seen, complaint

    def validate(self, context: RepresentationValidationContext) -> None:
        self.seen.append((self, context))
        if self.complaint is not None and context.level_shapes[0].size < 4:
            raise LookupError(self.complaint)


class Ruled(CompoundDType, abstract=False):
    """A compound of two planes with rules."""


SEEN: list[Any] = []
RULES = [Recorder(SEEN), Recorder(SEEN, "level 0 shrank"), Recorder(SEEN)]
RULED = Ruled("TestRuled", simple_types=(DType.Float32, DType.Float32), representation_rules=RULES)


@pytest.mark.rule("T-16", "D-31")
def test_rules_run_in_order_over_one_frozen_context(levels: Levels) -> None:
    SEEN.clear()
    tensor = levels(dtype=RULED)
    assert [rule for rule, _ in SEEN] == RULES
    context = SEEN[0][1]
    assert all(seen is context for _, seen in SEEN)
    assert isinstance(context, RepresentationValidationContext)
    assert context.logical_dtype is RULED
    assert context.storage_dtypes == (DType.Float32, DType.Float32)
    assert context.placement_layouts == (tensor.layout, Layout.parse("2:1"))
    assert context.adjacent_layouts == (Layout.parse("(2,2):(0,1)"),)
    assert context.level_shapes == (Shape(2, 2), Shape(2))
    for field in ("logical_dtype", "level_shapes", "unknown"):
        with pytest.raises(AttributeError):
            setattr(context, field, ())


@pytest.mark.rule("T-16", "T-19", "T-21")
def test_a_view_that_breaks_a_rule_fails_with_the_rules_own_error(levels: Levels) -> None:
    tensor = levels(dtype=RULED)
    SEEN.clear()
    with pytest.raises(LookupError, match="level 0 shrank"):
        _ = tensor[:, 0]
    assert [rule for rule, _ in SEEN] == RULES[:2]
    assert tensor._version_token()[0][1] == 0 and not tensor.carrier.is_released()
    SEEN.clear()
    sw.permute(tensor, 1, 0)
    assert [rule for rule, _ in SEEN] == RULES


@pytest.mark.rule("T-15", "T-16")
def test_universal_faults_come_before_rules(levels: Levels) -> None:
    SEEN.clear()
    with pytest.raises(ValueError, match="outside level 1"):
        levels(adjacent_layouts=("(2,2):(1,2)",), dtype=RULED)
    assert SEEN == []


@pytest.mark.rule("D-31", "D-33", "T-16")
def test_block_scaled_dtypes_check_their_blocks(levels: Levels) -> None:
    def mxfp4(scales: int, adjacent: str) -> Tensor:
        return levels(("(32,2):(1,32)", f"{scales}:1"), (adjacent,), DType.MXFP4)

    tensor = mxfp4(2, "(32,2):(0,1)")
    assert sw.permute(tensor, 1, 0).dtype() is DType.MXFP4
    widened = sw.unsqueeze(tensor, 1)
    assert str(widened._representation().adjacent_layouts[0]) == "(32,1,2):(0,0,1)"
    with pytest.raises(ValueError, match="MXFP4 level 0"):
        mxfp4(2, "(32,2):(0,0)")
    with pytest.raises(ValueError, match="MXFP4 level 0"):
        mxfp4(3, "(32,2):(0,1)")
    with pytest.raises(ValueError, match="MXFP4 level 0"):
        _ = tensor[:, :1]
    with pytest.raises(ValueError, match="MXFP4 level 0"):
        sw.broadcast_to(widened, Shape(32, 3, 2))


@pytest.mark.rule("D-33", "T-16", "T-17")
def test_three_levels_with_a_whole_scale(levels: Levels) -> None:
    tensor = levels(
        ("(16,4):(1,16)", "4:1", "1:1"), ("(16,4):(0,1)", "4:0"), DType.NVFP4, (1, 2, 3)
    )
    assert [type(rule) for rule in DType.NVFP4.representation_rules] == [LevelExtent] * 2
    assert DType.NVFP4.levels[1].block is Whole
    view = sw.permute(tensor, 1, 0)._representation()
    assert [str(layout) for layout in view.adjacent_layouts] == ["(4,16):(1,0)", "4:0"]
    assert [entry.offset for entry in view.subtensors] == [1, 2, 3]
    with pytest.raises(ValueError, match="NVFP4 level 1"):
        levels(("(16,4):(1,16)", "4:1", "2:1"), ("(16,4):(0,1)", "4:0"), DType.NVFP4)
