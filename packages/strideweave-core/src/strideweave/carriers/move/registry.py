"""Move operations of pairs of definition-free classes, found by the exact pair.

An entry lives in the ``__dict__`` of its source class and refers to the destination class weakly,
so the registry keeps no class alive. A table is immutable and replaced by one assignment under
the lock of the class records, so readers need no lock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias, TypeVar, cast, final
from weakref import ref

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import class_record, registry_lock, seal
from strideweave.carriers.extension.registration import described_apart
from strideweave.carriers.move.operations import ElementwiseMoveOperation, MoveOperation

CarrierClass: TypeAlias = type[Carrier]
OperationClass: TypeAlias = type[MoveOperation]
Entries: TypeAlias = tuple[tuple[ref[CarrierClass], OperationClass], ...]
OperationT = TypeVar("OperationT", bound=MoveOperation)

_ATTRIBUTE: Final = "_strideweave_moves"


@final
class MoveTable:
    """What one exact class contributes to the registry.

    Args:
        carrier_class: The class.
        entries: Destination classes and the operations that move to them from this class.
        is_closed: Whether the pairs of this class, as source and as destination, are fixed.
    """

    __slots__ = ("carrier_class", "entries", "is_closed")

    def __init__(
        self,
        carrier_class: CarrierClass,
        entries: Entries = (),
        is_closed: bool = False,
    ) -> None:
        self.carrier_class = carrier_class
        self.entries = entries
        self.is_closed = is_closed

    def operation_to(self, destination_class: CarrierClass) -> OperationClass | None:
        """Find the operation that is registered for a destination class."""
        for destination, operation_class in self.entries:
            if destination() is destination_class:
                return operation_class
        return None

    def entries_except(self, destination_class: CarrierClass) -> Entries:
        """Give the entries of other destination classes that are alive."""
        return tuple(
            entry
            for entry in self.entries
            if entry[0]() is not None and entry[0]() is not destination_class
        )


def registered_operation(
    source_class: CarrierClass, destination_class: CarrierClass
) -> OperationClass | None:
    """Find the operation of an exact pair, without observing the classes."""
    return _table(source_class).operation_to(destination_class)


def closed_class(*carrier_classes: CarrierClass) -> CarrierClass | None:
    """Find the first of some classes whose pairs are fixed."""
    return next((entry for entry in carrier_classes if _table(entry).is_closed), None)


def close_pairs(carrier_class: CarrierClass) -> None:
    """Fix the pairs of a shipped class: only those that ``add_move_operation`` enters exist."""
    with registry_lock:
        _publish(MoveTable(carrier_class, _table(carrier_class).entries, is_closed=True))


def add_move_operation(
    source_class: CarrierClass, destination_class: CarrierClass, operation_class: OperationClass
) -> None:
    """Enter the operation of a pair without any check; shipped classes add theirs this way."""
    with registry_lock:
        for carrier_class in (source_class, destination_class):
            seal(carrier_class, "the move operation registered for it")
        table = _table(source_class)
        entries = (
            *table.entries_except(destination_class),
            (ref(destination_class), operation_class),
        )
        _publish(MoveTable(source_class, entries, table.is_closed))


def register_move_operation(
    source_class: CarrierClass, destination_class: CarrierClass, operation_class: OperationClass
) -> None:
    """Register how values move between two exact definition-free classes.

    Registering observes both classes: no CarrierDefinition can be registered for them afterwards.

    Args:
        source_class: The exact class moved from.
        destination_class: The exact class moved to.
        operation_class: Instantiated without arguments for each move.

    Raises:
        TypeError: An argument is not a subclass of Carrier, or of MoveOperation.
        ValueError: The pair is registered, or belongs to a class whose pairs are fixed.
        RuntimeError: A class has a CarrierDefinition, whose TransferRoutes move instead.

    Examples:
        >>> from strideweave.carriers.move import MoveOperation, register_move_operation
        >>> register_move_operation(Shelf, Drawer, ShelfToDrawer)  # doctest: +SKIP
    """
    _check_classes("register_move_operation", source_class, destination_class)
    if not isinstance(operation_class, type) or not issubclass(operation_class, MoveOperation):
        raise TypeError(
            "register_move_operation: operation_class must be a MoveOperation subclass, got "
            f"{operation_class!r}"
        )
    with registry_lock:
        _check_open("register_move_operation", source_class, destination_class)
        found = registered_operation(source_class, destination_class)
        if found is not None:
            raise ValueError(
                f"{found.__qualname__} is already registered for the pair "
                f"{pair_name(source_class, destination_class)}; unregister it first"
            )
        add_move_operation(source_class, destination_class, operation_class)


def unregister_move_operation(
    source_class: CarrierClass, destination_class: CarrierClass
) -> OperationClass:
    """Remove the operation of an exact pair; moves already started are not affected.

    Args:
        source_class: The exact class moved from.
        destination_class: The exact class moved to.

    Returns:
        The operation class that was registered.

    Raises:
        TypeError: A class is not a subclass of Carrier.
        ValueError: The pair belongs to a class whose pairs are fixed.
        RuntimeError: A class has a CarrierDefinition.
        KeyError: Nothing is registered for the pair.
    """
    _check_classes("unregister_move_operation", source_class, destination_class)
    with registry_lock:
        _check_open("unregister_move_operation", source_class, destination_class)
        table = _table(source_class)
        removed = table.operation_to(destination_class)
        if removed is None:
            raise KeyError(
                "no move operation is registered for the pair "
                f"{pair_name(source_class, destination_class)}"
            )
        kept = table.entries_except(destination_class)
        _publish(MoveTable(source_class, kept, table.is_closed))
        return removed


@contextmanager
def registered_move_operation(
    source_class: CarrierClass, destination_class: CarrierClass, operation_class: type[OperationT]
) -> Iterator[type[OperationT]]:
    """Register an operation for the time of a ``with`` block.

    Args:
        source_class: The exact class moved from.
        destination_class: The exact class moved to.
        operation_class: Instantiated without arguments for each move.

    Yields:
        ``operation_class``.

    Raises what ``register_move_operation`` raises, on entering.
    """
    register_move_operation(source_class, destination_class, operation_class)
    try:
        yield operation_class
    finally:
        unregister_move_operation(source_class, destination_class)


def dispatch_move(source_class: CarrierClass, destination_class: CarrierClass) -> OperationClass:
    """Find the operation that moves between two exact definition-free classes; observes both.

    Args:
        source_class: The exact class moved from.
        destination_class: The exact class moved to.

    Returns:
        The registered operation, or ElementwiseMoveOperation.

    Raises:
        TypeError: A class is not a subclass of Carrier.
        NotImplementedError: A class's pairs are fixed, and this is none of them.
        RuntimeError: A class has a CarrierDefinition, whose TransferRoutes move instead.

    Examples:
        >>> from strideweave import Carrier
        >>> from strideweave.carriers.move import dispatch_move
        >>> class Shelf(Carrier): ...
        >>> dispatch_move(Shelf, Shelf).__name__
        'ElementwiseMoveOperation'
    """
    _check_classes("dispatch_move", source_class, destination_class)
    with registry_lock:
        found = registered_operation(source_class, destination_class)
        closed = closed_class(source_class, destination_class)
        if found is None and closed is not None:
            raise NotImplementedError(closed_pair_text(closed, source_class, destination_class))
        _refuse_definitions("dispatch_move", source_class, destination_class)
        for carrier_class in (source_class, destination_class):
            seal(carrier_class, "the resolution of a move")
    return ElementwiseMoveOperation if found is None else found


def pair_name(source_class: type, destination_class: type) -> str:
    """Name a pair of classes, with their modules where the two names read the same."""
    return (
        f"({described_apart(source_class, destination_class)}, "
        f"{described_apart(destination_class, source_class)})"
    )


def closed_pair_text(
    closed: CarrierClass, source_class: CarrierClass, destination_class: CarrierClass
) -> str:
    """Word the refusal of a pair that a class with fixed pairs does not have."""
    found = [entry[0]() for entry in _table(closed).entries]
    partners = " or ".join(sorted(entry.__qualname__ for entry in found if entry is not None))
    remedy = f"move or copy to {partners} first" if partners else "no installed class has one"
    return (
        f"no permitted route for the pair {pair_name(source_class, destination_class)}: values "
        f"move from and to {closed.__qualname__} by its built-in pairs only; {remedy}"
    )


def _table(carrier_class: CarrierClass) -> MoveTable:
    found = carrier_class.__dict__.get(_ATTRIBUTE)
    # A class built from a copy of another's namespace carries that class's table.
    if found is None or found.carrier_class is not carrier_class:
        return MoveTable(carrier_class)
    return cast(MoveTable, found)


def _publish(table: MoveTable) -> None:
    type.__setattr__(table.carrier_class, _ATTRIBUTE, table)


def _check_classes(function: str, source_class: object, destination_class: object) -> None:
    for name, value in (("source_class", source_class), ("destination_class", destination_class)):
        if not isinstance(value, type) or not issubclass(value, Carrier):
            raise TypeError(f"{function}: {name} must be a Carrier subclass, got {value!r}")


def _check_open(function: str, source_class: CarrierClass, destination_class: CarrierClass) -> None:
    closed = closed_class(source_class, destination_class)
    if closed is not None:
        raise ValueError(
            f"{function}: the pairs of {closed.__qualname__} are protected built-ins and never "
            "change"
        )
    _refuse_definitions(function, source_class, destination_class)


def _refuse_definitions(function: str, *carrier_classes: CarrierClass) -> None:
    for carrier_class in carrier_classes:
        if class_record(carrier_class).definition is not None:
            raise RuntimeError(
                f"{function}: {carrier_class.__qualname__} has a CarrierDefinition, so it moves by "
                "the TransferRoutes of source definitions and by elementwise_fallback, not by "
                "registered operations"
            )
