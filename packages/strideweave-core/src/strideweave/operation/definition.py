"""What an operation means: its definition, and the registry of all definitions."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, final

import strideweave.operation.pipeline as pipeline
from strideweave._fork import hold_across_fork
from strideweave.layout import Layout
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.operation.operation import VIEW_OPERATION_NAMES
from strideweave.operation.policy import registered_operations
from strideweave.operation.schema import (
    NON_DIFFERENTIABLE,
    NonDifferentiable,
    OperandKind,
    OperationSchema,
)

if TYPE_CHECKING:
    from strideweave.operation.resolution import Resolution
    from strideweave.tensor.tensor import Tensor

Resolve: TypeAlias = Callable[[BoundOperationCall], ResolvedInvocation]
Reference: TypeAlias = "Callable[[ResolvedInvocation], Tensor | tuple[Tensor, ...]]"
VJP: TypeAlias = "Callable[[VJPContext, tuple[Tensor | None, ...]], tuple[Tensor | None, ...]]"
# Operands are arbitrary objects until their kinds are bound; each rule knows its own.
Roles: TypeAlias = Callable[[tuple[Any, ...]], None]
Parameters: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]


class ResultView(Protocol):
    """A metadata-only view of the one result of a call, made inside the node of the call.

    ``restore`` undoes ``publish`` for any layout in the published shape.
    """

    def publish(self, layout: Layout) -> Layout:
        """Give the layout through which the caller reads the operation's result."""
        ...

    def restore(self, layout: Layout) -> Layout:
        """Give the layout through which the operation reads what the caller shaped."""
        ...


class Alignment(Protocol):
    """Metadata-only views that bring the Tensor operands of a call into the operation's form.

    An alignment is hashable by value, or one object per meaning: resolutions are cached by it.
    """

    @property
    def result_view(self) -> ResultView | None:
        """How the caller sees the result; as the operation gives it when None."""
        ...

    def align(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """Give the layout through which each Tensor operand is read.

        Args:
            layouts: Layouts of the Tensor operands, in operand order.

        Returns:
            One layout per operand over the same storage; the same object where it fits.

        Raises:
            ValueError: The layouts cannot be aligned.
        """
        ...


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise AttributeError(f"OperationDefinition.{name} is read-only")


@final
class OperationDefinition:
    """One operation: binding, resolution, reference execution and gradient.

    It compares by identity and is made by ``define_operation`` only. Calling it binds the
    arguments, executes on the first Tensor operand's carrier and returns what the results
    declare: one Tensor, or a tuple of several.

    Attributes:
        name: Registered name.
        schema: Operands and options; the all-tensor form of an operation with several.
        overloads: Every accepted form, ``(schema,)`` where there is one.
        resolve: Turns a bound call into a ResolvedInvocation without reading an element.
        reference: Pure-Python execution, or None.
        vjp: Vector-Jacobian product, or ``NON_DIFFERENTIABLE``.

    Raises:
        TypeError: It is constructed directly; use ``define_operation``.
    """

    __slots__ = (
        "__weakref__",
        "_alignment",
        "_is_builtin",
        "_optional",
        "_pairs",
        "_parameters",
        "_resolutions",
        "_roles",
        "_tensor_arity",
        "name",
        "overloads",
        "reference",
        "resolve",
        "schema",
        "vjp",
    )
    name: str
    schema: OperationSchema
    overloads: tuple[OperationSchema, ...]
    resolve: Resolve
    reference: "Reference | None"
    vjp: "VJP | NonDifferentiable"
    _alignment: Alignment | None
    _roles: Roles | None
    _parameters: Parameters | None
    _optional: tuple[object, ...]
    _is_builtin: bool
    _resolutions: "dict[tuple[object, ...], Resolution]"
    # The same for two Tensors, by the identity of their layouts, which the values hold.
    _pairs: "dict[tuple[object, ...], tuple[Resolution, Layout, Layout]]"
    # Operand count when every operand is a Tensor and nothing else needs binding, else -1.
    _tensor_arity: int

    if not TYPE_CHECKING:  # checkers refuse the arguments by themselves

        def __new__(cls, *arguments: object, **keywords: object) -> NoReturn:
            raise TypeError(
                "OperationDefinition cannot be constructed directly; call define_operation(name, "
                "schema, resolve, reference, vjp)"
            )

    __setattr__ = _refuse
    __delattr__ = _refuse

    def __repr__(self) -> str:
        return f"<OperationDefinition {self.name!r}>"

    def __reduce__(self) -> tuple[Callable[[str], "OperationDefinition"], tuple[str]]:
        return operation_definition, (self.name,)

    def __copy__(self) -> "OperationDefinition":
        return self

    def __deepcopy__(self, memo: object) -> "OperationDefinition":
        return self

    def __call__(self, *operands: object, **options: object) -> "Tensor | tuple[Tensor, ...]":
        """Execute the operation on the first Tensor operand's carrier.

        Args:
            *operands: Operands in schema order.
            **options: Options by name.

        Returns:
            The Tensor, or the tuple of Tensors the resolved results declare.

        Raises:
            TypeError: Operands or options do not fit the schema.
            UnsupportedOperationPlan: The carrier does not execute the resolved plan.
        """
        result: Tensor | tuple[Tensor, ...] = pipeline.call_definition(self, operands, options)
        return result


def _build(
    name: str,
    overloads: tuple[OperationSchema, ...],
    resolve: Resolve,
    reference: "Reference | None",
    vjp: "VJP | NonDifferentiable",
    *,
    alignment: Alignment | None = None,
    roles: Roles | None = None,
    parameters: Parameters | None = None,
    optional: tuple[object, ...] = (),
    is_builtin: bool = False,
) -> OperationDefinition:
    plain = len(overloads) == 1 and parameters is None and not overloads[0].options
    tensors = all(spec.kind is OperandKind.TENSOR for spec in overloads[0].operands)
    fields = {
        "name": name,
        "schema": overloads[0],
        "overloads": overloads,
        "resolve": resolve,
        "reference": reference,
        "vjp": vjp,
        "_alignment": alignment,
        "_roles": roles,
        "_parameters": parameters,
        "_optional": optional,
        "_is_builtin": is_builtin,
        "_pairs": {},
        "_resolutions": {},
        "_tensor_arity": len(overloads[0].operands) if plain and tensors else -1,
    }
    definition = object.__new__(OperationDefinition)
    for field, value in fields.items():
        object.__setattr__(definition, field, value)
    return definition


class _Registry:
    """Permanent, atomic registration by name."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        hold_across_fork(self._lock)
        self._definitions: dict[str, OperationDefinition] = {}

    def add(self, definition: OperationDefinition) -> None:
        with self._lock:
            if definition.name in self._definitions:
                raise ValueError(
                    f"define_operation: the name {definition.name!r} is taken; "
                    "a definition is permanent, choose another name"
                )
            self._definitions = {**self._definitions, definition.name: definition}

    def get(self, name: str) -> OperationDefinition | None:
        return self._definitions.get(name)

    def all(self) -> tuple[OperationDefinition, ...]:
        return tuple(self._definitions[name] for name in sorted(self._definitions))


_registry = _Registry()
find_definition = _registry.get

_OMITTED: Any = object()
_RESERVED_SEGMENTS = frozenset({"strideweave", "builtin", "builtins", "move"})


def define_operation(
    name: str,
    schema: OperationSchema,
    resolve: Resolve,
    reference: "Reference | None" = None,
    vjp: "VJP | NonDifferentiable" = _OMITTED,
) -> OperationDefinition:
    """Register a new operation.

    Args:
        name: Two or more dot-separated identifiers, such as ``"acme.swish"``; the first one is
            yours, not a built-in's.
        schema: Operands and options.
        resolve: Turns a bound call into a ResolvedInvocation. It may look at kinds, shapes,
            layouts, dtypes and options, never at carriers or values.
        reference: Pure-Python execution with the exact semantics, or None for no reference.
        vjp: Vector-Jacobian product, or ``NON_DIFFERENTIABLE``; it has to be given.

    Returns:
        The immutable definition, registered for good.

    Raises:
        TypeError: An argument has another type.
        ValueError: ``vjp`` is omitted, or the name is not namespaced, reserved or taken.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.operation import operation_definition
        >>> exp = operation_definition("exp")
        >>> twin = sw.define_operation(
        ...     "docs.twin", exp.schema, exp.resolve, vjp=sw.NON_DIFFERENTIABLE
        ... )
        >>> operation_definition("docs.twin") is twin
        True
    """
    _check_types(name, schema, resolve, reference, vjp)
    if vjp is _OMITTED:
        raise ValueError(
            f"define_operation {name!r}: vjp is required; pass a callable or NON_DIFFERENTIABLE"
        )
    segments = name.split(".")
    if len(segments) < 2 or not all(segment.isidentifier() for segment in segments):
        raise ValueError(
            "define_operation: name must be two or more dot-separated identifiers such as "
            f"'acme.swish', got {name!r}"
        )
    builtin_names = {spec.name for spec in registered_operations()} | VIEW_OPERATION_NAMES
    if segments[0] in _RESERVED_SEGMENTS | builtin_names:
        raise ValueError(
            f"define_operation: the first segment of {name!r} is reserved; start the name with "
            "a namespace of your own"
        )
    definition = _build(name, (schema,), resolve, reference, vjp)
    _registry.add(definition)
    return definition


def _check_types(
    name: object, schema: object, resolve: object, reference: object, vjp: object
) -> None:
    if not isinstance(name, str):
        raise TypeError(f"define_operation: name must be a str, got {type(name).__qualname__}")
    if not isinstance(schema, OperationSchema):
        raise TypeError(
            f"define_operation {name!r}: schema must be an OperationSchema, "
            f"got {type(schema).__qualname__}"
        )
    if not callable(resolve):
        raise TypeError(
            f"define_operation {name!r}: resolve must be callable, got {type(resolve).__qualname__}"
        )
    if reference is not None and not callable(reference):
        raise TypeError(
            f"define_operation {name!r}: reference must be callable or None, "
            f"got {type(reference).__qualname__}"
        )
    if vjp is not _OMITTED and vjp is not NON_DIFFERENTIABLE and not callable(vjp):
        raise TypeError(
            f"define_operation {name!r}: vjp must be callable or NON_DIFFERENTIABLE, "
            f"got {type(vjp).__qualname__}"
        )


def define_builtin(
    name: str,
    overloads: Sequence[OperationSchema],
    resolve: Resolve,
    *,
    reference: Reference,
    vjp: "VJP | NonDifferentiable",
    alignment: Alignment | None = None,
    roles: Roles | None = None,
    parameters: Parameters | None = None,
    optional: tuple[object, ...] = (),
) -> OperationDefinition:
    """Register an operation of the catalogue.

    Args:
        name: Catalogue name, as in the dtype policy.
        overloads: Accepted forms; the first one takes only Tensors and structural values.
        resolve: As for ``define_operation``; it sees aligned operands, and its outcome depends on
            dtypes, layouts, weak-scalar branches, structural values and options alone.
        reference: Pure-Python execution.
        vjp: Vector-Jacobian product over the aligned operands, or ``NON_DIFFERENTIABLE``.
        alignment: Views applied to the Tensor operands before resolution.
        roles: Raises TypeError when a bound Tensor operand's dtype is not its role's.
        parameters: Validates structural operands and options after binding and returns the
            operands in hashable, normalized form.
        optional: Defaults of the last structural operands, which a caller may omit.

    Returns:
        The registered definition.
    """
    definition = _build(
        name,
        tuple(overloads),
        resolve,
        reference,
        vjp,
        alignment=alignment,
        roles=roles,
        parameters=parameters,
        optional=optional,
        is_builtin=True,
    )
    _registry.add(definition)
    return definition


def operation_definition(name: str) -> OperationDefinition:
    """Look up a registered operation.

    Args:
        name: Registered name, such as ``"add"``.

    Returns:
        The definition of that name.

    Raises:
        TypeError: ``name`` is not a str.
        LookupError: No operation has that name.

    Examples:
        >>> from strideweave.operation import operation_definition
        >>> [operand.name for operand in operation_definition("add").schema.operands]
        ['lhs', 'rhs']
    """
    if not isinstance(name, str):
        raise TypeError(f"operation_definition: name must be a str, got {type(name).__qualname__}")
    definition = _registry.get(name)
    if definition is None:
        raise LookupError(
            f"operation_definition: no operation is registered as {name!r}; "
            "operation_definitions() lists all"
        )
    return definition


def operation_definitions() -> tuple[OperationDefinition, ...]:
    """List every registered operation.

    Returns:
        All definitions, sorted by name.

    Examples:
        >>> from strideweave.operation import operation_definitions
        >>> "matmul" in [definition.name for definition in operation_definitions()]
        True
    """
    return _registry.all()
