"""Making, entering and leaving a profiler."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
import strideweave.operation
import strideweave.profiling
from strideweave import Profiler, Tensor, profile
from strideweave.testing import ArrayCarrier

NAMES = ["profile", "Profiler", "ProfilerEvent", "ProfilerAggregate"]


@pytest.mark.rule("A-40")
@pytest.mark.parametrize("name", NAMES)
def test_the_names_are_the_same_objects_in_three_places(name: str) -> None:
    exported = getattr(sw, name)
    assert getattr(strideweave.profiling, name) is exported
    assert getattr(strideweave.operation, name) is exported


@pytest.mark.rule("A-40", "A-42")
@pytest.mark.parametrize("make", [profile, Profiler])
def test_entering_returns_the_profiler_and_exceptions_propagate(
    make: Callable[..., Profiler],
) -> None:
    made = make(carriers=None, record_shapes=False)
    assert type(made) is Profiler
    with made as entered:
        assert entered is made
    with pytest.raises(KeyError), make():
        raise KeyError
    assert make().__enter__().__exit__(None, None, None) is False


@pytest.mark.rule("A-40")
@pytest.mark.parametrize("make", [profile, Profiler])
def test_parameters_are_keyword_only(make: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        make(None)


class UnhashableKind(type):
    __hash__ = None  # type: ignore[assignment]  # the point


class Unhashable(sw.Carrier, metaclass=UnhashableKind):
    pass


BAD_CARRIERS = {
    "not iterable": 3,
    "a class": ArrayCarrier,
    "text": "ArrayCarrier",
    "unhashable entry": [[]],
    "unhashable class": [Unhashable],
    "instance": [ArrayCarrier(1, dtype=sw.DType.Float32)],
    "other class": [ArrayCarrier, int],
}


@pytest.mark.rule("A-41")
@pytest.mark.parametrize("carriers", BAD_CARRIERS.values(), ids=list(BAD_CARRIERS))
def test_carriers_must_be_carrier_classes(carriers: Any) -> None:
    with pytest.raises(TypeError, match="Carrier"):
        profile(carriers=carriers)


@pytest.mark.rule("A-41")
@pytest.mark.parametrize("flag", [1, 0, None, "yes"])
def test_record_shapes_must_be_a_bool(flag: Any) -> None:
    with pytest.raises(TypeError, match="record_shapes must be a bool"):
        profile(record_shapes=flag)


@pytest.mark.rule("A-41")
def test_only_exactly_the_given_classes_are_recorded(shelves: Any, f: Any) -> None:
    first, second = shelves.delegating(), shelves.delegating()

    def names(carriers: Any) -> list[type]:
        with profile(carriers=carriers) as profiler:
            sw.relu(shelves.put(first, f(2)))
            sw.exp(shelves.put(second, f(2)))
        return [event.carrier_type for event in profiler.events()]

    assert names(None) == [first, ArrayCarrier, second, ArrayCarrier]
    assert names(iter([first, ArrayCarrier])) == [first, ArrayCarrier, ArrayCarrier]
    assert names({second}) == [second]
    assert names([]) == []
    assert names([sw.Carrier]) == [], "the base class of all is none of them"


@pytest.mark.rule("A-42")
def test_one_profiler_per_thread(f: Callable[..., Tensor]) -> None:
    refused = profile()
    with profile() as profiler:
        with pytest.raises(RuntimeError, match="already active"):
            refused.__enter__()
        with pytest.raises(RuntimeError, match="single-use"):
            refused.__enter__()
        sw.relu(f(2))
    with pytest.raises(RuntimeError, match="single-use"):
        refused.__enter__()
    assert len(profiler.events()) == 1, "the refused one changed nothing"
    with profile():
        pass


@pytest.mark.rule("A-42")
def test_a_profiler_is_entered_once() -> None:
    with profile() as profiler:
        with pytest.raises(RuntimeError, match="single-use"):
            profiler.__enter__()
    with pytest.raises(RuntimeError, match="single-use"):
        profiler.__enter__()


@pytest.mark.rule("A-42")
def test_leaving_what_is_not_active() -> None:
    profiler = profile()
    with pytest.raises(RuntimeError, match="not active"):
        profiler.__exit__(None, None, None)
    with profiler:
        pass
    with pytest.raises(RuntimeError, match="not active"):
        profiler.__exit__(None, None, None)


RESULTS: dict[str, Callable[[Profiler], object]] = {
    "events": lambda profiler: profiler.events(),
    "key_averages": lambda profiler: profiler.key_averages(),
    "table": lambda profiler: profiler.table(),
    "chrome_trace": lambda profiler: profiler.chrome_trace(),
    "export_chrome_trace": lambda profiler: profiler.export_chrome_trace("unused"),
}


@pytest.mark.rule("A-42")
@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
def test_results_exist_after_exit(result: Callable[[Profiler], object]) -> None:
    profiler = profile()
    with pytest.raises(RuntimeError, match="only after context exit"):
        result(profiler)
    with profiler, pytest.raises(RuntimeError, match="only after context exit"):
        result(profiler)


@pytest.mark.rule("A-42")
def test_exit_freezes_the_events(f: Callable[..., Tensor]) -> None:
    with profile() as profiler:
        sw.relu(f(2))
    frozen = profiler.events()
    sw.exp(f(2))
    with profile():
        sw.exp(f(2))
    assert profiler.events() == frozen
    assert [event.name for event in frozen] == ["relu"]


@pytest.mark.rule("A-42")
def test_a_profiler_left_inside_an_execution_ends_its_event(shelves: Any, f: Any) -> None:
    profiler = profile()

    def kernel(invocation: Any) -> Tensor:
        sw.exp(f(2))
        profiler.__exit__(None, None, None)
        operand: Tensor = invocation.operands[0]
        sw.neg(f(2))
        return Tensor(operand.carrier.new_like([0.0, 0.0]), 0, operand.layout)

    tensor = shelves.put(shelves.with_kernel(kernel), f(2))
    with sw.no_grad():
        profiler.__enter__()
        sw.relu(tensor)
    outer, inner = profiler.events()
    assert (outer.name, outer.succeeded, outer.completed) == ("relu", False, True)
    assert (inner.name, inner.parent_id, inner.succeeded) == ("exp", 0, True)
    assert outer.duration_ns >= outer.self_time_ns + inner.duration_ns


@pytest.mark.rule("A-40")
def test_repr_tells_the_state() -> None:
    profiler = Profiler()
    assert repr(profiler) == "<Profiler, not entered>"
    with profiler:
        assert repr(profiler) == "<Profiler, recording>"
        sw.friendly.tensor([1.0], carrier=ArrayCarrier) + 1.0
    assert repr(profiler) == f"<Profiler of {len(profiler.events())} events>"
