"""The refusal to subclass a shipped carrier."""

from typing import Final, NoReturn

CLOSED_CARRIER_MESSAGE: Final = (
    "{name} derives from a closed carrier implementation, which takes no subclasses; write a "
    "sibling class that derives from Carrier"
)


def reject_carrier_subclass(name: str) -> NoReturn:
    """Refuse a subclass of a closed carrier; called from its ``__init_subclass__``.

    Args:
        name: The subclass that is being created.

    Raises:
        TypeError: Always.

    Examples:
        >>> from strideweave.carriers import reject_carrier_subclass
        >>> reject_carrier_subclass("FastCPU")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: FastCPU derives from a closed carrier implementation, ...
    """
    raise TypeError(CLOSED_CARRIER_MESSAGE.format(name=name))
