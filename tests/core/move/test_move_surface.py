"""Names, import paths and the handle types."""

import asyncio
import copy
import inspect
import pickle
import weakref
from typing import Any

import pytest

import strideweave as sw
import strideweave.carriers.move as movement
import strideweave.operation
from strideweave import AwaitMove, AwaitResult, Tensor


@pytest.mark.rule("M-1")
def test_the_names_of_the_package_are_exactly_these() -> None:
    assert movement.__all__ == [
        "AwaitMove",
        "AwaitResult",
        "ElementwiseMoveOperation",
        "MoveOperation",
        "copy_async",
        "dispatch_move",
        "move_async",
        "register_move_operation",
        "registered_move_operation",
        "unregister_move_operation",
    ]


@pytest.mark.rule("M-1")
def test_every_path_gives_the_same_object() -> None:
    for name in ("AwaitMove", "AwaitResult", "copy_async", "move_async"):
        assert getattr(sw, name) is getattr(movement, name)
    for name in ("ElementwiseMoveOperation", "MoveOperation"):
        assert getattr(sw, name) is getattr(movement, name) is getattr(sw.operation, name)
    for name in ("move", "copy"):
        assert getattr(sw, name) is getattr(strideweave.operation, name)
    everywhere = ("move", "copy", "move_async", "copy_async", "AwaitMove", "explain_move")
    assert set(everywhere) <= set(sw.__all__)
    for name in ("dispatch_move", "register_move_operation", "registered_move_operation"):
        assert not hasattr(sw, name)


@pytest.mark.rule("M-4", "M-55")
@pytest.mark.parametrize("function", [sw.move, sw.move_async, sw.copy, sw.copy_async])
def test_a_call_takes_one_tensor_and_one_destination(function: Any, yard: Any) -> None:
    assert list(inspect.signature(function).parameters) == ["tensor", "destination"]
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=sw.DType.Float32)
    with pytest.raises(TypeError, match="tensor must be a Tensor, got list"):
        function([tensor], target)
    with pytest.raises(TypeError, match="Carrier instance, got"):
        function(tensor, [target])
    assert not tensor.carrier.is_owned() and not target.is_owned()


@pytest.mark.rule("M-19", "60/E-25")
@pytest.mark.parametrize("handle_class", [AwaitResult, AwaitMove])
def test_only_the_framework_makes_handles(handle_class: Any) -> None:
    for arguments in ((), (1,)):
        with pytest.raises(TypeError, match=f"{handle_class.__name__} is created by the framework"):
            handle_class(*arguments)
    with pytest.raises(TypeError, match="created by the framework"):
        handle_class[int]()


@pytest.mark.rule("M-19")
def test_a_handle_offers_done_and_wait_and_nothing_else() -> None:
    for handle_class in (AwaitResult, AwaitMove):
        assert [name for name in dir(handle_class) if not name.startswith("_")] == ["done", "wait"]
        for name in ("__await__", "__aiter__", "__anext__", "await", "send", "throw", "cancel"):
            assert not hasattr(handle_class, name)
    assert issubclass(AwaitMove, AwaitResult)


@pytest.fixture
def handle(yard: Any) -> Any:
    source, destination = yard.pair()
    tensor = yard.tensor(source, 1.0)
    return sw.move_async(tensor, destination(1, dtype=sw.DType.Float32))


@pytest.mark.rule("M-19")
def test_handles_are_identified_referenced_weakly_and_subscriptable(handle: Any) -> None:
    assert type(handle) is AwaitMove and isinstance(handle.wait(), Tensor)
    assert handle == handle and handle != object() and {handle: 1}[handle] == 1
    assert weakref.ref(handle)() is handle
    assert AwaitMove[Tensor] is not None and AwaitResult[None] is not None
    for name in ("done", "anything"):
        with pytest.raises(AttributeError):
            setattr(handle, name, False)


@pytest.mark.rule("M-19")
def test_a_handle_cannot_be_awaited(handle: Any) -> None:
    async def wait_for() -> None:
        await handle

    with pytest.raises(TypeError, match="await"):
        asyncio.run(wait_for())


@pytest.mark.rule("M-19", "G-18")
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_handle_is_not_copied(duplicate: Any, handle: Any) -> None:
    with pytest.raises(TypeError, match="neither copied nor pickled; wait"):
        duplicate(handle)
