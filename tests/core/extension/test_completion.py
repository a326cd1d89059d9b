"""Which objects are accepted as provider completions, and asynchronous execution."""

import asyncio
import concurrent.futures
import threading
from typing import Any

import pytest

from strideweave import KernelExecutionInterface
from strideweave.carriers.extension import PreparedKernel, ProviderCompletion, ProviderResult
from strideweave.carriers.extension.results import accept_completion


class Pending:
    """A completion under the test's control."""

    def __init__(self) -> None:
        self.finished = threading.Event()
        self.outcome: Any = None
        self.waits = 0

    @property
    def done(self) -> bool:
        return self.finished.is_set()

    def finish(self, outcome: Any) -> None:
        self.outcome = outcome
        self.finished.set()

    def wait(self) -> Any:
        self.waits += 1
        assert self.finished.wait(10)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.mark.rule("R-31")
def test_the_protocol_is_structural_and_checkable_at_run_time() -> None:
    assert isinstance(Pending(), ProviderCompletion)
    assert not isinstance(object(), ProviderCompletion)
    for name in ("__await__", "__aiter__", "__anext__", "send", "throw"):
        assert not hasattr(ProviderCompletion, name)
    with pytest.raises(TypeError):
        issubclass(Pending, ProviderCompletion)  # type: ignore[misc]


@pytest.mark.rule("R-31", "R-33", "M-23")
def test_a_completion_is_accepted_as_it_is() -> None:
    pending = Pending()
    assert accept_completion(pending, source="submit", immediate="None") is pending
    assert pending.waits == 0
    pending.finish(None)
    assert accept_completion(pending, source="submit", immediate="None") is pending


class Lacking:
    done = True


class Waiting:
    def wait(self) -> None: ...


class Integer:
    done = 1

    def wait(self) -> None: ...


class Method(Waiting):
    def done(self) -> bool:
        return True


class Awaitable(Waiting):
    done = True

    def __await__(self) -> Any: ...


class Iterating(Waiting):
    done = True

    def __aiter__(self) -> Any: ...


class Next(Waiting):
    done = True

    def __anext__(self) -> Any: ...


class Generating(Waiting):
    done = True

    def send(self, value: Any) -> Any: ...

    def throw(self, error: Any) -> Any: ...


class Uncallable:
    done = True
    wait = 3


async def coroutine() -> None: ...


@pytest.mark.rule("R-33", "M-23", "R-31")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (object, "object, which is neither .* it has no done and no wait"),
        (lambda: None, "NoneType, which is neither"),
        (Lacking, "has no wait"),
        (Waiting, "has no done"),
        (Integer, r"whose done is 1 \(int\); it must be a property that gives a bool"),
        (Method, r"whose done is <bound method .*\(method\)"),
        (concurrent.futures.Future, "has no wait"),
        (Awaitable, "with __await__; a ProviderCompletion is waited for with wait"),
        (Iterating, "with __aiter__"),
        (Next, "with __anext__"),
        (Generating, "with send and throw"),
        (Uncallable, "whose wait is not callable"),
    ],
)
def test_other_objects_are_refused_with_what_they_lack(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"submit of K returned an instance of .*{message}"):
        accept_completion(make(), source="submit of K", immediate="None")


@pytest.mark.rule("R-33", "M-23")
def test_asyncio_objects_are_refused() -> None:
    made = coroutine()
    loop = asyncio.new_event_loop()
    for value in (made, loop.create_future()):
        with pytest.raises(TypeError, match="submit"):
            accept_completion(value, source="submit", immediate="None")
    made.close()
    loop.close()


@pytest.mark.rule("R-33")
def test_a_raising_done_propagates() -> None:
    class Broken(Waiting):
        @property
        def done(self) -> bool:
            raise OSError("device lost")

    with pytest.raises(OSError, match="device lost"):
        accept_completion(Broken(), source="submit", immediate="None")


def jit_carrier(workshop: Any, submit: Any) -> tuple[Any, Any]:
    """An operation whose kernel submits whatever ``submit(invocation)`` returns."""
    operation = workshop.operation()

    def prepare(invocation: Any, interface: Any) -> PreparedKernel:
        return PreparedKernel(interface, lambda: submit(invocation))

    carrier_class = workshop.defined([workshop.pattern(operation, prepare=prepare)])
    return operation, workshop.tensor(carrier_class, 1.0, 2.0)


@pytest.mark.rule("R-37", "R-38", "R-39", "O-73")
def test_complete_a_jit_kernel_asynchronously(workshop: Any) -> None:
    pending = Pending()
    submitted = threading.Event()
    results: list[Any] = []

    def submit(invocation: Any) -> Pending:
        results.append(workshop.doubled(invocation))
        submitted.set()
        return pending

    operation, tensor = jit_carrier(workshop, submit)
    returned: list[Any] = []
    caller = threading.Thread(target=lambda: returned.append(operation(tensor)))
    caller.start()
    assert submitted.wait(10) and not pending.done and not returned
    pending.finish(results[0])
    caller.join(10)
    assert returned[0] is results[0].outputs[0] and returned[0].tolist() == [2.0, 4.0]


@pytest.mark.rule("R-32", "R-39")
def test_the_terminal_exception_of_a_completion_reaches_the_caller(workshop: Any) -> None:
    failure = OSError("device lost")
    pending = Pending()
    pending.finish(failure)
    operation, tensor = jit_carrier(workshop, lambda invocation: pending)
    version = tensor.version
    for _ in range(2):
        with pytest.raises(OSError, match="device lost") as caught:
            operation(tensor)
        assert caught.value is failure
        assert len(failure.__notes__) == 1
        assert "Shelf" in failure.__notes__[0] and operation.name in failure.__notes__[0]
    assert (tensor.version, tensor.carrier.is_owned()) == (version, False)


@pytest.mark.rule("R-37", "R-40", "R-23", "S-3")
def test_reject_a_malformed_prepared_result(workshop: Any) -> None:
    returns: list[Any] = []
    operation, tensor = jit_carrier(workshop, lambda invocation: returns[-1](invocation))
    version = tensor.version

    def completion(outcome: Any) -> Pending:
        pending = Pending()
        pending.finish(outcome)
        return pending

    class Never(Pending):
        @property
        def done(self) -> bool:
            return False

    def never(invocation: Any) -> Never:
        pending = Never()
        pending.finish(workshop.doubled(invocation))
        return pending

    for answer, message in (
        (
            lambda invocation: workshop.doubled(invocation).outputs[0],
            "returned an instance of Tensor",
        ),
        (lambda invocation: None, "NoneType"),
        (lambda invocation: completion(None), "NoneType"),
        (lambda invocation: completion(invocation.operands[0]), "Tensor"),
        (never, "done"),
    ):
        returns.append(answer)
        with pytest.raises(TypeError, match=message):
            operation(tensor)
    assert tensor.version == version
    returns.append(lambda invocation: completion(workshop.doubled(invocation)))
    assert operation(tensor).tolist() == [2.0, 4.0]


@pytest.mark.rule("R-36", "O-73")
def test_a_prepared_record_is_submitted_at_most_once(workshop: Any) -> None:
    submissions: list[Any] = []
    kept: list[PreparedKernel] = []
    operation = workshop.operation()

    def prepare(invocation: Any, interface: Any) -> PreparedKernel:
        def submit() -> ProviderResult:
            submissions.append(invocation)
            result: ProviderResult = workshop.doubled(invocation)
            return result

        kept.append(PreparedKernel(interface, submit))
        return kept[0]

    carrier_class = workshop.defined([workshop.pattern(operation, prepare=prepare)])
    tensor = workshop.tensor(carrier_class, 1.0)
    assert operation(tensor).tolist() == [2.0]
    with pytest.raises(TypeError, match="this PreparedKernel was submitted before"):
        operation(tensor)
    assert len(submissions) == 1


@pytest.mark.rule("R-36", "G-12")
def test_of_many_threads_one_submits() -> None:
    threads, rounds = 4, 500
    interface = KernelExecutionInterface("1")
    prepared = [PreparedKernel(interface, lambda: None) for _ in range(rounds)]  # type: ignore[arg-type,return-value]
    claims = [0] * rounds
    barrier = threading.Barrier(threads)
    lock = threading.Lock()

    def race() -> None:
        for position, record in enumerate(prepared):
            barrier.wait()
            try:
                record._claim_submission()
            except TypeError:
                continue
            with lock:
                claims[position] += 1

    workers = [threading.Thread(target=race) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert claims == [1] * rounds
