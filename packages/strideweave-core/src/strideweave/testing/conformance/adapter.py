"""CarrierAdapter: what the checks know of a carrier, all of it given by its author."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Generic, TypeVar, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType, SimpleDType
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape, Stride
from strideweave.tensor.tensor import Tensor
from strideweave.testing.array_carrier import ArrayCarrier
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.operation_case import OperationCase, Value

C = TypeVar("C", bound=Carrier)


@final
@record
class Peer:
    """Another carrier class, with which Tensors are exchanged.

    Attributes:
        carrier_class: Its exact class.
        make: Makes one of so many slots, mutable.
        dtypes: Those of Float32, Int32 and Bool that it stores.

    Examples:
        >>> from strideweave import DType
        >>> from strideweave.testing import ArrayCarrier, Peer
        >>> peer = Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype))
        >>> peer.make(3, DType.Int32).size()
        3
    """

    carrier_class: type[Carrier]
    make: Callable[[int, SimpleDType], Carrier]
    dtypes: tuple[SimpleDType, ...] = (DType.Float32, DType.Int32, DType.Bool)

    @property
    def name(self) -> str:
        """The peer's class, for messages."""
        return self.carrier_class.__qualname__


ARRAY_PEER = Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype))


class CarrierAdapter(ABC, Generic[C]):
    """The author's side of the kit: how to make carriers, and how to look into their memory.

    ``raw_read`` and ``raw_write`` go to the memory itself, by the author's own means, so that no
    check has to trust the code that it checks.
    """

    carrier_class: type[C]
    """The exact class under test."""

    abilities: ClassVar[frozenset[Ability]] = frozenset()
    """What the class can do; the checks of a declared ability run or fail."""

    dtypes: ClassVar[tuple[SimpleDType, ...]] = (DType.Float32, DType.Int32, DType.Bool)
    """The dtypes that it stores, of Float32, Int32 and Bool; no other one of them."""

    allows_empty: ClassVar[bool] = True
    """Whether there are carriers of the class without any slot."""

    largest: ClassVar[int | None] = None
    """The most slots that a carrier can have, 300 or more; None where only memory limits them."""

    peers: ClassVar[tuple[Peer, ...]] = (ARRAY_PEER,)
    """With whom Tensors are exchanged, as TRANSFERS_OUT and TRANSFERS_IN say."""

    layouts_per_plan: ClassVar[int | None] = None
    """How many layouts of operands are tried for each dtype plan of an operation; None for all.

    A carrier that compiles a kernel for each layout takes fewer, evenly spread over all of them.
    """

    operation_cases: ClassVar[Sequence[OperationCase]] = ()
    """Calls of operations outside the catalogue; each advertised one needs at least one."""

    not_applicable: ClassVar[Mapping[str, str]] = {}
    """Checks that the contract does not ask of this class: why, by identifier. The report lists
    them. A check of a declared ability cannot be excepted."""

    @abstractmethod
    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> C:
        """Make a fresh carrier whose slots hold zero.

        Args:
            size: Slot count; 0 only where ``allows_empty``.
            dtype: One of ``dtypes``.
            mutable: Whether its values can be written.
        """

    @abstractmethod
    def raw_read(self, carrier: C, slot: int) -> object:
        """Read a slot of the memory itself: a Python ``float``, ``int`` or ``bool``.

        It raises after release, when there is no memory.
        """

    @abstractmethod
    def raw_write(self, carrier: C, slot: int, value: Any) -> None:
        """Write a slot of the memory itself, unnoticed by the carrier."""

    def slow_transfer(self) -> AbstractContextManager[object]:
        """Hold back submitted transfers of this class until the context is left.

        By default nothing is held back, and checks take completions as they come.
        """
        return nullcontext()

    # What the checks share.

    @property
    def name(self) -> str:
        """The class under test, for messages."""
        return self.carrier_class.__qualname__

    @property
    def empty_size(self) -> tuple[int, ...]:
        """The slot count of an empty carrier, where there is one."""
        return (0,) if self.allows_empty else ()

    def has_room(self, slots: int) -> bool:
        """Tell whether a carrier can have so many slots."""
        return self.largest is None or slots <= self.largest

    def filled(self, values: Sequence[Value], dtype: SimpleDType) -> C:
        """Make a carrier and put values into its memory, around the code under test."""
        carrier = self.make(len(values), dtype)
        for slot, value in enumerate(values):
            self.raw_write(carrier, slot, value)
        return carrier

    def raw_values(self, carrier: C, count: int) -> list[object]:
        """Read the first slots of the memory itself."""
        return [self.raw_read(carrier, slot) for slot in range(count)]


def over(carrier: Carrier, count: int) -> Tensor:
    """View the first slots of a carrier as a flat Tensor."""
    return Tensor(carrier, 0, Layout(Shape(count), Stride(1)))
