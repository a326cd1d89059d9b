"""``select``: one of two branches at each coordinate."""

from strideweave.dtype import DType
from strideweave.operation.definition import define_builtin
from strideweave.operation.invocation import BoundOperationCall, VJPContext
from strideweave.ops.alignment import PointwiseAlignment
from strideweave.ops.binary32 import Values
from strideweave.ops.gradients import vjp_of
from strideweave.ops.metadata import constant_like
from strideweave.ops.reference import pointwise_reference
from strideweave.ops.results import pointwise_resolve
from strideweave.ops.routing import choose
from strideweave.ops.schemas import role_dtypes, schema, tensor
from strideweave.tensor.tensor import Tensor


def _select(condition: list[bool], on_true: Values, on_false: Values) -> Values:
    branches = zip(condition, on_true, on_false, strict=True)
    return [chosen if truth else other for truth, chosen, other in branches]


def _condition_saved(call: BoundOperationCall) -> tuple[int, ...]:
    return (0,)


def _on_true(context: VJPContext, cotangent: Tensor) -> Tensor:
    return choose(context.saved_operands[0], cotangent, constant_like(cotangent, 0.0))


def _on_false(context: VJPContext, cotangent: Tensor) -> Tensor:
    return choose(context.saved_operands[0], constant_like(cotangent, 0.0), cotangent)


SELECT = define_builtin(
    "select",
    (schema(tensor("condition", differentiable=False), tensor("on_true"), tensor("on_false")),),
    pointwise_resolve(_condition_saved, exact=True),
    reference=pointwise_reference(_select),
    vjp=vjp_of(on_true=_on_true, on_false=_on_false),
    alignment=PointwiseAlignment(("condition", "on_true", "on_false")),
    roles=role_dtypes(
        "select",
        condition=(DType.Bool,),
        on_true=(DType.Float32,),
        on_false=(DType.Float32,),
    ),
)
