"""Failures after the submission: at every callback, raising and answering wrongly."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType
from strideweave.carriers.extension import PreparedTransfer
from strideweave.carriers.move import ElementwiseMoveOperation, MoveOperation

FLOAT32 = DType.Float32
BOUND = 20.0


class Fault(Exception):
    pass


class Faults:
    """Counts every call of wrapped callbacks; spoils the one whose number is ``at``."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.at: int | None = None
        self.spoil: Callable[[], object] = self.fail
        self.is_active = False

    def fail(self) -> object:
        raise Fault(self.calls[-1])

    def wrap(self, name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if not self.is_active:
                return callback(*arguments)
            self.calls.append(name)
            if len(self.calls) - 1 == self.at:
                return self.spoil()
            return callback(*arguments)

        return call

    def run(self, act: Callable[..., Any], *arguments: Any) -> Any:
        self.calls.clear()
        self.is_active = True
        try:
            return act(*arguments)
        finally:
            self.is_active = False


def storage(yard: Any, faults: Faults, prefix: str, **changes: Any) -> dict[str, Any]:
    provider = yard.workshop.storage(**changes)
    names = ("physical_size", "allocate", "release", "read", "write", "read_span", "write_span")
    return {
        name: faults.wrap(f"{prefix}.{name}", getattr(provider, name))
        for name in names
        if getattr(provider, name) is not None
    }


def read_span(carrier: Any, start: int, out: memoryview) -> None:
    for position in range(len(out)):
        out[position] = carrier.cells[start + position]


def write_span(carrier: Any, start: int, values: memoryview) -> None:
    carrier.cells[start : start + len(values)] = values.tolist()


SPANS = {"read_span": read_span, "write_span": write_span}


def by_route(yard: Any, faults: Faults) -> Any:
    completion = yard.Pending()
    completion.finish()

    def prepare(request: Any) -> Any:
        return PreparedTransfer(
            faults.wrap("submit", lambda: Finished(faults, completion.submit(request)))
        )

    return yard.pair(
        prepare=faults.wrap("prepare", prepare),
        source_storage=storage(yard, faults, "source"),
        destination_storage=storage(yard, faults, "destination"),
    )


class Finished:
    """A finished completion whose members may be spoilt."""

    def __init__(self, faults: Faults, pending: Any) -> None:
        pending.finish()
        self._done = faults.wrap("done", lambda: True)
        self.wait = faults.wrap("wait", lambda: None)

    @property
    def done(self) -> bool:
        answer: bool = self._done()
        return answer


def by_slots(yard: Any, faults: Faults) -> Any:
    return (
        yard.elementwise("S", **storage(yard, faults, "source")),
        yard.elementwise("D", **storage(yard, faults, "destination")),
    )


def by_spans(yard: Any, faults: Faults) -> Any:
    return (
        yard.elementwise("S", **storage(yard, faults, "source", **SPANS)),
        yard.elementwise("D", **storage(yard, faults, "destination", **SPANS)),
    )


CHECKS = ["source.physical_size", "destination.physical_size"]
COMMIT = [*CHECKS, "source.release"]
OBSERVED = [*CHECKS, "prepare", *CHECKS]  # preparation must leave the sizes alone
SLOTS = ["source.read"] * 3 + ["destination.write"] * 3
SPAN = ["source.read_span", "destination.write_span"]
SUBMITTED = ["submit", "done", "done", "wait", "done"]

# Each way, its callbacks into a destination with slots, and the first after whose call the
# destination counts as touched. A storage callback of a copy leaves the version alone.
WAYS: list[tuple[Any, list[str], int]] = [
    (by_route, [*CHECKS, *OBSERVED, *SUBMITTED, *COMMIT], 7),
    (by_slots, [*CHECKS, *SLOTS, *COMMIT], 8),
    (by_spans, [*CHECKS, *SPAN, *COMMIT], 4),
]


@pytest.fixture(params=WAYS, ids=["by_route", "by_slots", "by_spans"])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.rule("G-3", "M-29", "M-30", "S-8", "R-23", "M-21")
@pytest.mark.parametrize("answers", [False, True], ids=["raising", "answering"])
def test_every_callback_may_fail(way: Any, answers: bool, yard: Any) -> None:
    make, names, first_touched = way
    faults = Faults()
    source, destination = make(yard, faults)
    for position, name in enumerate(names):
        faults.at, faults.spoil = position, object if answers else faults.fail
        if answers and name == "done" and names[position - 1] == "done":
            continue  # a second reading may say what it likes
        tensor, target = yard.tensor(source, 1.0, 2.0, 3.0), destination(3, dtype=FLOAT32)
        before = yard.state(tensor.carrier)
        with pytest.raises(TypeError if answers else Fault) as failure:
            faults.run(sw.move, tensor, target)
        assert faults.calls[: position + 1] == names[: position + 1]
        if not answers and name != "done":
            assert any("raised by" in note for note in failure.value.__notes__)
        assert yard.state(tensor.carrier) == before
        assert tensor.autograd_ctx is None and tensor._grad is None
        assert not target.is_owned() and target.is_mutable() and not target.is_released()
        assert target.size() == 3
        assert target.version == (position >= first_touched), (position, name)
    faults.at = None
    tensor, target = yard.tensor(source, 1.0, 2.0, 3.0), destination(3, dtype=FLOAT32)
    assert faults.run(sw.move, tensor, target).tolist() == [1.0, 2.0, 3.0]
    assert faults.calls == names and target.version == 1


@pytest.mark.rule("G-3", "M-7", "M-29", "M-21", "S-5", "S-6")
@pytest.mark.parametrize("answers", [False, True], ids=["raising", "answering"])
def test_a_destination_that_the_move_sized_is_empty_again(
    way: Any, answers: bool, yard: Any
) -> None:
    make, names, _ = way
    faults = Faults()
    source, destination = make(yard, faults)
    before_sizing = names.index("prepare") + 3 if "prepare" in names else 2
    sizing = ["destination.allocate", "destination.physical_size"]
    names = [*names[:before_sizing], *sizing, *names[before_sizing:]]
    for position, name in enumerate(names):
        faults.at, faults.spoil = position, object if answers else faults.fail
        if answers and name == "done" and names[position - 1] == "done":
            continue
        tensor, target = yard.tensor(source, 1.0, 2.0, 3.0), destination(0, dtype=FLOAT32)
        before = yard.state(tensor.carrier, target)
        with pytest.raises(TypeError if answers else Fault):
            faults.run(sw.move, tensor, target)
        assert faults.calls[: position + 1] == names[: position + 1]
        assert yard.state(tensor.carrier, target) == before, (position, name)


@pytest.mark.rule("M-29", "M-7")
def test_a_destination_that_cannot_be_put_back_only_leaves_a_note(yard: Any) -> None:
    def allocate(carrier: Any, slots: int) -> None:
        if carrier.is_owned() and slots == 0:
            raise OSError("stuck")
        carrier.cells = [0.0] * slots

    def submit(request: Any) -> None:
        raise Fault("lost")

    source, destination = yard.pair(submit, destination_storage={"allocate": allocate})
    target = destination(0, dtype=FLOAT32)
    with pytest.raises(Fault, match="lost") as failure:
        sw.move(yard.tensor(source, 1.0), target)
    assert any("back to size 0 failed too: OSError('stuck')" in n for n in failure.value.__notes__)
    assert target.is_mutable() and not target.is_owned() and target.version == 0


@pytest.mark.rule("M-29", "M-23", "S-8")
@pytest.mark.parametrize("ends", ["submit", "pending"])
def test_the_handle_records_the_failure_after_both_carriers_are_free(ends: str, yard: Any) -> None:
    completion, error = yard.Pending(), Fault("lost")

    def submit(request: Any) -> Any:
        if ends == "submit":
            raise error
        return completion

    source, destination = yard.pair(submit)
    tensor, target = yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32)
    target[0] = 5.0
    handle = sw.move_async(tensor, target)
    assert handle.done is (ends == "submit")
    completion.fail(error)
    with pytest.raises(Fault) as failure:
        handle.wait(BOUND)
    assert failure.value is error and handle.done
    assert tensor.tolist() == [1.0, 2.0] and tensor.is_mutable() and not tensor.carrier.is_owned()
    assert target.version == 2 and target.is_mutable() and not target.is_owned()
    (note,) = error.__notes__
    callback = "PreparedTransfer.submit" if ends == "submit" else "ProviderCompletion.wait"
    assert note == f"raised by {callback} of the route 'S.to.D' of S while executing 'move'"


@pytest.mark.rule("M-28", "M-29")
@pytest.mark.parametrize(
    ("tamper", "kind", "message"),
    [
        (
            lambda request: request.source.__setitem__(0, 7.0),
            RuntimeError,
            r"source of \(S, D\) was written to while it moved",
        ),
        (
            lambda request: request.destination.release(),
            RuntimeError,
            r"destination of \(S, D\) was released by the transfer",
        ),
        (
            lambda request: request.destination.cells.pop(),
            ValueError,
            r"destination of \(S, D\) has 1 slots after .* needs 2",
        ),
        (
            lambda request: setattr(request.destination, "_storage_dtype", DType.Int32),
            TypeError,
            r"destination of \(S, D\) has another dtype",
        ),
    ],
)
def test_the_commit_checks_that_what_was_claimed_is_the_same(
    tamper: Any, kind: type[Exception], message: str, yard: Any
) -> None:
    def submit(request: Any) -> None:
        tamper(request)

    source, destination = yard.pair(submit)
    tensor, target = yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32)
    handle = sw.move_async(tensor, target)
    with pytest.raises(kind, match=message):
        handle.wait()
    assert not tensor.carrier.is_released() and not tensor.carrier.is_owned()
    assert not target.is_owned()


@pytest.mark.rule("M-28", "M-30")
def test_a_source_that_the_transfer_released_is_no_success(yard: Any) -> None:
    source, destination = yard.pair(lambda request: request.source.release())
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    with pytest.raises(RuntimeError, match=r"source of \(S, D\) was released"):
        sw.move(tensor, target)
    assert target.is_mutable() and not target.is_owned()


@pytest.mark.rule("M-30")
def test_an_error_of_giving_the_carriers_back_is_recorded(yard: Any) -> None:
    def relinquish(self: Any, token: int) -> None:
        raise OSError("the owner is gone")

    def allocate(self: Any, size: int) -> None:
        self.cells = [0.0] * size

    stubborn = yard.subclass(
        "Stubborn", yard.Listed, _relinquish_ownership=relinquish, _allocate=allocate
    )
    plain = yard.Listed
    for size in (1, 0):
        tensor, target = yard.over(plain([1.0])), stubborn([0.0] * size)
        with pytest.raises(OSError, match="the owner is gone"):
            sw.move_async(tensor, target).wait(BOUND)
        assert target.is_owned() and not tensor.carrier.is_owned()
        assert target.cells == [1.0]  # the source is gone, so these are the only values

    class Breaking(MoveOperation):
        def _copy(self, *arguments: Any) -> None:
            raise Fault("lost")

    sw.carriers.move.register_move_operation(plain, stubborn, Breaking)
    with pytest.raises(OSError, match="the owner is gone") as failure:
        sw.move(yard.over(plain([1.0])), stubborn([0.0]))
    assert "followed another failure of the move: Fault('lost')" in failure.value.__notes__[0]
    sw.carriers.move.unregister_move_operation(plain, stubborn)


def raise_fault(*arguments: Any) -> None:
    raise Fault("lost")


@pytest.mark.rule("M-29", "S-8", "M-15", "60/E-10")
@pytest.mark.parametrize("base", [MoveOperation, ElementwiseMoveOperation])
@pytest.mark.parametrize("act", [sw.move, lambda t, d: sw.move_async(t, d).wait(BOUND)])
def test_a_failing_custom_copy_counts_as_having_touched_the_destination(
    act: Any, base: Any, yard: Any
) -> None:
    first, second = yard.subclass("First", yard.Listed), yard.subclass("Second", yard.Listed)
    failing = type("Failing", (base,), {"_copy": raise_fault})
    sw.carriers.move.register_move_operation(first, second, failing)
    tensor, target = yard.over(first([1.0, 2.0])), second([0.0, 0.0])
    before = yard.state(tensor.carrier)
    with pytest.raises(Fault, match="lost"):
        act(tensor, target)
    assert yard.state(tensor.carrier) == before
    assert target.version == 1 and target.is_mutable() and not target.is_owned()


@pytest.mark.rule("M-15")
def test_a_copy_that_answers_fails(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)
    answering = type("Answering", (MoveOperation,), {"_copy": lambda self, *arguments: 3})
    sw.carriers.move.register_move_operation(shelf, shelf, answering)
    with pytest.raises(TypeError, match=r"Answering._copy must return None, got 3 \(int\)"):
        sw.move(yard.over(shelf([1.0])), shelf([0.0]))


@pytest.mark.rule("M-29", "M-16")
@pytest.mark.parametrize("hook", ["get_value", "set_value", "_read_span", "_write_span"])
def test_a_raising_hook_of_a_copy_leaves_the_versions(hook: str, yard: Any) -> None:
    calls: list[int] = []

    def failing(self: Any, *arguments: Any) -> Any:
        if not self.is_owned():
            return self.cells[arguments[0]]
        calls.append(1)
        if hook.endswith("value") and len(calls) < 2:
            return getattr(yard.Listed, hook)(self, *arguments)
        raise Fault(hook)

    faulty = yard.subclass("Faulty", yard.Listed, **{hook: failing})
    tensor, target = yard.over(faulty([1.0, 2.0])), faulty([0.0, 0.0])
    with pytest.raises(Fault, match=hook):
        sw.move(tensor, target)
    assert (tensor.carrier.version, target.version) == (0, 0)
    assert tensor.carrier.cells == [1.0, 2.0] and target.is_mutable()


@pytest.mark.rule("M-29", "M-16")
def test_a_failing_read_has_written_nothing(yard: Any) -> None:
    reads: list[int] = []

    def read(carrier: Any, index: int) -> Any:
        reads.append(index)
        if carrier.is_owned() and index == 2:
            raise OSError("bad sector")
        return carrier.cells[index]

    source, destination = yard.elementwise("S", read=read), yard.elementwise("D")
    tensor, target = yard.tensor(source, 1.0, 2.0, 3.0), yard.carrier(destination, 7.0, 8.0, 9.0)
    before = yard.state(target)
    with pytest.raises(OSError, match="bad sector"):
        sw.move(tensor, target)
    assert yard.state(target) == before and reads[-3:] == [0, 1, 2]


@pytest.mark.rule("M-29", "M-25")
def test_a_thread_of_the_pool_survives_whatever_a_copy_raises(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)

    class Quitting(MoveOperation):
        def _copy(self, *arguments: Any) -> None:
            raise SystemExit(threading.current_thread().name)

    with sw.carriers.move.registered_move_operation(shelf, shelf, Quitting):
        for _ in range(10):
            handle = sw.move_async(yard.over(shelf([1.0])), shelf([0.0]))
            with pytest.raises(SystemExit, match="strideweave-worker"):
                handle.wait(BOUND)
    handle = sw.move_async(yard.over(shelf([1.0])), shelf([0.0]))
    assert handle.wait(BOUND).tolist() == [1.0]
