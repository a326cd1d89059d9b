"""Carrier: the owner of one flat sequence of slots, and the boundary of execution."""

from collections.abc import Callable, Iterable
from operator import index as as_index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, TypeVar

from strideweave._late import LateModule
from strideweave.carriers import construction, ownership
from strideweave.carriers.capability_set import CapabilitySet
from strideweave.carriers.class_record import (
    RECORD_ATTRIBUTE,
    UNINITIALIZED,
    ClassRecord,
    seal,
    uninitialized_error,
)
from strideweave.carriers.description import described
from strideweave.carriers.facet import CarrierFacet, find_facet
from strideweave.carriers.normalization import normalize
from strideweave.dtype import DType

if TYPE_CHECKING:
    from typing import Self

    import strideweave.carriers.capability_queries as capability_queries
    import strideweave.operation.dispatch as dispatch
    from strideweave.operation.capability import OperationCapability
    from strideweave.operation.operation import Operation
    from strideweave.operation.policy import OperationPlan
    from strideweave.tensor.tensor import Tensor
else:
    # Both import Carrier, and Carrier needs them only when its methods run.
    capability_queries = LateModule("strideweave.carriers.capability_queries")
    dispatch = LateModule("strideweave.operation.dispatch")

F = TypeVar("F", bound=CarrierFacet)


_new = object.__new__


class Carrier:
    """Owner of one flat, homogeneous sequence of physical slots, and of their execution.

    The exact class decides what a carrier is. A class for which ``register_carrier_definition``
    succeeded is *definition-backed*: its constructor, storage and execution come from that
    definition, and it overrides none of the methods here. Any other class is *definition-free*:
    it calls ``super().__init__()`` without arguments and implements ``size``, ``dtype`` and
    ``get_value``, and what else it offers of ``set_value``, ``_is_mutable``,
    ``_supports_storage_dtype``, ``new_like``, ``allocate_like``, ``_release``, ``_dispatch_op``,
    ``dlpack_info``, ``_host_array``, ``_read_span`` and ``_write_span``. Nothing is inherited
    from a definition-backed base class.

    Carriers are identified by object identity, take arbitrary attributes and weak references,
    and can be neither copied nor pickled. Constructing the first instance seals the class:
    nothing can be registered for it afterwards.

    Args:
        slots: Physical slot count, at least 0. Definition-backed classes only, which need it.
        dtype: Storage dtype. Definition-backed classes only, which need it.
        mutable: Whether values can be written. Definition-backed classes only.

    Raises:
        TypeError: A definition-free class passes arguments; a definition-backed one misses an
            argument, gives one of a wrong type, or does not store the dtype.
        ValueError: ``slots`` is negative, or the provider established another extent.

    Examples:
        >>> from strideweave import Carrier, DType
        >>> class Listed(Carrier):
        ...     def __init__(self, values):
        ...         super().__init__()
        ...         self.values = list(values)
        ...     def size(self):
        ...         return len(self.values)
        ...     def dtype(self):
        ...         return DType.Float32
        ...     def get_value(self, index):
        ...         return self.values[index]
        >>> carrier = Listed([1.0, 2.0])
        >>> carrier[1], carrier.version, carrier.is_mutable()
        (2.0, 0, False)
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_class_record",
        "_ownership",
        "_released",
        "_storage_dtype",
        "_storage_mutable",
        "_version",
    )

    # Whether the class derives from DependentCarrier.
    _is_dependent: ClassVar[bool] = False

    _class_record: ClassRecord
    _ownership: ownership.OwnershipClaim | None
    _released: bool
    _version: int
    # Definition-backed classes only.
    _storage_dtype: DType
    _storage_mutable: bool

    if not TYPE_CHECKING:  # arguments are checked against __init__

        def __new__(cls, *arguments: object, **keywords: object) -> "Self":
            self = _new(cls)
            self._class_record = UNINITIALIZED
            self._released = True
            return self

    def __init__(
        self, slots: int | None = None, *, dtype: DType | None = None, mutable: bool = True
    ) -> None:
        record = type(self).__dict__.get(RECORD_ATTRIBUTE)
        if record is None or record.sealed_by is None or record.carrier_class is not type(self):
            record = seal(type(self), "the construction of an instance")
        storage = record.storage
        if storage is None:
            if slots is not None or dtype is not None or mutable is not True:
                raise TypeError(
                    f"{type(self).__qualname__} has no CarrierDefinition, and definition-free "
                    "Carrier construction takes no slots, dtype or mutable: call "
                    "super().__init__() and override the storage hooks, or register a definition "
                    "for exactly this class first"
                )
            self._initialize_definition_free(record)
        else:
            self._class_record = record
            self._version = 0
            self._ownership = None
            construction.initialize(self, storage, slots, dtype, mutable)

    def _initialize_definition_free(self, record: ClassRecord) -> None:
        """Set the framework's state of a definition-free instance, and nothing else.

        Args:
            record: The sealed record of its exact class.
        """
        self._class_record = record
        self._version = 0
        self._ownership = None
        self._released = False

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"{type(self).__qualname__} owns storage and cannot be copied or pickled: build a "
            "fresh carrier with new_like(values), or move a Tensor to another carrier"
        )

    def __repr__(self) -> str:
        return described(self)

    # Slots

    def size(self) -> int:
        """Count the live physical slots.

        Returns:
            The count; 0 after release.
        """
        storage = self._class_record.storage
        if storage is None:
            self._refuse_missing("size")
        if self._released:
            return 0
        # What storage.size(self) does, without its frame: every execution asks several sizes.
        if type(self) is not storage.carrier_class:
            storage.refuse_class(self)
        physical_size = storage.physical_size
        try:
            slots = physical_size(self)
        except Exception as error:
            storage.note(error, "physical_size")
            raise
        if type(slots) is not int or slots < 0:
            storage.refuse_size(slots)
        return slots

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The descriptor the carrier was constructed with.
        """
        if self._class_record.storage is None:
            self._refuse_missing("dtype")
        return self._storage_dtype

    def supports_storage_dtype(self, dtype: DType) -> bool:
        """Tell whether this carrier's factories can store a dtype.

        The answer ignores the current dtype, size, mutability, ownership and release.

        Args:
            dtype: Any descriptor; it is matched by identity.

        Returns:
            True when slots of that dtype can be allocated.

        Raises:
            TypeError: The argument is not a DType.
        """
        if not isinstance(dtype, DType):
            raise TypeError(
                f"{type(self).__qualname__}.supports_storage_dtype: dtype must be a DType, "
                f"got {dtype!r}"
            )
        storage = self._class_record.storage
        if storage is None:
            return self._supports_storage_dtype(dtype)
        return storage.supports(self, dtype)

    def get_value(self, index: SupportsIndex) -> Any:
        """Read one slot.

        Args:
            index: The slot, from 0; negative indices are out of range.

        Returns:
            The value: a Python ``float``, ``int`` or ``bool`` for the concrete dtypes.

        Raises:
            TypeError: The index is not an integer.
            RuntimeError: The carrier is released.
            IndexError: The index is out of range.
        """
        storage = self._class_record.storage
        if storage is None:
            self._refuse_missing("get_value")
        slot = _slot(index)
        if self._released:
            self._refuse_released("read")
        if not 0 <= slot < storage.size(self):
            self._refuse_range(slot)
        return storage.read(self, slot)

    def __getitem__(self, index: SupportsIndex) -> Any:
        if self._class_record.storage is not None:
            return Carrier.get_value(self, index)
        return self.get_value(self._readable_slot(index))

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the version by one.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A value the dtype takes; it is normalized for it.

        Raises:
            TypeError: The index is not an integer, or the dtype does not take the value.
            RuntimeError: The carrier is released, immutable, or owned by somebody else.
            IndexError: The index is out of range.
            OverflowError: An integer is out of the dtype's range.
        """
        storage = self._class_record.storage
        if storage is None:
            raise RuntimeError(
                f"{type(self).__qualname__} is not mutable: its class implements no set_value"
            )
        slot = self._writable_slot(index)
        if slot >= storage.size(self) or slot < 0:
            self._refuse_range(slot)
        storage.write(self, slot, normalize(self._storage_dtype, value))
        self._count_write()

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        if self._class_record.storage is not None:
            Carrier.set_value(self, index, value)
            return
        slot = self._writable_slot(index)
        if not 0 <= slot < self.size():
            self._refuse_range(slot)
        before = self._version
        self.set_value(slot, value)
        if self._version == before:  # an override may have advanced it itself
            self._count_write()

    def _readable_slot(self, index: SupportsIndex) -> int:
        slot = _slot(index)
        if self._released:
            self._refuse_released("read")
        if not 0 <= slot < self.size():
            self._refuse_range(slot)
        return slot

    def _writable_slot(self, index: SupportsIndex) -> int:
        slot = _slot(index)
        if self._released:
            self._refuse_released("written")
        if not self.is_mutable():
            self._refuse_immutable()
        return slot

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Carrier":
        """Build a fresh, independent carrier of this exact class that holds the values.

        Works on a released carrier too.

        Args:
            values: One value per slot; iterated once.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            OverflowError: An integer is out of the dtype's range.
        """
        if self._class_record.storage is None:
            self._refuse_missing("new_like")
        return construction.new_like(self, values, mutable=mutable, dtype=dtype)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "Carrier":
        """Build a fresh, independent carrier of this exact class with storage only.

        Works on a released carrier too.

        Args:
            size: Physical slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Whether initialization may be skipped. A definition-backed class holds what
                its provider's ``allocate`` established either way.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, or ``empty`` not a bool.
            ValueError: ``size`` is negative.
            OverflowError: That many slots exceed the address space.
        """
        if self._class_record.storage is None:
            self._refuse_missing("allocate_like")
        return construction.allocate_like(self, size, mutable=mutable, dtype=dtype, empty=empty)

    # Mutability, ownership and versions

    def is_mutable(self) -> bool:
        """Tell whether the calling thread may write values now.

        Returns:
            False for an immutable carrier, and for an owned one outside its owner's access.
            Release does not change the answer.
        """
        storage = self._class_record.storage
        intrinsic = self._is_mutable() if storage is None else self._storage_mutable
        return bool(intrinsic) and not ownership.is_closed_here(self)

    def is_owned(self) -> bool:
        """Tell whether a composite carrier or a pending move owns this carrier.

        Returns:
            True from the claim until it is relinquished, inside owner access too.
        """
        self._require_initialized()
        return self._ownership is not None

    @property
    def version(self) -> int:
        """How many successful public value mutations happened; starts at 0."""
        self._require_initialized()
        return self._version

    def _increment_version(self) -> None:
        """Advance the version after a completed mutation.

        Raises:
            RuntimeError: The carrier is owned by somebody else.
        """
        self._require_initialized()
        ownership.increment_version(self)

    def _count_write(self) -> None:
        """Advance the version for values that were permitted and are stored.

        Another thread may have claimed the carrier meanwhile; a version that stayed would hide the
        write from it.

        Raises:
            RuntimeError: Another thread released the carrier meanwhile.
        """
        ownership.count_write(self)

    def _claim_ownership(self) -> int:
        """Take ownership: reads still work, everything else needs owner access.

        Returns:
            The owner's token, unique in this process.

        Raises:
            RuntimeError: The carrier is released or already owned.
        """
        self._require_initialized()
        return ownership.claim(self)

    def _relinquish_ownership(self, token: int) -> None:
        """Give ownership back.

        Args:
            token: What ``_claim_ownership`` returned.

        Raises:
            RuntimeError: The token does not own the carrier, or owner access is open.
        """
        ownership.relinquish(self, token)

    def _begin_owner_access(self, token: int) -> None:
        """Let the calling thread act as the owner until the matching ``_end_owner_access``.

        Args:
            token: What ``_claim_ownership`` returned.

        Raises:
            RuntimeError: The token does not own the carrier, or another thread is inside.
        """
        ownership.begin_access(self, token)

    def _end_owner_access(self, token: int) -> None:
        """Leave one level of owner access.

        Args:
            token: What ``_claim_ownership`` returned.

        Raises:
            RuntimeError: The token does not own the carrier, or this thread is not inside.
        """
        ownership.end_access(self, token)

    def _has_owner_access(self) -> bool:
        """Tell whether the calling thread is inside owner access."""
        owner = self._ownership
        return owner is not None and owner.is_accessed_here()

    # Lifetime

    def release(self) -> None:
        """Give the storage up; does nothing on a released carrier.

        Element access fails from then on; ``dtype``, dtype support, capability queries, the
        version and both factories keep working. If the storage cannot be given up, that error
        propagates and the carrier stays live.

        Raises:
            RuntimeError: The carrier is owned by a composite carrier or a pending move.
        """
        self._require_initialized()
        ownership.release(self, self._give_up_storage)

    def is_released(self) -> bool:
        """Tell whether the storage was given up.

        Returns:
            True after a successful ``release``.
        """
        self._require_initialized()
        return self._released

    def _give_up_storage(self) -> None:
        storage = self._class_record.storage
        if storage is None:
            self._release()
        else:
            storage.release(self)

    # Execution

    def dispatch_op(self, operation_name: str) -> "Operation":
        """Give a fresh operation of that name, which executes on this carrier.

        Args:
            operation_name: A registered operation or a view, such as ``"add"``.

        Returns:
            An Operation that was never dispatched before.

        Raises:
            TypeError: ``operation_name`` is not a str.
            NotImplementedError: This carrier does not know the name.
            RuntimeError: A definition-backed carrier is released.
        """
        require_instance(self, "dispatch_op")
        return dispatch.dispatch(self, operation_name)

    def operation_capabilities(
        self, operation_name: str | None = None
    ) -> "tuple[OperationCapability, ...]":
        """List what this carrier executes, in deterministic order.

        Args:
            operation_name: Restricts the list to one operation.

        Returns:
            The capabilities; empty for an operation that is not served.
        """
        return capability_queries.instance_capabilities(self, operation_name)

    def supports_operation_plan(self, plan: "OperationPlan") -> bool:
        """Tell whether this carrier executes exactly this plan.

        Args:
            plan: A resolved dtype plan.

        Returns:
            True when a capability agrees with it in every field.

        Raises:
            TypeError: The argument is not an OperationPlan.
        """
        return capability_queries.instance_match(self, plan) is not None

    def unsupported_plan_reason(self, plan: "OperationPlan") -> str | None:
        """Say why this carrier does not execute a plan.

        Args:
            plan: A resolved dtype plan.

        Returns:
            A sentence that names class and operation, or None when it executes the plan.

        Raises:
            TypeError: The argument is not an OperationPlan.
        """
        return capability_queries.instance_reason(self, plan)

    def require_operation_plan(self, plan: "OperationPlan") -> "OperationCapability":
        """Give the capability that is exactly this plan.

        Args:
            plan: A resolved dtype plan.

        Returns:
            The matching capability.

        Raises:
            TypeError: The argument is not an OperationPlan.
            UnsupportedOperationPlan: The carrier does not execute it.
        """
        return capability_queries.require_on_instance(self, plan)

    def _capability(self, plan: "OperationPlan") -> "OperationCapability | None":
        """Find the capability that authorizes a plan on this carrier."""
        return self._class_record.capabilities.match(plan)

    def _capability_set(self) -> CapabilitySet:
        """Give everything this carrier executes."""
        return self._class_record.capabilities

    def facet(self, facet_type: type[F]) -> F | None:
        """Find a carrier-specific facet by its exact type; also after release.

        Args:
            facet_type: A subclass of CarrierFacet.

        Returns:
            The instance that this class's definition registered, or None.

        Raises:
            TypeError: ``facet_type`` is not a subclass of CarrierFacet.
        """
        return find_facet(self._class_record.definition, facet_type)

    def require_facet(self, facet_type: type[F]) -> F:
        """Find a carrier-specific facet that must be there.

        Args:
            facet_type: A subclass of CarrierFacet.

        Returns:
            The instance that this class's definition registered.

        Raises:
            TypeError: ``facet_type`` is not a subclass of CarrierFacet.
            NotImplementedError: No facet of exactly that type is registered.
        """
        found = self.facet(facet_type)
        if found is None:
            raise NotImplementedError(
                f"{type(self).__qualname__} has no facet {facet_type.__module__}."
                f"{facet_type.__qualname__}; its CarrierDefinition must list one in facets"
            )
        return found

    def dlpack_info(self) -> dict[str, int]:
        """Describe the storage for DLPack export; a class opts in by overriding this.

        Returns:
            ``pointer``, ``device_type`` and ``device_id``.

        Raises:
            BufferError: This class does not export its storage.
        """
        raise BufferError(
            f"{type(self).__qualname__} does not export its storage; move or copy the Tensor to a "
            "CPU carrier first"
        )

    # Execution and differentiation

    _instead_of_moving: ClassVar[str | None] = None
    """What to use where no route has this class; None where a route could be declared."""
    _instead_of_mixing: ClassVar[str | None] = None
    """What to do with an operand that should meet one of this class; None: move it there."""

    def _one_slot(self, value: Any, dtype: DType) -> "Carrier":
        """Make a carrier of this class whose one slot holds a constant operand of any shape."""
        if dtype is self.dtype():
            return self.new_like([value])
        return self.new_like([value], dtype=dtype)

    def _execution_remedy(self) -> str | None:
        """Tell what to do instead where no capability of this instance covers a plan."""
        return None

    def _require_executable(self, operation: str) -> None:
        """Check that an operation may use the stored values now.

        Args:
            operation: What wants to use them, for the message.

        Raises:
            RuntimeError: The carrier is released.
        """
        if self._released:
            self._require_initialized()
            raise RuntimeError(
                f"{operation}: this {type(self).__qualname__} is released; its values are gone"
            )

    def _vjp_operand(self, tensor: "Tensor") -> "Tensor":
        """Give the Tensor whose values a vector-Jacobian product reads for ``tensor``."""
        return tensor

    def _vjp_gradient(self, gradient: "Tensor", operand: "Tensor") -> "Tensor":
        """Give the gradient of ``operand`` in this carrier's representation."""
        return gradient

    def _read_tensor(self, tensor: "Tensor") -> "memoryview[Any] | None":
        """Copy the values of a Tensor over this carrier in a way of its own.

        Args:
            tensor: A Tensor over this live carrier.

        Returns:
            A span with one item per coordinate in logical order, the first mode fastest; None where
            the carrier has none: the caller then reads a physical span, or slot by slot.
        """
        return None

    def _write_tensor(self, tensor: "Tensor", values: "memoryview[Any]") -> bool:
        """Store values in a Tensor over this carrier in a way of its own; no version changes.

        Args:
            tensor: An injective Tensor over this live, mutable carrier.
            values: A span with one item per coordinate in logical order.

        Returns:
            False, with nothing written, where the carrier has none; the caller then writes a
            physical span, or slot by slot.
        """
        return False

    def _store_tensor(self, tensor: "Tensor", values: "Tensor") -> bool:
        """Replace the values of a Tensor over this carrier in a way of its own.

        Args:
            tensor: An injective Tensor over this live, mutable carrier.
            values: A live Tensor of the same shape and dtype.

        Returns:
            False where the carrier has none; the caller then writes value by value or in bulk.
        """
        return False

    def _step_tensor(
        self,
        tensor: "Tensor",
        gradient: "Tensor",
        step: "Callable[[int, Tensor, Tensor], None]",
    ) -> bool:
        """Let an optimiser update a Tensor over this carrier part by part.

        Args:
            tensor: A Tensor over this live, mutable carrier.
            gradient: A live Tensor of the same shape.
            step: Is given the number of a part, its values as a Tensor to write to, and its
                gradient. Parts whose gradient is zero for certain are left out.

        Returns:
            False where the carrier has no parts; the caller then updates the whole Tensor.
        """
        return False

    # Hooks of definition-free subclasses

    def _is_mutable(self) -> bool:
        """Tell whether values can be written, ownership aside."""
        return False

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        """Tell whether the factories can store a dtype; the default claims the current one."""
        return dtype is self.dtype()

    def _release(self) -> None:
        """Drop the storage; when it raises, the carrier stays live."""

    def _dispatch_op(self, operation_name: str) -> "Operation":
        """Give a fresh Operation of that name, for example from ``bind_kernel``."""
        raise NotImplementedError(
            f"{type(self).__qualname__} does not execute {operation_name!r}: its class implements "
            "no _dispatch_op"
        )

    def _host_array(self) -> Any:  # a numpy.ndarray, which core does not know
        """Give the writable one-dimensional NumPy array that is the live storage, or None."""
        return None

    def _copies_arrays(self) -> bool:
        """Tell whether ``new_like`` copies a NumPy array of the dtype's element type at once."""
        return False

    def _read_span(self, start: int, out: "memoryview[Any]") -> object:
        """Fill ``out`` with the slots from ``start``; NotImplemented where this is not offered."""
        return NotImplemented

    def _write_span(self, start: int, values: "memoryview[Any]") -> object:
        """Store ``values`` from ``start`` on; NotImplemented where this is not offered."""
        return NotImplemented

    # Refusals

    def _require_initialized(self) -> None:
        if self._class_record is UNINITIALIZED:
            raise uninitialized_error()

    def _refuse_missing(self, member: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__qualname__} must implement {member}(): the class has no "
            "CarrierDefinition, and definitions are not inherited"
        )

    def _refuse_released(self, action: str) -> NoReturn:
        self._require_initialized()
        raise RuntimeError(f"this {type(self).__qualname__} is released and cannot be {action}")

    def _refuse_immutable(self) -> NoReturn:
        cause = (
            "is owned by a composite carrier or a pending move, so it is not mutable from outside"
            if ownership.is_closed_here(self)
            else "is not mutable"
        )
        raise RuntimeError(f"this {type(self).__qualname__} {cause}")

    def _refuse_range(self, slot: int) -> NoReturn:
        if self._released:  # by another thread, meanwhile
            self._refuse_released("used")
        raise IndexError(
            f"slot {slot} is out of range for this {type(self).__qualname__} of {self.size()} "
            "slots; indices start at 0 and are never negative"
        )


def require_instance(carrier: object, method: str) -> Carrier:
    """Refuse a method that was called on the class with something else as its first argument.

    Returns:
        The carrier.

    Raises:
        TypeError: ``carrier`` is not a Carrier.
    """
    if not isinstance(carrier, Carrier):
        raise TypeError(f"{method} needs a Carrier instance, got {carrier!r}")
    return carrier


def _slot(index: SupportsIndex) -> int:
    try:
        return as_index(index)
    except TypeError as error:
        raise TypeError(
            f"a slot index must be an integer, got {index!r} ({type(index).__qualname__})"
        ) from error
