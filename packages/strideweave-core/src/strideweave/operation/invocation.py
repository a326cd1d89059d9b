"""The records that travel through one operation call."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar, final

from strideweave._record import record
from strideweave.dtype import DType
from strideweave.layout import Layout, Shape
from strideweave.operation.policy import OperandRole, OperationPlan
from strideweave.operation.schema import OperandKind, OperationSchema

EntryT = TypeVar("EntryT")

if TYPE_CHECKING:
    from strideweave.operation.definition import OperationDefinition
    from strideweave.tensor.tensor import Tensor


_new_record = tuple.__new__


def _refuse_assignment(self: object, name: str, value: object = None) -> NoReturn:
    raise AttributeError(f"{type(self).__name__}.{name} is read-only")


def _refuse_construction(cls: type, *arguments: object, **keywords: object) -> NoReturn:
    raise TypeError(f"{cls.__name__} is created by the framework; it cannot be constructed")


class _CallFields(NamedTuple):
    definition: "OperationDefinition"
    schema: OperationSchema
    operands: tuple[object, ...]
    sources: tuple[object, ...]
    options: Mapping[str, object]


@final
class BoundOperationCall(_CallFields):
    """Operands and options of one call, matched to the operation's schema.

    Attributes:
        definition: The OperationDefinition being called.
        schema: The schema whose kinds the operands fit.
        operands: Positional operands, aligned: Tensors, Python numbers, structural values.
        sources: The same operands as the caller gave them.
        options: Read-only mapping of every option, defaults included.

    Raises:
        TypeError: It is constructed directly; the framework makes it.
    """

    # A tuple, because no other frozen object is made as cheaply; it compares by identity.
    __slots__ = ()
    if not TYPE_CHECKING:  # checkers refuse the arguments by themselves
        __new__ = _refuse_construction
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__
    __setattr__ = _refuse_assignment
    __delattr__ = _refuse_assignment


def bound_call(
    definition: "OperationDefinition",
    schema: OperationSchema,
    operands: tuple[object, ...],
    sources: tuple[object, ...],
    options: Mapping[str, object],
) -> BoundOperationCall:
    """Make the frozen record of one call."""
    return _new_record(BoundOperationCall, (definition, schema, operands, sources, options))


def _check_tolerance(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"ResultSpec: {name} must be finite and non-negative, got {value!r}")


@final
@record
class ResultSpec:
    """What one result of an operation must look like.

    Attributes:
        dtype: Logical and storage dtype of the result.
        shape: Hierarchical Shape; equal to ``layout.shape``.
        layout: Layout of the result over its own storage, offset 0.
        alias_of: None for a freshly allocated result, else the position of the Tensor operand
            that is returned as the very same object.
        atol: Absolute tolerance within which carriers agree with the reference.
        rtol: Tolerance relative to the reference value.

    Raises:
        TypeError: A field has another type.
        ValueError: ``shape`` is not the layout's, ``alias_of`` is negative, or a tolerance is
            negative or not finite.

    Examples:
        >>> from strideweave import DType, Layout, ResultSpec, Shape, Stride
        >>> layout = Layout(Shape(2, 3), Stride(1, 2))
        >>> ResultSpec(DType.Float32, layout.shape, layout).alias_of is None
        True
    """

    dtype: DType
    shape: Shape
    layout: Layout
    alias_of: int | None = None
    atol: float = field(default=0.0, kw_only=True)
    rtol: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        for name, kind in (("dtype", DType), ("shape", Shape), ("layout", Layout)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"ResultSpec: {name} must be a {kind.__name__}, got {type(value).__qualname__}"
                )
        if self.alias_of is not None and type(self.alias_of) is not int:
            raise TypeError(
                "ResultSpec: alias_of must be None or the int position of a Tensor operand, "
                f"got {type(self.alias_of).__qualname__}"
            )
        for name in ("atol", "rtol"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(
                    f"ResultSpec: {name} must be a real number, got {type(value).__qualname__}"
                )
        if self.layout.shape != self.shape:
            raise ValueError(
                f"ResultSpec: shape {self.shape!r} is not the layout's shape {self.layout.shape!r}"
            )
        if self.alias_of is not None and self.alias_of < 0:
            raise ValueError(f"ResultSpec: alias_of must be non-negative, got {self.alias_of}")
        _check_tolerance("atol", self.atol)
        _check_tolerance("rtol", self.rtol)


class _InvocationFields(NamedTuple):
    call: BoundOperationCall
    operands: tuple[object, ...]
    plan: OperationPlan
    results: tuple[ResultSpec, ...]
    mutated_operands: tuple[int, ...]
    saved_operands: tuple[int, ...]
    kernel_id: str


@final
class ResolvedInvocation(_InvocationFields):
    """One call with its plan, its results and its effects: all a provider needs to execute it.

    Args:
        call: The bound call that is resolved.
        plan: Source dtypes, conversions, arithmetic, accumulation and output dtype; its operands
            correspond to the call's TENSOR and WEAK_SCALAR operands in order.
        results: One ResultSpec per result, at least one.
        mutated_operands: Positions of Tensor operands whose values the call replaces.
        saved_operands: Positions of Tensor operands whose values the vjp reads.
        kernel_id: Identifier for explanations; the definition's name when None.

    Attributes:
        operands: The positional operands: Tensors, Python numbers and structural values. They are
            typed as object, so check with isinstance.
        results: The results that a provider has to produce, in order.

    Raises:
        TypeError: An argument has another type.
        ValueError: There is no result; an index repeats, is out of range or names no Tensor;
            the plan's name or roles differ from the call's; ``kernel_id`` is empty.
    """

    __slots__ = ()

    def __new__(
        cls,
        call: BoundOperationCall,
        plan: OperationPlan,
        results: Iterable[ResultSpec],
        mutated_operands: Iterable[int] = (),
        saved_operands: Iterable[int] = (),
        kernel_id: str | None = None,
    ) -> "ResolvedInvocation":
        """Validate the fields and freeze them."""
        fields = _checked_fields(call, plan, results, mutated_operands, saved_operands, kernel_id)
        return _new_record(cls, (call, call.operands, *fields[1:]))

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__
    __setattr__ = _refuse_assignment
    __delattr__ = _refuse_assignment

    @property
    def definition(self) -> "OperationDefinition":
        """The operation that is invoked."""
        return self.call.definition

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.call.definition.name

    @property
    def options(self) -> Mapping[str, object]:
        """Every option with its value."""
        return self.call.options


def repeated_invocation(
    call_fields: tuple[object, ...], operands: tuple[object, ...], shared: tuple[object, ...]
) -> ResolvedInvocation:
    """Make the record of one call whose resolution is known.

    Args:
        call_fields: The fields of its BoundOperationCall, in order.
        operands: Its aligned operands.
        shared: The fields of a resolved invocation of the same signature after its operands.
    """
    call = _new_record(BoundOperationCall, call_fields)
    return _new_record(ResolvedInvocation, (call, operands, *shared))


def _checked_fields(
    call: object,
    plan: object,
    results: object,
    mutated_operands: object,
    saved_operands: object,
    kernel_id: object,
) -> tuple[
    BoundOperationCall,
    OperationPlan,
    tuple[ResultSpec, ...],
    tuple[int, ...],
    tuple[int, ...],
    str,
]:
    if not isinstance(call, BoundOperationCall):
        raise TypeError(
            "ResolvedInvocation: call must be the BoundOperationCall given to resolve, "
            f"got {type(call).__qualname__}"
        )
    if not isinstance(plan, OperationPlan):
        raise TypeError(
            f"ResolvedInvocation: plan must be an OperationPlan, got {type(plan).__qualname__}"
        )
    specs = _entries("results", results, ResultSpec)
    mutated = _entries("mutated_operands", mutated_operands, int)
    saved = _entries("saved_operands", saved_operands, int)
    if kernel_id is not None and not isinstance(kernel_id, str):
        raise TypeError(
            "ResolvedInvocation: kernel_id must be a str or None, "
            f"got {type(kernel_id).__qualname__}"
        )
    if not specs:
        raise ValueError("ResolvedInvocation: results must hold at least one ResultSpec")
    _check_positions("mutated_operands", mutated, call)
    _check_positions("saved_operands", saved, call)
    for spec in specs:
        if spec.alias_of is not None:
            _check_positions("alias_of", (spec.alias_of,), call)
    _check_plan(plan, call)
    if kernel_id == "":
        raise ValueError("ResolvedInvocation: kernel_id must not be empty; omit it for the default")
    return call, plan, specs, mutated, saved, kernel_id or call.definition.name


def _entries(name: str, values: object, kind: type[EntryT]) -> tuple[EntryT, ...]:
    if not isinstance(values, Iterable):
        raise TypeError(
            f"ResolvedInvocation: {name} must be an iterable of {kind.__name__}, "
            f"got {type(values).__qualname__}"
        )
    entries = tuple(values)
    for position, value in enumerate(entries):
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(
                f"ResolvedInvocation: {name}[{position}] must be {kind.__name__}, "
                f"got {type(value).__qualname__}"
            )
    return entries


def _check_positions(name: str, positions: tuple[int, ...], call: BoundOperationCall) -> None:
    operands = call.schema.operands
    for order, position in enumerate(positions):
        if not 0 <= position < len(operands):
            raise ValueError(
                f"ResolvedInvocation: {name} names operand {position}, but "
                f"{call.definition.name} has {len(operands)} operand(s)"
            )
        if operands[position].kind is not OperandKind.TENSOR:
            raise ValueError(
                f"ResolvedInvocation: {name} names operand {position} "
                f"({operands[position].name!r}), which is no Tensor"
            )
        if position in positions[:order]:
            raise ValueError(f"ResolvedInvocation: {name} names operand {position} twice")


_ROLES = {OperandKind.TENSOR: OperandRole.TENSOR, OperandKind.WEAK_SCALAR: OperandRole.WEAK_SCALAR}


def _check_plan(plan: OperationPlan, call: BoundOperationCall) -> None:
    if plan.operation != call.definition.name:
        raise ValueError(
            f"ResolvedInvocation: the plan is for {plan.operation!r}, the call is "
            f"{call.definition.name!r}"
        )
    expected = [_ROLES[spec.kind] for spec in call.schema.operands if spec.kind in _ROLES]
    given = [operand.role for operand in plan.operands]
    if given != expected:
        raise ValueError(
            f"ResolvedInvocation: the plan's roles {[role.name for role in given]} differ from "
            f"those of the call, {[role.name for role in expected]}"
        )


@final
class VJPContext:
    """What a vector-Jacobian product may read.

    Attributes:
        invocation: The invocation that was executed.
        outputs: The published results, in result order.
        saved_operands: The operands named by ``invocation.saved_operands``, in that order; dense
            stand-ins where the operands live on a dependent carrier.

    Raises:
        TypeError: It is constructed directly; the framework makes it.
    """

    __slots__ = ("invocation", "outputs", "saved_operands")
    if not TYPE_CHECKING:  # checkers refuse the arguments by themselves
        __new__ = _refuse_construction
    __setattr__ = _refuse_assignment
    __delattr__ = _refuse_assignment
    invocation: ResolvedInvocation
    outputs: "tuple[Tensor, ...]"
    saved_operands: "tuple[Tensor, ...]"


def vjp_context(
    invocation: ResolvedInvocation,
    outputs: "tuple[Tensor, ...]",
    saved_operands: "tuple[Tensor, ...]",
) -> VJPContext:
    """Make the frozen context of one vjp call."""
    context = object.__new__(VJPContext)
    object.__setattr__(context, "invocation", invocation)
    object.__setattr__(context, "outputs", outputs)
    object.__setattr__(context, "saved_operands", saved_operands)
    return context
