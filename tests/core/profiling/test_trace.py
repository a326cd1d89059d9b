"""The export to trace viewers."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import strideweave as sw
from strideweave import Profiler, Shape, Tensor, profile
from strideweave.operation.recording import recording
from strideweave.testing import ArrayCarrier

Make = Callable[..., Tensor]
CARRIER = "strideweave.testing.array_carrier.ArrayCarrier"


def entries(profiler: Profiler) -> list[dict[str, Any]]:
    trace = json.loads(profiler.chrome_trace())
    assert trace["displayTimeUnit"] == "ns"
    found: list[dict[str, Any]] = trace["traceEvents"]
    return found


@pytest.mark.rule("A-52")
def test_an_execution_is_a_complete_event_in_microseconds(
    f: Make, clock: Callable[..., None]
) -> None:
    clock(1_000, 4_500, 10_000, 10_001)
    with profile(record_shapes=True) as profiler:
        sw.mul(f(2, (3, 4)), 2.0)
        with pytest.raises(ValueError, match="compatible"):
            sw.add(f(2), f(3))
    place = {"pid": os.getpid(), "tid": threading.get_ident(), "cat": "operation", "ph": "X"}
    common = {"parent_id": None, "carrier": CARRIER, "implementation": "BoundOperation"}
    assert entries(profiler) == [
        {
            **place,
            "name": "mul",
            "ts": 1.0,
            "dur": 3.5,
            "args": {
                **common,
                "id": 0,
                "succeeded": True,
                "self_time_us": 3.5,
                "input_shapes": [[2, [3, 4]], None],
            },
        },
        {
            **place,
            "name": "add",
            "ts": 10.0,
            "dur": 0.001,
            "args": {
                **common,
                "id": 1,
                "succeeded": False,
                "self_time_us": 0.001,
                "input_shapes": [[2], [3]],
            },
        },
    ]


@pytest.mark.rule("A-52")
def test_nested_executions_lie_inside_each_other(shelves: Any, f: Make) -> None:
    with profile() as profiler:
        sw.relu(shelves.put(shelves.delegating(), f(2)))
    outer, inner = entries(profiler)
    assert inner["args"]["parent_id"] == outer["args"]["id"] == 0
    assert "input_shapes" not in inner["args"]
    # A microsecond as a double keeps fractions of a nanosecond, but not exactly.
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-6


@pytest.mark.rule("A-52")
def test_the_rest_of_a_movement_is_asynchronous(clock: Callable[..., None]) -> None:
    clock(0, 1_000, 2_000, 10_000, 11_000, 12_000)
    with profile() as profiler:
        recorder = recording.movements
        assert recorder is not None
        completions = []
        for _ in range(2):
            with recorder.submission("copy", ArrayCarrier, sw.Operation, Shape(2)) as interval:
                interval.close()
            completions.append(recorder.completion(interval))
        assert completions[0] is not None
    clock(20_000)
    completions[0].close(True)
    submit, begin, end, pending = entries(profiler)
    assert [entry["name"] for entry in (submit, begin, end, pending)] == [
        "copy.submit",
        "copy.complete",
        "copy.complete",
        "copy.submit",
    ]
    assert [entry["ph"] for entry in (submit, begin, end, pending)] == ["X", "b", "e", "X"]
    assert (begin["ts"], end["ts"], begin["id"], end["id"]) == (2.0, 20.0, 1, 1)
    assert begin["args"]["parent_id"] == 0


@pytest.mark.rule("A-52")
def test_export_writes_the_same_text(tmp_path: Path, f: Make) -> None:
    with profile() as profiler:
        sw.relu(f(2))
    target = tmp_path / "trace.json"
    target.write_text("older and longer" * 100)
    profiler.export_chrome_trace(target)
    assert target.read_text(encoding="utf-8") == profiler.chrome_trace()
    profiler.export_chrome_trace(str(target))
    with pytest.raises(OSError):
        profiler.export_chrome_trace(tmp_path / "absent" / "trace.json")


@pytest.mark.rule("A-52")
def test_an_empty_profile_is_an_empty_trace() -> None:
    with profile() as profiler:
        pass
    assert entries(profiler) == []
