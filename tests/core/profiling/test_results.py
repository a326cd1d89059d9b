"""Aggregates and the table."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Profiler, ProfilerAggregate, ProfilerEvent, Tensor, profile
from strideweave.profiling.aggregation import aggregate
from strideweave.profiling.table import TableOptions, render
from strideweave.testing import ArrayCarrier

Make = Callable[..., Tensor]
CARRIER = "strideweave.testing.array_carrier.ArrayCarrier"
HEADER = "Name  Carrier  Calls  Total (ns)  Self total (ns)  Mean (ns)  Min (ns)  Max (ns)"


def event(name: str, duration: int, **changes: Any) -> ProfilerEvent:
    fields: dict[str, Any] = {
        "id": 0,
        "parent_id": None,
        "name": name,
        "carrier_type": ArrayCarrier,
        "implementation_type": sw.Operation,
        "input_shapes": None,
        "start_time_ns": 0,
        "duration_ns": duration,
        "self_time_ns": duration,
        "thread_id": 1,
        "succeeded": True,
        "completed": True,
    }
    return ProfilerEvent(**(fields | changes))


@pytest.fixture
def profiler(f: Make, clock: Callable[..., None]) -> Profiler:
    """relu of 10 ns and 30 ns, a failed add of 2 ns, exp of 100 ns."""
    clock(0, 10, 20, 50, 60, 62, 100, 200)
    with profile(record_shapes=True) as made:
        sw.relu(f(2))
        sw.relu(f(3))
        with pytest.raises(ValueError, match="compatible"):
            sw.add(f(2), f(3))
        sw.exp(f(2))
    return made


@pytest.mark.rule("A-49")
def test_key_averages_sum_up_each_name(profiler: Profiler) -> None:
    assert profiler.key_averages() == (
        ProfilerAggregate("add", ArrayCarrier, None, 1, 2, 2, 2.0, 2, 2),
        ProfilerAggregate("exp", ArrayCarrier, None, 1, 100, 100, 100.0, 100, 100),
        ProfilerAggregate("relu", ArrayCarrier, None, 2, 40, 40, 20.0, 10, 30),
    )
    assert type(profiler.key_averages()[0].mean_time_ns) is float


@pytest.mark.rule("A-49")
def test_key_averages_by_shape(profiler: Profiler) -> None:
    rows = profiler.key_averages(group_by_input_shape=True)
    assert [(row.name, row.input_shapes, row.count, row.total_time_ns) for row in rows] == [
        ("add", ((2,), (3,)), 1, 2),
        ("exp", ((2,),), 1, 100),
        ("relu", ((2,),), 1, 10),
        ("relu", ((3,),), 1, 30),
    ]


@pytest.mark.rule("A-49")
def test_self_times_and_the_mean_of_a_group() -> None:
    (row,) = aggregate([event("mul", 5, self_time_ns=1), event("mul", 2, self_time_ns=2)], False)
    assert row == ProfilerAggregate("mul", ArrayCarrier, None, 2, 7, 3, 3.5, 2, 5)


@pytest.mark.rule("A-49")
def test_incomplete_events_do_not_count() -> None:
    pending = event("move.complete", 0, succeeded=False, completed=False)
    assert aggregate([pending], False) == ()
    (row,) = aggregate([pending, event("move.complete", 7, succeeded=False)], False)
    assert (row.count, row.total_time_ns) == (1, 7)


def carrier_class(module: str, name: str) -> Any:
    return type(name, (sw.Carrier,), {"__module__": module, "__qualname__": name})


@pytest.mark.rule("A-49")
def test_order_of_aggregates() -> None:
    first, second, third = (
        carrier_class("a.a", "Z"),
        carrier_class("a.b", "A"),
        carrier_class("a.b", "B"),
    )
    events = [
        event("b", 1, carrier_type=first),
        *(event("a", 1, carrier_type=kind) for kind in (third, second, first)),
        *(event("a", 1, carrier_type=first, input_shapes=s) for s in (((3,),), ((2, 2),), ((2,),))),
    ]
    rows = aggregate(events, True)
    assert [(row.name, row.carrier_type, row.input_shapes) for row in rows] == [
        ("a", first, ((2, 2),)),
        ("a", first, ((2,),)),
        ("a", first, ((3,),)),
        ("a", first, None),
        ("a", second, None),
        ("a", third, None),
        ("b", first, None),
    ]


@pytest.mark.rule("A-49")
def test_classes_of_one_name_stay_apart() -> None:
    twins = [carrier_class("here", "Twin") for _ in range(2)]
    rows = aggregate([event("a", 1, carrier_type=twin) for twin in twins], False)
    assert [row.carrier_type for row in rows] == twins


@pytest.mark.rule("A-49")
def test_the_flag_is_checked_before_the_exit() -> None:
    with pytest.raises(TypeError, match="group_by_input_shape must be a bool"):
        profile().key_averages(group_by_input_shape=1)  # type: ignore[arg-type]  # refused


@pytest.mark.rule("A-50", "Y-36")
def test_an_empty_table_is_a_header_and_dashes() -> None:
    with profile() as profiler:
        pass
    dashes = "----  -------  -----  ----------  ---------------  ---------  --------  --------"
    assert profiler.table() == f"{HEADER}\n{dashes}"
    assert profiler.key_averages() == ()
    by_shape = profiler.table(group_by_input_shape=True).splitlines()[0]
    assert by_shape == HEADER.replace("Carrier", "Carrier  Input shapes")


@pytest.mark.rule("A-50")
def test_columns_are_aligned(profiler: Profiler) -> None:
    dash = "-" * len(CARRIER)
    assert profiler.table(row_limit=2).splitlines() == [
        HEADER.replace("Carrier", f"{'Carrier':{len(CARRIER)}}"),
        f"----  {dash}  -----  ----------  ---------------  ---------  --------  --------",
        f"exp   {CARRIER}  1      100         100              100.0      100       100     ",
        f"relu  {CARRIER}  2      40          40               20.0       10        30      ",
    ]
    assert profiler.table() == profiler.table()


@pytest.mark.rule("A-50")
def test_the_shapes_are_a_column_on_request(profiler: Profiler) -> None:
    lines = profiler.table(group_by_input_shape=True, sort_by="name").splitlines()
    assert [line.split("  ")[0].strip() for line in lines[2:]] == ["relu", "relu", "exp", "add"]
    assert f"relu  {CARRIER}  ((2,),)       1      10 " in lines[2]
    assert f"add   {CARRIER}  ((2,), (3,))  1      2  " in lines[5]


@pytest.mark.rule("A-50", "Y-35")
def test_sorting_by_count(f: Make) -> None:
    with profile() as profiler:
        sw.relu(f(2))
        sw.relu(f(2))
        sw.exp(f(2))
    rows = profiler.table(sort_by="count").splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["relu", "exp"]
    assert rows[0].split()[2] == "2"
    limited = profiler.table(sort_by="count", row_limit=1).splitlines()
    assert len(limited) == 3 and limited[2].startswith("relu")
    assert len(profiler.table(row_limit=0).splitlines()) == 2


FIELDS = """
    name carrier_type input_shapes count total_time_ns self_total_time_ns mean_time_ns min_time_ns
    max_time_ns
"""


@pytest.mark.rule("A-50")
@pytest.mark.parametrize("field", FIELDS.split())
def test_every_aggregate_field_sorts_and_ties_keep_the_order(field: str) -> None:
    rows = aggregate([event("a", 1), event("b", 1), event("c", 1)], False)

    def order(descending: bool) -> list[str]:
        text = render(rows, TableOptions(field, descending, False, None))
        return [line[0] for line in text.splitlines()[2:]]

    assert order(False) == ["a", "b", "c"]
    assert order(True) == (["c", "b", "a"] if field == "name" else ["a", "b", "c"])


@pytest.mark.rule("A-50")
def test_ascending_and_descending(profiler: Profiler) -> None:
    def order(**options: Any) -> list[str]:
        return [line.split()[0] for line in profiler.table(**options).splitlines()[2:]]

    assert order() == ["exp", "relu", "add"], "by self time, largest first"
    assert order(descending=False) == ["add", "relu", "exp"]
    assert order(sort_by="max_time_ns") == ["exp", "relu", "add"]
    assert order(sort_by="count", descending=False) == ["add", "exp", "relu"]


@pytest.mark.rule("A-50", "Y-37")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sort_by": []}, TypeError, "sort_by .*unhashable"),
        ({"sort_by": "x"}, ValueError, "'x' is no sort field"),
        ({"sort_by": 3}, ValueError, "3 is no sort field"),
        ({"row_limit": True}, ValueError, "row_limit .*got True"),
        ({"row_limit": -1}, ValueError, "row_limit .*got -1"),
        ({"row_limit": 1.0}, ValueError, "row_limit .*got 1.0"),
        ({"row_limit": "2"}, ValueError, "row_limit .*got '2'"),
        ({"descending": 1}, TypeError, "descending must be a bool"),
        ({"group_by_input_shape": None}, TypeError, "group_by_input_shape must be a bool"),
    ],
)
def test_table_arguments_are_checked_before_the_exit(
    options: Any, error: type[Exception], message: str
) -> None:
    with profile() as profiler, pytest.raises(error, match=message):
        profiler.table(**options)
    with pytest.raises(error, match=message):
        profiler.table(**options)
