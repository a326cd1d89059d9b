"""KernelExecutionInterface: the execution context that the kernels of one carrier class share."""

import inspect
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, NoReturn

from strideweave.carriers.extension.validation import require_instance, require_name


@dataclass(frozen=True, eq=False)
class KernelExecutionInterface:
    """Execution context of one carrier class, and the version its kernels are compatible with.

    Kernels fit when ``(type(interface), interface.version)`` is the same. A subclass adds what
    its kernels need, such as a device, a stream or an addressing helper, either as a frozen
    dataclass or by assigning attributes in ``__init__``. Every attribute is set once and never
    changes; interfaces compare by identity.

    Attributes:
        version: A non-empty string.

    Raises:
        TypeError: ``version`` is not a string.
        ValueError: ``version`` is empty.

    Examples:
        >>> from strideweave import KernelExecutionInterface
        >>> class Queue(KernelExecutionInterface):
        ...     def __init__(self, version, device):
        ...         super().__init__(version)
        ...         self.device = device
        >>> Queue("1", "gpu0").device
        'gpu0'
    """

    version: str

    def __post_init__(self) -> None:
        version = require_name(self.version, f"{type(self).__qualname__}: version")
        object.__setattr__(self, "version", version)


def _set_once(self: KernelExecutionInterface, name: str, value: Any) -> None:
    declared = inspect.getattr_static(type(self), name, None)
    is_set = name in self.__dict__ or (inspect.ismemberdescriptor(declared) and hasattr(self, name))
    if is_set or type(self) is KernelExecutionInterface:
        raise FrozenInstanceError(f"{type(self).__qualname__}.{name} is read-only")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: KernelExecutionInterface, name: str) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__qualname__}.{name} is read-only")


# A frozen dataclass accepts no such methods in its body; its own ones let a subclass's attributes
# change at any time.
type.__setattr__(KernelExecutionInterface, "__setattr__", _set_once)
type.__setattr__(KernelExecutionInterface, "__delattr__", _refuse_deletion)


def require_interface(value: object, field: str) -> KernelExecutionInterface:
    """Refuse anything but an initialized interface.

    Returns:
        The value.

    Raises:
        TypeError: It is no KernelExecutionInterface, or its base initializer never ran.
    """
    if not isinstance(value, KernelExecutionInterface):
        require_instance(value, KernelExecutionInterface, field)
    elif isinstance(getattr(value, "version", None), str):
        return value
    raise TypeError(
        f"{field} is a {type(value).__qualname__} without a version: its __init__ must call "
        "super().__init__(version)"
    )


def are_compatible(given: KernelExecutionInterface, expected: KernelExecutionInterface) -> bool:
    """Tell whether prepared work, a pack and a provider fit: same exact type, same version."""
    return type(given) is type(expected) and given.version == expected.version
