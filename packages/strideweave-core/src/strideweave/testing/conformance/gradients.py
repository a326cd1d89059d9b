"""Checks of gradients on a carrier."""

from typing import Any, Final

from strideweave.autograd import grad
from strideweave.dtype import DType
from strideweave.functional import mul
from strideweave.operation.policy import resolve_operation_plan
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.plans import (
    advertised_cases,
    gradient_calls,
    maker,
    on_reference,
)
from strideweave.testing.operation_case import MakeCarrier, OperationCase, call_case, operand

_SEED: Final = (1.0, -0.5, 2.0, 0.25, -1.5)
_TOLERANCE: Final = 1e-5
_DEPTH: Final = 24


@check("gradients.operations", ability=Ability.COMPUTES)
def operations(subject: CarrierAdapter[Any]) -> None:
    """Gradients of every advertised operation are those of the reference."""
    make = maker(subject)
    for case in advertised_cases(subject, gradient_calls):
        try:
            found = _gradients(case, make)
        except Exception as error:
            raise ConformanceFailure(
                f"the gradient of {case} on {subject.name} failed: {error!r}"
            ) from error
        for position, (mine, wanted) in enumerate(
            zip(found, _gradients(case, on_reference), strict=True)
        ):
            fault = _difference(mine, wanted)
            require(
                fault is None,
                f"gradient {position} of {case} on {subject.name} differs from the reference: "
                f"{fault}",
            )


def _gradients(case: OperationCase, make: MakeCarrier) -> list[Tensor]:
    operands = case.build(make)
    output = call_case(case, operands)
    wanted = [
        given for given in operands if isinstance(given, Tensor) and given.is_differentiable()
    ]
    seed = operand(DType.Float32, _SEED, output.layout).tensor(make)
    return [found for found in grad(output, wanted, seed) if found is not None]


def _difference(found: Tensor, expected: Tensor) -> str | None:
    if found.layout != expected.layout:
        return f"its layout is {found.layout}, not {expected.layout}"
    mine, wanted = logical_values(found), logical_values(expected)
    scale = max(1.0, *(abs(value) for value in wanted))
    for ordinal, (value, right) in enumerate(zip(mine, wanted, strict=True)):
        if not abs(value - right) <= _TOLERANCE * scale:
            return f"element {ordinal} is {value!r}, not {right!r}"
    return None


@check("gradients.chain", ability=Ability.COMPUTES)
def chain(subject: CarrierAdapter[Any]) -> None:
    """A gradient through a long chain of calls finds every intermediate result as it was."""
    carrier = subject.make(1, subject.dtypes[0])
    if not carrier.supports_operation_plan(resolve_operation_plan("mul", *[DType.Float32] * 2)):
        return
    fault = _difference(_chain_gradient(maker(subject)), _chain_gradient(on_reference))
    require(
        fault is None,
        f"the gradient through {_DEPTH} products on {subject.name} is wrong: {fault}; a result "
        "that backward needs was changed after it was given",
    )


def _chain_gradient(make: MakeCarrier) -> Tensor:
    value = over(make((0.5, -1.25, 2.0), DType.Float32), 3)
    factor = over(make((1.0625, -0.9375, 0.875), DType.Float32), 3)
    for _ in range(_DEPTH):
        value = mul(value, factor)
    (found,) = grad(value, [factor], over(make((1.0, 1.0, 1.0), DType.Float32), 3))
    assert found is not None
    return found
