"""The framework's calls of one class's storage callbacks, each with the checks of its contract."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, final

from strideweave.carriers.normalization import NORMALIZERS
from strideweave.carriers.provider_notes import add_provider_note

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.carriers.extension.storage import StorageProvider
    from strideweave.dtype import DType


@final
class StorageCalls:
    """Calls of one StorageProvider for one exact class.

    A callback that every execution needs is taken into a local before it is called: CPython
    specializes reading an attribute and calling a local, but not calling an attribute's value.

    Every method validates the exact class of the carrier, passes an exception of the callback on
    with a note, and refuses a wrong return with ``TypeError``. Callers have checked liveness,
    mutability and range before, and change versions after.

    Args:
        carrier_class: The exact class the provider is registered for.
        provider: Its storage provider.
    """

    __slots__ = (
        "_allocate",
        "_read",
        "_supports_dtype",
        "_write",
        "carrier_class",
        "physical_size",
        "provider",
    )

    def __init__(self, carrier_class: "type[Carrier]", provider: "StorageProvider[Any]") -> None:
        self.carrier_class = carrier_class
        self.provider = provider
        # Every result asks these; a bound attribute keeps each call short.
        self._supports_dtype = provider.supports_dtype
        self.physical_size = provider.physical_size
        self._allocate = provider.allocate
        self._read = provider.read
        self._write = provider.write

    def supports(self, carrier: "Carrier", dtype: "DType") -> bool:
        """Ask whether this instance stores a dtype."""
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        try:
            answer = self._supports_dtype(carrier, dtype)
        except Exception as error:
            self.note(error, "supports_dtype")
            raise
        if answer is True or answer is False:
            return answer
        self._refuse_return("supports_dtype", "a bool", answer)

    def size(self, carrier: "Carrier") -> int:
        """Ask for the physical slot count."""
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        physical_size = self.physical_size
        try:
            size = physical_size(carrier)
        except Exception as error:
            self.note(error, "physical_size")
            raise
        if type(size) is not int or size < 0:
            self.refuse_size(size)
        return size

    def allocate(self, carrier: "Carrier", slots: int) -> object:
        """Let the provider establish storage; ``check_allocation`` judges the answer."""
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        allocate: Callable[..., object] = self._allocate
        try:
            return allocate(carrier, slots)
        except Exception as error:
            self.note(error, "allocate")
            raise

    def establish(self, carrier: "Carrier", slots: int, dtype: "DType") -> object:
        """Let the provider establish the storage of a new instance, if it stores the dtype.

        Returns:
            What ``allocate`` answered.
        """
        supports_dtype = self._supports_dtype
        try:
            supported = supports_dtype(carrier, dtype)
        except Exception as error:
            self.note(error, "supports_dtype")
            raise
        if supported is not True:
            if supported is not False:
                self._refuse_return("supports_dtype", "a bool", supported)
            raise TypeError(
                f"{self.carrier_class.__qualname__} does not support storage dtype {dtype!r}"
            )
        allocate: Callable[..., object] = self._allocate
        try:
            return allocate(carrier, slots)
        except Exception as error:
            self.note(error, "allocate")
            raise

    def check_allocation(self, carrier: "Carrier", slots: int, answer: object) -> None:
        """Refuse an allocation that answered something, or has another extent than asked for."""
        size = self.size(carrier) if answer is None else None
        if size != slots:
            self.refuse_allocation(slots, answer, size)

    def refuse_allocation(self, slots: int, answer: object, size: int | None) -> NoReturn:
        """Report what is wrong with an allocation; the size is None where none was asked for."""
        if answer is not None:
            self._refuse_return("allocate", "None", answer)
        raise ValueError(
            f"StorageProvider.physical_size of {self.carrier_class.__qualname__} must return "
            f"the {slots} slots that allocate was asked for, got {size}"
        )

    def release(self, carrier: "Carrier") -> None:
        """Let the provider relinquish the storage."""
        self._perform("release", self.provider.release, carrier)

    def read(self, carrier: "Carrier", index: int) -> Any:
        """Read one slot and normalize the value for the carrier's dtype."""
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        normalizer = NORMALIZERS.get(carrier._storage_dtype)
        try:
            value = self._read(carrier, index)
            return value if normalizer is None else normalizer(value)
        except Exception as error:
            self.note(error, "read")
            raise

    def write(self, carrier: "Carrier", index: int, value: object) -> None:
        """Write one value, already normalized, into one slot."""
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        write: Callable[..., object] = self._write
        try:
            answer = write(carrier, index, value)
        except Exception as error:
            self.note(error, "write")
            raise
        if answer is not None:
            self._refuse_return("write", "None", answer)

    def read_span(self, carrier: "Carrier", start: int, out: "memoryview[Any]") -> bool:
        """Fill ``out`` with the slots from ``start``; False when the provider offers no spans."""
        read_span = self.provider.read_span
        if read_span is None:
            return False
        self._perform("read_span", read_span, carrier, start, out)
        return True

    def write_span(self, carrier: "Carrier", start: int, values: "memoryview[Any]") -> bool:
        """Store ``values`` at ``start``; False when the provider offers no spans."""
        write_span = self.provider.write_span
        if write_span is None:
            return False
        self._perform("write_span", write_span, carrier, start, values.toreadonly())
        return True

    def _perform(
        self, name: str, callback: Callable[..., object], carrier: "Carrier", *arguments: object
    ) -> None:
        if type(carrier) is not self.carrier_class:
            self.refuse_class(carrier)
        try:
            answer = callback(carrier, *arguments)
        except Exception as error:
            self.note(error, name)
            raise
        if answer is not None:
            self._refuse_return(name, "None", answer)

    def note(self, error: Exception, name: str) -> None:
        """Say on an exception of a callback whose callback it was."""
        add_provider_note(error, self.carrier_class, f"StorageProvider.{name}")

    def refuse_size(self, size: object) -> NoReturn:
        """Refuse what ``physical_size`` returned."""
        if type(size) is not int:
            self._refuse_return("physical_size", "an int", size)
        raise ValueError(
            f"StorageProvider.physical_size of {self.carrier_class.__qualname__} must return "
            f"a slot count >= 0, got {size}"
        )

    def refuse_class(self, carrier: "Carrier") -> NoReturn:
        """Refuse an instance of another class than the provider serves."""
        raise TypeError(
            f"the storage provider of {self.carrier_class.__qualname__} serves that exact class "
            f"only, got an instance of {type(carrier).__qualname__}"
        )

    def _refuse_return(self, name: str, expected: str, got: object) -> NoReturn:
        raise TypeError(
            f"StorageProvider.{name} of {self.carrier_class.__qualname__} must return {expected}, "
            f"got {got!r} ({type(got).__qualname__})"
        )
