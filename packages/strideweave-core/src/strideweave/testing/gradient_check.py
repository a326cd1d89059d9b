"""Vector-Jacobian products against central differences of the forward operation."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from strideweave.autograd import grad
from strideweave.dtype import DType
from strideweave.layout.enumeration import slots
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor
from strideweave.testing.operation_case import (
    MakeCarrier,
    OperandCase,
    OperationCase,
    Value,
    call_case,
    operand,
    run_case,
)

# Powers of two, so that steps and quotients of binary32 values are exact.
_STEP = 2.0**-6
_WEIGHTS = (1.0, -0.5, 2.0, 0.25, -1.5)


def gradient_disagreement(
    case: OperationCase, make_carrier: MakeCarrier, tolerance: float = 1e-2
) -> str | None:
    """Compare the gradients of a case with central differences in every slot.

    The objective is the sum of the results, weighted by a fixed cotangent. A slot that several
    coordinates read gets one derivative, which the gradient shows at each of them.

    Args:
        case: A differentiable case whose result is smooth within ``2**-6`` of its operands.
        make_carrier: Makes a carrier from values and a dtype.
        tolerance: Allowed error, relative to the larger of 1 and the derivative.

    Returns:
        None where all agree, else the first disagreement.
    """
    operands = case.build(make_carrier)
    output = call_case(case, operands)
    weights = operand(DType.Float32, _WEIGHTS, output.layout)
    wanted = [given for given in operands if _is_float(given)]
    gradients = iter(grad(output, wanted, weights.tensor(make_carrier)))
    for position, given in enumerate(case.operands):
        if not isinstance(given, OperandCase) or given.dtype is not DType.Float32:
            continue
        gradient = next(gradients)
        if gradient is None:
            return f"{case}: operand {position} got no gradient"
        found = logical_values(gradient)
        reached = slots(given.layout)
        derivatives = dict(_derivatives(case, position, given, make_carrier))
        for ordinal, slot in enumerate(reached):
            expected = derivatives[slot]
            if not abs(found[ordinal] - expected) <= tolerance * max(1.0, abs(expected)):
                return (
                    f"{case}: gradient of operand {position} at ordinal {ordinal} is "
                    f"{found[ordinal]!r}, central differences give {expected!r}"
                )
    return None


def _is_float(given: Any) -> bool:
    return isinstance(given, Tensor) and given.dtype() is DType.Float32


def _derivatives(
    case: OperationCase, position: int, given: OperandCase, make_carrier: MakeCarrier
) -> Iterator[tuple[int, float]]:
    for slot in sorted(set(slots(given.layout))):
        index = given.offset + slot
        above = _objective(_moved(case, position, given, index, _STEP), make_carrier)
        below = _objective(_moved(case, position, given, index, -_STEP), make_carrier)
        yield slot, (above - below) / (2 * _STEP)


def _moved(
    case: OperationCase, position: int, given: OperandCase, index: int, step: float
) -> OperationCase:
    storage: list[Value] = list(given.storage)
    storage[index] += step
    operands: list[Any] = list(case.operands)
    operands[position] = replace(given, storage=tuple(storage))
    return replace(case, operands=tuple(operands))


def _objective(case: OperationCase, make_carrier: MakeCarrier) -> float:
    with no_grad():
        values: Sequence[Value] = logical_values(run_case(case, make_carrier))
    return sum(value * _WEIGHTS[ordinal % len(_WEIGHTS)] for ordinal, value in enumerate(values))
