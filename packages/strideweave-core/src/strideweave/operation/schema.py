"""How the operands and options of an operation are declared and bound."""

from collections.abc import Iterable, Mapping
from enum import Enum
from numbers import Real
from typing import TypeAlias, TypeVar, final

import strideweave.tensor.tensor as tensor_module
from strideweave._record import record

EntryT = TypeVar("EntryT")


@final
class _Marker:
    """A unique value that copying and pickling preserve."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self._name} is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._name} is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


REQUIRED = _Marker("REQUIRED")
NON_DIFFERENTIABLE = _Marker("NON_DIFFERENTIABLE")

NonDifferentiable: TypeAlias = _Marker


class OperandKind(Enum):
    """What an operand is: a Tensor, a Python number, or a structural parameter."""

    TENSOR = "tensor"
    WEAK_SCALAR = "weak_scalar"
    STRUCTURAL = "structural"


def _check_name_type(owner: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{owner}: name must be a str, got {type(name).__qualname__}")


def _check_name(owner: str, name: str) -> None:
    if not name.isidentifier():
        raise ValueError(f"{owner}: name must be a non-empty identifier, got {name!r}")


@final
@record
class OperandSpec:
    """One positional operand of an operation.

    Attributes:
        name: Identifier that error messages use.
        kind: What binding accepts at this position.
        differentiable: Whether the vjp returns an entry for it; only a TENSOR can be.

    Raises:
        TypeError: A field has another type.
        ValueError: ``name`` is no identifier, or a differentiable operand is not a TENSOR.

    Examples:
        >>> from strideweave import OperandKind, OperandSpec
        >>> OperandSpec("lhs", OperandKind.TENSOR, differentiable=True).name
        'lhs'
    """

    name: str
    kind: OperandKind
    differentiable: bool = False

    def __post_init__(self) -> None:
        _check_name_type("OperandSpec", self.name)
        if not isinstance(self.kind, OperandKind):
            raise TypeError(
                f"OperandSpec: kind must be an OperandKind, got {type(self.kind).__qualname__}"
            )
        if type(self.differentiable) is not bool:
            raise TypeError(
                "OperandSpec: differentiable must be a bool, got "
                f"{type(self.differentiable).__qualname__}"
            )
        _check_name("OperandSpec", self.name)
        if self.differentiable and self.kind is not OperandKind.TENSOR:
            raise ValueError(
                f"OperandSpec {self.name!r}: only a TENSOR operand can be differentiable, "
                f"this one is {self.kind.name}"
            )


@final
@record
class OptionSpec:
    """One keyword option of an operation.

    Attributes:
        name: Identifier of the keyword.
        default: Value used when the caller gives none; ``REQUIRED`` demands one.

    Raises:
        TypeError: ``name`` is not a str.
        ValueError: ``name`` is no identifier.

    Examples:
        >>> from strideweave import REQUIRED, OptionSpec
        >>> OptionSpec("accumulator_dtype", default=None).default is REQUIRED
        False
    """

    name: str
    default: object = REQUIRED

    def __post_init__(self) -> None:
        _check_name_type("OptionSpec", self.name)
        _check_name("OptionSpec", self.name)


@final
@record
class OperationSchema:
    """Ordered operands and keyword options of an operation.

    Attributes:
        operands: At least one OperandSpec, in call order.
        options: OptionSpecs; names are distinct across operands and options.

    Raises:
        TypeError: An argument is not iterable or holds another type.
        ValueError: There is no operand, or a name repeats.

    Examples:
        >>> from strideweave import OperandKind, OperandSpec, OperationSchema
        >>> schema = OperationSchema([OperandSpec("tensor", OperandKind.TENSOR)])
        >>> [spec.name for spec in schema.operands], schema.options
        (['tensor'], ())
    """

    operands: tuple[OperandSpec, ...]
    options: tuple[OptionSpec, ...] = ()

    def __init__(self, operands: Iterable[OperandSpec], options: Iterable[OptionSpec] = ()) -> None:
        operand_specs = _materialized("operands", operands, OperandSpec)
        option_specs = _materialized("options", options, OptionSpec)
        if not operand_specs:
            raise ValueError("OperationSchema: operands must hold at least one OperandSpec")
        names = [spec.name for spec in operand_specs] + [spec.name for spec in option_specs]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise ValueError(
                    f"OperationSchema: the name {name!r} repeats; operands and options need "
                    "distinct names"
                )
        object.__setattr__(self, "operands", operand_specs)
        object.__setattr__(self, "options", option_specs)


def _materialized(field: str, values: object, entry: type[EntryT]) -> tuple[EntryT, ...]:
    if not isinstance(values, Iterable):
        raise TypeError(
            f"OperationSchema: {field} must be an iterable of {entry.__name__}, "
            f"got {type(values).__qualname__}"
        )
    entries = tuple(values)
    for position, value in enumerate(entries):
        if not isinstance(value, entry):
            raise TypeError(
                f"OperationSchema: {field}[{position}] must be an {entry.__name__}, "
                f"got {type(value).__qualname__}"
            )
    return entries


def fits(kind: OperandKind, value: object) -> bool:
    """Tell whether a value can stand at a position of this kind."""
    if kind is OperandKind.TENSOR:
        return isinstance(value, tensor_module.Tensor)
    if kind is OperandKind.WEAK_SCALAR:
        return isinstance(value, Real)
    return True


def complete_operands(
    name: str,
    overloads: tuple[OperationSchema, ...],
    optional: tuple[object, ...],
    operands: tuple[object, ...],
) -> tuple[tuple[OperationSchema, tuple[object, ...]], ...]:
    """Give every overload of a fitting length with the operands completed for it.

    Args:
        name: Operation name for messages.
        overloads: Candidate schemas in declaration order.
        optional: Defaults of the last operands, the same for every overload.
        operands: Positional operands as the caller gave them.

    Raises:
        TypeError: No overload takes this many operands.
    """
    candidates = []
    for schema in overloads:
        missing = len(schema.operands) - len(operands)
        if 0 <= missing <= len(optional):
            completion = optional[len(optional) - missing :] if missing else ()
            candidates.append((schema, operands + completion))
    if not candidates:
        raise TypeError(_arity_message(name, overloads, len(optional), len(operands)))
    return tuple(candidates)


def select_schema(
    name: str, candidates: tuple[tuple[OperationSchema, tuple[object, ...]], ...]
) -> tuple[OperationSchema, tuple[object, ...]]:
    """Pick the first candidate whose kinds fit.

    Raises:
        TypeError: None fits; the message reports the fault against the closest one.
    """
    best = (-1, 0)
    for schema, operands in candidates:
        matched = sum(map(fits, (spec.kind for spec in schema.operands), operands))
        if matched == len(operands):
            return schema, operands
        score = (matched, _unknown_numbers(schema, operands))
        if score > best:
            best, closest, closest_operands = score, schema, operands
    raise TypeError(_kind_message(name, closest, closest_operands))


def _unknown_numbers(schema: OperationSchema, operands: tuple[object, ...]) -> int:
    """Count the values of no known kind that stand where a number is expected."""
    return sum(
        spec.kind is OperandKind.WEAK_SCALAR and not isinstance(value, (Real, tensor_module.Tensor))
        for spec, value in zip(schema.operands, operands, strict=True)
    )


def _arity_message(
    name: str, overloads: tuple[OperationSchema, ...], optional: int, given: int
) -> str:
    forms = " or ".join(
        dict.fromkeys(
            "(" + ", ".join(spec.name for spec in schema.operands) + ")" for schema in overloads
        )
    )
    trailing = f", the last {optional} of them optional" if optional else ""
    return f"{name}: takes the operands {forms}{trailing}, got {given} operand(s)"


def _kind_message(name: str, schema: OperationSchema, operands: tuple[object, ...]) -> str:
    spec, value = next(
        (spec, value)
        for spec, value in zip(schema.operands, operands, strict=True)
        if not fits(spec.kind, value)
    )
    came = f"got {type(value).__qualname__}"
    if spec.kind is OperandKind.TENSOR:
        return f"{name}: {spec.name} must be a Tensor, {came}; build one from the values"
    return f"{name}: {spec.name} must be a real Python number, {came}; pass an int or a float"


def bind_options(
    name: str, specs: tuple[OptionSpec, ...], given: Mapping[str, object]
) -> dict[str, object]:
    """Complete keyword options with their defaults.

    Raises:
        TypeError: An option is unknown, or a required one is missing.
    """
    known = {spec.name for spec in specs}
    for option in given:
        if option not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise TypeError(f"{name}: unknown option {option!r}; its options are: {listed}")
    bound: dict[str, object] = {}
    for spec in specs:
        value = given.get(spec.name, spec.default)
        if value is REQUIRED:
            raise TypeError(f"{name}: the option {spec.name!r} is required; pass it by keyword")
        bound[spec.name] = value
    return bound
