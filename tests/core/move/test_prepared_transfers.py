"""What prepare and submit are given, and what they may give back."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor
from strideweave.carriers.extension import PreparedTransfer, TransferRequest

FLOAT32 = DType.Float32


def moving(yard: Any, submit: Callable[[Any], Any], **options: Any) -> tuple[Any, Any]:
    """A Tensor of two values and a destination of two slots, of a pair with this submit."""
    source, destination = yard.pair(submit, **options)
    return yard.tensor(source, 1.0, 2.0), yard.carrier(destination, 8.0, 9.0)


@pytest.mark.rule("M-11", "R-41", "S-12")
def test_prepare_sees_the_request_on_the_calling_thread_with_both_carriers_claimed(
    yard: Any,
) -> None:
    seen: list[Any] = []

    def prepare(request: Any) -> PreparedTransfer:
        seen.append(request)
        assert type(request) is TransferRequest
        assert threading.current_thread() is threading.main_thread()
        assert not sw.is_grad_enabled()
        assert request.source.is_owned() and request.destination.is_owned()
        for carrier in (request.source, request.destination):
            assert not carrier.is_mutable() and not carrier._has_owner_access()
            with pytest.raises(RuntimeError, match="not mutable"):
                carrier[0] = 3.0
            with pytest.raises(RuntimeError, match="owned"):
                carrier.release()
        assert request.tensor.tolist() == [1.0, 3.0]
        return PreparedTransfer(lambda: None)

    source, destination = yard.pair(prepare=prepare)
    carrier = yard.carrier(source, 0.0, 1.0, 2.0, 3.0)
    tensor = yard.over(carrier, Layout.parse("2:2"), 1)
    target = destination(3, dtype=FLOAT32)
    sw.move(tensor, target)
    (request,) = seen
    assert request.tensor is tensor and request.destination is target
    assert (request.source_class, request.destination_class) == (source, destination)
    assert request.dtype is FLOAT32 and request.layout is tensor.layout
    assert request.physical_span == 3 and sw.is_grad_enabled()


@pytest.mark.rule("M-23", "M-31")
def test_submit_runs_once_inside_owner_access_with_the_graph_off(yard: Any) -> None:
    seen: list[str] = []

    def submit(request: Any) -> None:
        seen.append(threading.current_thread().name)
        assert request.source._has_owner_access() and request.destination._has_owner_access()
        assert request.destination.is_mutable() and not sw.is_grad_enabled()
        request.destination[0], request.destination[1] = request.tensor.tolist()

    for act in (sw.move, lambda tensor, target: sw.move_async(tensor, target).wait()):
        tensor, target = moving(yard, submit)
        assert act(tensor, target).tolist() == [1.0, 2.0]
        assert not target._has_owner_access() and target.is_mutable()
    assert seen == ["MainThread"] * 2 and sw.is_grad_enabled()


@pytest.mark.rule("M-23", "M-28")
def test_a_submit_that_gives_none_is_committed_at_once(yard: Any) -> None:
    tensor, target = moving(yard, lambda request: None)
    handle = sw.move_async(tensor, target)
    assert handle.done and tensor.carrier.is_released() and not target.is_owned()
    assert handle.wait() is handle.wait() and handle.wait().carrier is target


@pytest.mark.rule("M-23", "M-24")
def test_a_finished_completion_is_waited_for_before_the_call_returns(yard: Any) -> None:
    completion = yard.Pending()
    completion.finish()

    def submit(request: Any) -> Any:
        yard_transfer(request)
        return completion

    tensor, target = moving(yard, submit)
    handle = sw.move_async(tensor, target)
    assert handle.done and completion.waits == ["MainThread"]
    assert handle.wait().tolist() == [1.0, 2.0]


def yard_transfer(request: Any) -> None:
    request.destination.cells[:] = request.source.cells


@pytest.mark.rule("M-23", "M-22", "M-24", "M-25")
def test_an_unfinished_completion_is_waited_for_once_on_a_thread_of_its_own(yard: Any) -> None:
    access: list[bool] = []

    class Watching(yard.Pending):  # type: ignore[misc]  # its base is a fixture's attribute
        def wait(self) -> Any:
            access.append(target._has_owner_access() or sw.is_grad_enabled())
            return super().wait()

    completion = Watching()
    tensor, target = moving(yard, lambda request: completion)
    handle = sw.move_async(tensor, target)
    assert not handle.done
    completion.finish()
    moved = handle.wait(20)
    assert type(moved) is Tensor and moved.carrier is target
    assert completion.waits == ["strideweave-completion"] and access == [False]


@pytest.mark.rule("M-23", "R-37", "R-33")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "has no done and no wait"),
        (False, "bool, which is neither"),
        ((), "tuple, which is neither"),
    ],
)
def test_anything_else_from_submit_fails_the_handle(value: Any, message: str, yard: Any) -> None:
    tensor, target = moving(yard, lambda request: value)
    before = yard.state(tensor.carrier)
    handle = sw.move_async(tensor, target)
    with pytest.raises(TypeError, match=message) as failure:
        handle.wait()
    assert "submit of the route 'S.to.D' of the pair (S, D)" in str(failure.value)
    assert yard.state(tensor.carrier) == before
    assert target.is_mutable() and not target.is_owned()


class Completion:
    """Finished, with an attribute more or a member of another kind."""

    done: Any = True
    outcome: Any = None

    def wait(self) -> Any:
        return self.outcome


@pytest.mark.rule("M-23", "R-31", "R-33")
@pytest.mark.parametrize("member", ["__await__", "__aiter__", "__anext__", "send"])
def test_a_coroutine_protocol_is_refused(member: str, yard: Any) -> None:
    names = [member, "throw"] if member == "send" else [member]
    made = type("Awaitable", (Completion,), dict.fromkeys(names, lambda self: None))
    with pytest.raises(TypeError, match="has no coroutine protocol"):
        sw.move(*moving(yard, lambda request: made()))


@pytest.mark.rule("M-24", "R-33")
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"outcome": 3}, "must end in None, got int"),
        ({"done": 1}, r"whose done is 1 \(int\)"),
        ({"done": False}, r"done must be True after wait\(\) returned"),
    ],
)
def test_a_faulty_completion_fails_the_handle(members: Any, message: str, yard: Any) -> None:
    made = type("Faulty", (Completion,), members)
    tensor, target = moving(yard, lambda request: made())
    before = yard.state(tensor.carrier)
    with pytest.raises(TypeError, match=message):
        sw.move_async(tensor, target).wait(20)
    assert yard.state(tensor.carrier) == before
    assert target.is_mutable() and not target.is_owned()


@pytest.mark.rule("R-36", "O-73")
def test_a_record_is_submitted_at_most_once_ever(yard: Any) -> None:
    submissions: list[int] = []
    record = PreparedTransfer(lambda: submissions.append(1))
    source, destination = yard.pair(prepare=lambda request: record)
    sw.move(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    with pytest.raises(TypeError, match="PreparedTransfer was submitted before"):
        sw.move_async(tensor, target)
    assert submissions == [1] and not tensor.carrier.is_owned() and target.version == 0


@pytest.mark.rule("R-38")
def test_a_completion_never_shows_in_the_result_or_its_graph(yard: Any) -> None:
    completion = yard.Pending()
    tensor, target = moving(yard, lambda request: completion)
    handle = sw.move_async(tensor, target)
    completion.finish()
    moved = handle.wait(20)
    node = moved.autograd_ctx
    assert node is not None and node.inputs() == (tensor,)
    assert all(value is not completion for value in vars(node).values())


@pytest.mark.rule("M-23", "S-8")
def test_an_interrupt_in_submit_reaches_the_caller(yard: Any) -> None:
    def submit(request: Any) -> None:
        raise KeyboardInterrupt

    for act in (sw.move, sw.move_async):
        tensor, target = moving(yard, submit)
        with pytest.raises(KeyboardInterrupt):
            act(tensor, target)
        assert tensor.tolist() == [1.0, 2.0] and tensor.is_mutable() and target.is_mutable()


@pytest.mark.rule("R-75")
def test_a_transfer_may_copy_through_public_movement(yard: Any) -> None:
    """Inside submit the provider acts for the owner, so it may stage its source elsewhere."""
    staged: list[Any] = []

    def submit(request: Any) -> None:
        staging = sw.copy(request.tensor, yard.elementwise("Staging")(0, dtype=FLOAT32))
        staged.append(staging.carrier)
        request.destination.cells[:] = staging.tolist()

    source, destination = yard.subclass("S"), yard.subclass("D")
    yard.define(source, [yard.route(source, destination, submit)], True)
    yard.define(destination, [yard.route(destination, source)])
    moved = sw.move(yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32))
    assert moved.tolist() == [1.0, 2.0] and not staged[0].is_owned()
