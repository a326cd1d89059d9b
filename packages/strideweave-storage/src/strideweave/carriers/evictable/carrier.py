"""Evictable: values that are resident in one of two carriers, and computed with in the first."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, SupportsIndex, final

from strideweave.autograd.buffers import placed_copy
from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import seal
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.dependent import DependentCarrier
from strideweave.carriers.evictable.capabilities import common_capabilities
from strideweave.carriers.evictable.gate import Gate
from strideweave.carriers.evictable.kernels import evictable_operation
from strideweave.carriers.evictable.tiers import Residency, Tier, check_tiers
from strideweave.carriers.evictable.transfers import relocate
from strideweave.carriers.normalization import normalize
from strideweave.dtype import DType
from strideweave.operation.evaluation import evaluate
from strideweave.operation.operation import Operation
from strideweave.tensor.tensor import Tensor


@final
class Evictable(DependentCarrier):
    """A hierarchy of two carriers, whose values are resident in one of them.

    A promoted hierarchy computes with the kernels of its primary and owns it: the primary can be
    read, but written, moved and released only through the hierarchy. ``evict()`` brings the values
    to the secondary and releases the primary, ``promote()`` brings them back; Tensors over the
    hierarchy stay valid. While evicted, the values can be neither read nor written.

    Every result of an operation is a promoted hierarchy of its own. Gradients work as on any
    carrier, as long as operands whose values a gradient reads are promoted when it is computed.

    Threads may read, write slots, evict and promote at the same time. A bulk write through a
    Tensor goes straight to the primary's memory and must not overlap an eviction.

    Args:
        primary: A live carrier with at least one slot, which nobody owns. Whether it is mutable
            decides whether the hierarchy is.
        secondary: A live mutable carrier of the same dtype, which nobody owns. It may have any
            size: one that is too small is replaced at the first eviction.

    Raises:
        TypeError: An argument is no Carrier, a tier is a BlockDeviceCarrier, or the dtypes differ.
        ValueError: Both are the same carrier, or the primary is empty.
        RuntimeError: A tier is released or owned, or the secondary is immutable.
        NotImplementedError: Values cannot move between the two classes in both directions.

    Examples:
        >>> import strideweave as sw
        >>> values = sw.Generic([1.0, 2.0])
        >>> carrier = sw.Evictable(values, sw.FileBacked())
        >>> tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> carrier.evict()
        >>> carrier.is_evicted(), values.is_released(), carrier.secondary.size()
        (True, True, 2)
        >>> carrier.promote()
        >>> (tensor + tensor).tolist()
        [2.0, 4.0]
    """

    __slots__ = ("_dtype", "_gate", "_mutable", "_residency", "_size")

    def __init__(self, primary: Carrier, secondary: Carrier) -> None:
        super().__init__()
        check_tiers(primary, secondary)
        self._compose(primary, secondary)

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    def _compose(self, primary: Carrier, secondary: Carrier) -> None:
        """Claim both tiers and take over what the primary is; on failure, give them back."""
        self._dtype = primary.dtype()
        self._size = primary.size()
        self._mutable = primary.is_mutable()
        self._gate = Gate()
        claimed: list[Tier] = []
        try:
            for carrier in (primary, secondary):
                claimed.append(Tier(carrier))
            self._snapshot = common_capabilities(primary, secondary)
        except BaseException:
            for tier in claimed:
                tier.relinquish()
            raise
        self._residency = Residency(claimed[0], claimed[1], is_evicted=False)

    def _over(self, primary: Carrier) -> "Evictable":
        """Build a promoted hierarchy around a fresh primary, with an empty secondary as here."""
        prototype = self._residency.secondary.carrier
        dtype = primary.dtype()
        keywords: dict[str, Any] = {} if dtype is prototype.dtype() else {"dtype": dtype}
        secondary = prototype.allocate_like(0, **keywords)
        hierarchy: Evictable = object.__new__(Evictable)
        hierarchy._initialize_definition_free(_RECORD)
        hierarchy._compose(primary, secondary)
        return hierarchy

    @property
    def primary(self) -> Carrier:
        """The tier that computes: the given one, or what replaced it; released while evicted."""
        return self._residency.primary.carrier

    @property
    def secondary(self) -> Carrier:
        """The tier that values are evicted to: the given one, or what replaced it."""
        return self._residency.secondary.carrier

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The primary's count at construction; 0 after release.
        """
        return 0 if self._released else self._size

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The common descriptor of both tiers.
        """
        return self._dtype

    # Residency

    def is_evicted(self) -> bool:
        """Tell where the values are.

        Returns:
            True when they are in the secondary. A release does not change the answer.
        """
        return self._residency.is_evicted

    def evict(self) -> None:
        """Bring the values to the secondary and release the primary.

        Does nothing on an evicted hierarchy. Versions do not change. On failure everything is as
        before, and evicting can be tried again.

        Raises:
            RuntimeError: The hierarchy is released, or owned by somebody else.
            OSError: A file does not take the values.
        """
        self._bring(is_evicted=True)

    def promote(self) -> None:
        """Bring the values back to the primary and release the secondary.

        Does nothing on a promoted hierarchy. Versions do not change. On failure everything is as
        before, and promoting can be tried again.

        Raises:
            RuntimeError: The hierarchy is released, or owned by somebody else.
            OSError: A file does not give the values.
        """
        self._bring(is_evicted=False)

    def _bring(self, is_evicted: bool) -> None:
        action = "evict()" if is_evicted else "promote()"
        with self._gate:
            if self.is_owned() and not self._has_owner_access():
                raise RuntimeError(
                    f"{action} refused: this Evictable is owned by a composite carrier or a "
                    "pending move; act through the owner, or wait for the move"
                )
            if self._released:
                raise RuntimeError(f"{action} refused: this Evictable is released")
            if self._residency.is_evicted is not is_evicted:
                relocate(self)

    def _claim_ownership(self) -> int:
        with self._gate:  # no transition or write of another thread is left half done
            return super()._claim_ownership()

    # Slots

    def get_value(self, index: SupportsIndex) -> Any:
        """Read one slot.

        Args:
            index: The slot, from 0; negative indices are out of range.

        Returns:
            The value as a Python ``float``, ``int`` or ``bool``.

        Raises:
            TypeError: The index is not an integer.
            RuntimeError: The carrier is released or evicted.
            IndexError: The index is out of range.
        """
        while True:
            residency = self._residency
            if residency.is_evicted and not self._released and isinstance(index, SupportsIndex):
                self._refuse_evicted("read")
            slot = self._readable_slot(index)
            try:
                return residency.primary.carrier[slot]
            except Exception:
                if self._residency is residency:
                    raise
                # The values have left that primary meanwhile; look again.

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the versions of the hierarchy and its primary by one.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A value the dtype takes.

        Raises:
            TypeError: The index is not an integer, or the dtype does not take the value.
            RuntimeError: The carrier is released, evicted, immutable, or owned by somebody else.
            IndexError: The index is out of range.
            OverflowError: An integer is out of the dtype's range.
        """
        with self._gate:
            slot = self._writable_slot(index)
            residency = self._residency
            if residency.is_evicted:
                self._refuse_evicted("written")
            if not 0 <= slot < self._size:
                self._refuse_range(slot)
            with residency.primary as primary:
                primary[slot] = value
            super()._increment_version()

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Evictable":
        """Build a fresh promoted hierarchy of the same tier classes that holds the values.

        Works on an evicted and on a released one too.

        Args:
            values: One value per slot, at least one; iterated once.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0, with an empty secondary.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the primary does not take.
            ValueError: There are no values, or a tier does not store ``dtype``.
            OverflowError: An integer is out of the dtype's range.
        """
        keywords = self._factory_keywords(mutable, dtype)
        return self._checked_hierarchy(self.primary.new_like(values, **keywords))

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "Evictable":
        """Build a fresh promoted hierarchy of the same tier classes with storage only.

        Works on an evicted and on a released one too.

        Args:
            size: Slot count, at least 1.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Whether the primary may skip the initialization.

        Returns:
            The new carrier, at version 0, with an empty secondary.

        Raises:
            TypeError: ``size`` is not an integer, or ``dtype`` no DType.
            ValueError: ``size`` is less than 1, or a tier does not store ``dtype``.
            OverflowError: That many slots exceed the address space.
        """
        keywords = self._factory_keywords(mutable, dtype)
        if empty:
            keywords["empty"] = empty
        return self._checked_hierarchy(self.primary.allocate_like(size, **keywords))

    def _factory_keywords(self, mutable: bool, dtype: DType | None) -> dict[str, Any]:
        keywords: dict[str, Any] = {"mutable": mutable}
        if dtype is not None and dtype is not self._dtype:
            for tier in (self.primary, self.secondary):
                if not tier.supports_storage_dtype(dtype):
                    raise ValueError(
                        f"Evictable cannot store {dtype!r}: its {type(tier).__qualname__} does not"
                    )
            keywords["dtype"] = dtype
        return keywords

    def _checked_hierarchy(self, primary: Carrier) -> "Evictable":
        try:
            if primary.size() == 0:
                raise ValueError("Evictable: a hierarchy holds at least one value, got size 0")
            return self._over(primary)
        except BaseException:
            primary.release()
            raise

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        residency = self._residency
        return residency.primary.carrier.supports_storage_dtype(
            dtype
        ) and residency.secondary.carrier.supports_storage_dtype(dtype)

    def _increment_version(self) -> None:
        with self._gate:
            super()._increment_version()
            self._count_in_primary()

    def _count_write(self) -> None:
        with self._gate:
            super()._count_write()
            self._count_in_primary()

    def _count_in_primary(self) -> None:
        residency = self._residency
        if not self._released and not residency.is_evicted:
            with residency.primary as primary:
                primary._count_write()

    def _release(self) -> None:
        with self._gate:
            # The values go last: a failure of the other tier leaves them readable.
            for tier in (self._residency.other, self._residency.resident):
                tier.release()
            for tier in (self._residency.other, self._residency.resident):
                tier.relinquish()
            self._released = True  # inside the gate: nobody finds tiers that are given up

    # Bulk access. A primary without spans is read and written slot by slot here, because a bulk
    # write through the hierarchy is one step of its version.

    def _copies_arrays(self) -> bool:
        return self.primary._copies_arrays()

    def _host_array(self) -> Any:
        residency = self._residency
        if self._released or residency.is_evicted:
            return None
        return spans.host_array(residency.primary.carrier)

    def _read_span(self, start: int, out: "memoryview[Any]") -> object:
        residency = self._residency
        if self._released or residency.is_evicted:
            return NotImplemented
        primary = residency.primary.carrier
        try:
            if not spans.read_span(primary, start, out):
                for position in range(len(out)):
                    out[position] = normalize(self._dtype, primary[start + position])
        except Exception:
            if self._residency is residency and not self._released:
                raise
            return NotImplemented  # the values have left that primary meanwhile
        return None

    def _write_span(self, start: int, values: "memoryview[Any]") -> object:
        with self._gate:
            residency = self._residency
            if self._released or residency.is_evicted:
                return NotImplemented
            with residency.primary as primary:
                if not spans.write_span(primary, start, values):
                    for slot, value in enumerate(values.tolist(), start):
                        spans.write_slot(primary, slot, value)
        return None

    @contextmanager
    def _writing(self, operation: str) -> Iterator[None]:
        """Keep the values in the primary, and give this thread the owner's access to it."""
        with self._gate:
            self._resident_primary(operation)
            with self._residency.primary:
                yield

    # Execution

    def _dispatch_op(self, operation_name: str) -> Operation:
        if self._residency.is_evicted and not self._released:
            self._refuse_evicted(f"used by {operation_name!r}")
        return evictable_operation(self._snapshot, operation_name)

    def _require_executable(self, operation: str) -> None:
        super()._require_executable(operation)
        if self._residency.is_evicted:
            self._refuse_evicted(f"used by {operation}")

    def _resident_primary(self, operation: str) -> Carrier:
        """Give the primary that holds the values now."""
        residency = self._residency
        if residency.is_evicted:
            self._refuse_evicted(f"used by {operation}")
        return residency.primary.carrier

    def _check_partner(self, partner: Carrier, operation: str) -> None:
        assert isinstance(partner, Evictable)
        for role in ("primary", "secondary"):
            own, other = getattr(self, role), getattr(partner, role)
            if type(own) is not type(other):
                raise TypeError(
                    f"{operation}: the {role} carriers of all operands must have one class, got "
                    f"{type(own).__qualname__} and {type(other).__qualname__}"
                )
            if isinstance(own, DependentCarrier):
                own._check_partner(other, operation)

    def _vjp_operand(self, tensor: Tensor) -> Tensor:
        return tensor

    def _vjp_gradient(self, gradient: Tensor, operand: Tensor) -> Tensor:
        return gradient

    def _accumulate_gradient(self, total: Tensor, gradient: Tensor) -> Tensor:
        summed = evaluate("add", total, gradient)
        if summed.layout == total.layout or not total.layout.is_injective:
            return summed
        return placed_copy(summed, summed.carrier, total.layout)

    def _refuse_evicted(self, action: str) -> NoReturn:
        raise RuntimeError(
            f"this Evictable is evicted to its {type(self.secondary).__qualname__} and cannot be "
            f"{action}; call promote() first"
        )


_RECORD: Final = seal(Evictable, "its publication as a shipped carrier")
