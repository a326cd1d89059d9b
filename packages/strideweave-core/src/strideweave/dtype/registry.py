"""The process-wide table of registered descriptors."""

import threading
from typing import TYPE_CHECKING, final

from strideweave._fork import hold_across_fork
from strideweave.dtype.identity import Structure, first_difference
from strideweave.dtype.public_module import PUBLIC_MODULE

if TYPE_CHECKING:
    from strideweave.dtype.descriptor import DType


@final
class DTypeRegistry:
    """Registered descriptors by name, in registration order, and the structures that are claimed.

    Entries are permanent. Lookups by name need no lock; publication is atomic under it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        hold_across_fork(self._lock)
        self._by_name: dict[str, DType] = {}
        self._by_structure: dict[Structure, str] = {}

    def get(self, name: str) -> "DType | None":
        """Return the descriptor with that exact name, or ``None``."""
        return self._by_name.get(name)

    def snapshot(self) -> "tuple[DType, ...]":
        """Return all registered descriptors in registration order."""
        with self._lock:
            return tuple(self._by_name.values())

    def is_canonical(self, descriptor: "DType") -> bool:
        """Tell whether ``descriptor`` is the very object that its own name resolves to."""
        name = getattr(descriptor, "_name", None)
        return type(name) is str and self._by_name.get(name) is descriptor

    def publish(
        self, descriptor: "DType", name: str, structure: Structure, *, unique_structure: bool
    ) -> None:
        """Seal ``descriptor`` with its structure and make its name visible, all or nothing.

        Args:
            descriptor: A validated descriptor.
            name: Its exact name.
            structure: Its structure, recorded in the descriptor here.
            unique_structure: Whether another descriptor with this structure is a conflict.

        Raises:
            ValueError: The name, or then the structure, is taken.
        """
        with self._lock:
            if name in self._by_name:
                raise ValueError(
                    f"dtype name {name!r} is already registered as {self._by_name[name]!r}; "
                    "registration is permanent, choose another name"
                )
            if unique_structure and structure in self._by_structure:
                owner = self._by_structure[structure]
                raise ValueError(
                    f"dtype {name!r} has the same element and levels as the registered {owner!r}; "
                    "use that one, or give a subclass a structure_extension() that tells them apart"
                )
            object.__setattr__(descriptor, "_structure", structure)
            if unique_structure:
                self._by_structure[structure] = name
            self._by_name[name] = descriptor


registry = DTypeRegistry()


def _unpickle_dtype(name: str, structure: Structure) -> "DType":
    """Return the receiver's own descriptor for a pickled name and structure.

    Args:
        name: The registered name that was pickled.
        structure: The structure that was pickled.

    Returns:
        The descriptor registered here under ``name``.

    Raises:
        LookupError: No descriptor of that name is registered here.
        ValueError: It is registered with another structure; the first differing position is named.
    """
    descriptor = registry.get(name)
    if descriptor is None:
        raise LookupError(
            f"dtype {name!r} is not registered in this process; construct it before unpickling"
        )
    path = first_difference(structure, descriptor.structure())
    if path is not None:
        position = "".join(f"[{index}]" for index in path)
        raise ValueError(
            f"pickled dtype {name!r} has another structure than the one registered here: they "
            f"first differ at structure(){position}; register the same definition in both processes"
        )
    return descriptor


_unpickle_dtype.__module__ = PUBLIC_MODULE
