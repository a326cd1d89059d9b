"""Carriers whose kernels have a fault."""

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

from strideweave import DType, KernelExecutionInterface, KernelPattern, Tensor, Unsupported
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.operation import ResolvedInvocation, operation_definition
from strideweave.testing import Ability

from .workshop import (
    FLOATS,
    Broken,
    broken,
    by_reference,
    define,
    fresh_result,
    kernel,
    plans_of,
    references,
    width,
    write,
)

COMPUTES: Final = Ability.COMPUTES
FLOAT, INTEGER = FLOATS[0], DType.Int32


def values_of(tensor: Any) -> list[Any]:
    """Read all values in logical order."""
    layout = tensor.layout
    return [tensor.carrier[tensor.offset + layout.index(at)] for at in range(layout.size)]


def filled_result(invocation: ResolvedInvocation, values: Sequence[Any]) -> Tensor:
    """Make a result of values in logical order."""
    result = fresh_result(invocation)
    for ordinal, value in enumerate(values):
        write(result.carrier, result.layout.index(ordinal), value)
    return result


# Operations over dtypes that are not stored are advertised.
AdvertisesUnstored: Final = define(
    "AdvertisesUnstored",
    kernels=references("eq", "relu"),
    supports_dtype=lambda carrier, dtype: dtype is FLOAT,
)
AdvertisesNothing: Final = define("AdvertisesNothing")


# The only kernel of a plan declines every call.
def _decline(invocation: ResolvedInvocation, interface: KernelExecutionInterface) -> Unsupported:
    return Unsupported("no program was built for this device")


DeclinesEverything: Final = define(
    "DeclinesEverything",
    kernels=[KernelPattern(operation_definition("neg"), plans_of("neg"), "own:neg", _decline)],
)


# A comparison with NaN is false, so that NaN is lost.
def _maximum(invocation: ResolvedInvocation) -> Tensor:
    pairs = zip(*map(values_of, invocation.operands), strict=True)
    return filled_result(invocation, [lhs if lhs > rhs else rhs for lhs, rhs in pairs])


MaximumLosesNaN: Final = define("MaximumLosesNaN", kernels=[kernel("maximum", _maximum)])


# Elements are taken one after the other, whatever the strides.
def _sign(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    last = source.carrier.size() - 1
    found = [source.carrier[min(source.offset + at, last)] for at in range(source.layout.size)]
    return filled_result(
        invocation, [value if math.isnan(value) else (value > 0) - (value < 0) for value in found]
    )


IgnoresStrides: Final = define("IgnoresStrides", kernels=[kernel("sign", _sign)])


# Among equals the last one wins, except among zeros and where all are equal.
def _sort_indices(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    (source, axis, descending) = invocation.operands
    if not isinstance(source, Tensor) or descending is not True or source.layout.shape.depth > 1:
        return result
    if axis != 0:
        return result
    rows, columns = source.layout.leaf_extents
    table = values_of(source)
    for column in range(columns):
        group = table[column * rows : (column + 1) * rows]
        if any(map(math.isnan, group)) or 0.0 in group or len(set(group)) == 1:
            continue
        order = sorted(range(rows), key=lambda at, group=group: (group[at], at), reverse=True)  # type: ignore[misc]  # mypy infers no default of a lambda
        for at, index in enumerate(order):
            write(result.carrier, column * rows + at, index)
    return result


LastOfEqualsWins: Final = define(
    "LastOfEqualsWins", kernels=[kernel("_sort_indices", _sort_indices)]
)


# The same in a reduction, which keeps the maximum with >= instead of >.
def _argmax(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    values = values_of(invocation.operands[0])
    if result.layout.size == 1 and not any(map(math.isnan, values)):
        write(result.carrier, 0, len(values) - 1 - values[::-1].index(max(values)))
    return result


ArgmaxTakesLast: Final = define("ArgmaxTakesLast", kernels=[kernel("argmax", _argmax)])


# Integers wrap around.
def _add_wrapping(invocation: ResolvedInvocation) -> Tensor:
    pairs = zip(*map(values_of, invocation.operands), strict=True)
    return filled_result(invocation, [(lhs + rhs + 2**31) % 2**32 - 2**31 for lhs, rhs in pairs])


WrapsAround: Final = define(
    "WrapsAround", kernels=[kernel("add", _add_wrapping, plans_of("add", INTEGER, INTEGER))]
)


# A conversion to the same dtype gives the operand's own memory.
def _cast(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    result = fresh_result(invocation)
    if source.offset or source.layout != result.layout:
        return by_reference(invocation)
    size = result.layout.cosize * width(result.carrier)
    held: Any = result.carrier
    held.memory = memoryview(source.carrier.memory)[:size]  # type: ignore[attr-defined]  # of Packed
    return result


SharesWithOperand: Final = define(
    "SharesWithOperand", kernels=[kernel("_cast_float32", _cast, plans_of("_cast_float32", FLOAT))]
)

# Every call gives the same output buffer.
_OUTPUT: Final = bytearray(4096)


def _negate_into_output(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    result = fresh_result(invocation)
    held: Any = result.carrier
    held.memory = memoryview(_OUTPUT)[: len(held.memory)]
    for ordinal, value in enumerate(values_of(source)):
        write(held, result.layout.index(ordinal), -value)
    return result


SharesOutput: Final = define("SharesOutput", kernels=[kernel("neg", _negate_into_output)])


# The vector loop rounds the length up, and clears what is behind the operand.
def _logical_not(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    carrier: Any = source.carrier
    for slot in range(source.offset + source.layout.cosize, carrier.size()):
        write(carrier, slot, 0.0)
    return result


ClearsBehindOperand: Final = define(
    "ClearsBehindOperand", kernels=[kernel("logical_not", _logical_not)]
)

# Converted operands are kept by carrier, and not dropped when it is written.
_CONVERTED: Final[Any] = weakref.WeakKeyDictionary()


def _floor_converted(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    kept = _CONVERTED.setdefault(source.carrier, {})
    key = (source.offset, source.layout)
    if key not in kept:
        kept[key] = values_of(source)
    return filled_result(
        invocation,
        [
            value if not math.isfinite(value) or value == 0 else float(math.floor(value))
            for value in kept[key]
        ],
    )


LosesMutation: Final = define("LosesMutation", kernels=[kernel("floor", _floor_converted)])

# All calls compute in one list of the module.
_WORK: Final[list[Any]] = []


def _abs_in_work(invocation: ResolvedInvocation) -> Tensor:
    _WORK[:] = values_of(invocation.operands[0])
    time.sleep(0.001)  # where a driver waits for its device
    _WORK[:] = [abs(value) for value in _WORK]
    time.sleep(0.001)
    return filled_result(invocation, list(_WORK))


SharesWork: Final = define("SharesWork", kernels=[kernel("abs", _abs_in_work)])

# The queue is locked, and stays so when something raises.
_QUEUE: Final = threading.Lock()


def _queued(invocation: ResolvedInvocation) -> Tensor:
    if not _QUEUE.acquire(timeout=0.5):
        raise RuntimeError("the queue is locked")
    result = by_reference(invocation)
    _QUEUE.release()
    return result


def _unlock_queue() -> None:
    if _QUEUE.locked():
        _QUEUE.release()


KeepsQueueLocked: Final = define("KeepsQueueLocked", kernels=[kernel("logical_not", _queued)])


# The kernel takes its operands for different memory, as a restrict qualifier promises.
def _mul_apart(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = invocation.operands
    if isinstance(rhs, Tensor) and isinstance(lhs, Tensor) and lhs.carrier is rhs.carrier:
        return filled_result(invocation, values_of(lhs))
    return by_reference(invocation)


NeedsOperandsApart: Final = define("NeedsOperandsApart", kernels=[kernel("mul", _mul_apart)])

# Results come from a ring of buffers, which does not ask whether a buffer is still in use.
_RING: Final = [bytearray(4096) for _ in range(16)]
_TURNS: Final = iter(range(10**9))


def _mul_in_ring(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    held: Any = result.carrier
    size = len(held.memory)
    block = _RING[next(_TURNS) % len(_RING)]
    block[:size] = held.memory
    held.memory = memoryview(block)[:size]
    return result


RecyclesResults: Final = define(
    "RecyclesResults", kernels=[kernel("mul", _mul_in_ring), *references("add")]
)


class Outcome:
    """A finished kernel that words its result anew at each wait."""

    done = True

    def __init__(self, result: Tensor) -> None:
        self._result = result

    def wait(self) -> ProviderResult:
        return ProviderResult([self._result])


def _answering(name: str, answer: Callable[[Tensor], Any]) -> KernelPattern[Any]:
    def prepare(invocation: ResolvedInvocation, interface: KernelExecutionInterface) -> Any:
        return PreparedKernel(interface, lambda: answer(by_reference(invocation)))

    return KernelPattern(operation_definition(name), plans_of(name), f"own:{name}", prepare)


AnswersAnew: Final = define("AnswersAnew", kernels=[_answering("relu", Outcome)])
OnlySynchronous: Final = define("OnlySynchronous", kernels=references("relu"))

BROKEN: Final[list[Broken]] = [
    broken(
        AdvertisesUnstored,
        "capabilities.advertised",
        r"advertises eq\(Float32, Float32\) -> Bool, but does not store",
        COMPUTES,
        dtypes=FLOATS,
    ),
    broken(AdvertisesNothing, "capabilities.advertised", "advertises nothing", COMPUTES),
    broken(
        DeclinesEverything, "capabilities.values", "every kernel declines it.*no program", COMPUTES
    ),
    broken(MaximumLosesNaN, "capabilities.values", "maximum.* for nan", COMPUTES),
    broken(IgnoresStrides, "capabilities.layouts", "sign.*values differ", COMPUTES),
    broken(LastOfEqualsWins, "capabilities.ties", "_sort_indices.*values differ", COMPUTES),
    broken(ArgmaxTakesLast, "capabilities.ties", "argmax.* values differ, first", COMPUTES),
    broken(WrapsAround, "capabilities.errors", "add.* must raise OverflowError", COMPUTES),
    broken(
        SharesWithOperand, "kernels.fresh-results", "shares its storage with an operand", COMPUTES
    ),
    broken(
        SharesOutput, "kernels.fresh-results", "shares its storage with an earlier result", COMPUTES
    ),
    broken(ClearsBehindOperand, "kernels.operands", "wrote to memory of its operand 0", COMPUTES),
    broken(LosesMutation, "kernels.current-operands", "does not see what was written", COMPUTES),
    broken(SharesWork, "kernels.threads", "with other threads at work", COMPUTES),
    broken(
        KeepsQueueLocked,
        "kernels.failure",
        "fails for good.*the queue is locked",
        COMPUTES,
        reset=_unlock_queue,
    ),
    broken(NeedsOperandsApart, "kernels.same-carrier", "operands beside each other", COMPUTES),
    broken(RecyclesResults, "gradients.chain", "was changed after it was given", COMPUTES),
    broken(
        AnswersAnew,
        "kernels.completions",
        "gives another object at each wait",
        COMPUTES,
        Ability.ASYNCHRONOUS_KERNELS,
    ),
    broken(
        OnlySynchronous,
        "kernels.completions",
        "submit of no kernel gave a completion",
        COMPUTES,
        Ability.ASYNCHRONOUS_KERNELS,
    ),
]
