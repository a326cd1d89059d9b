"""The refusal to subclass a shipped carrier."""

from typing import Final, NoReturn

CLOSED_CARRIER_MESSAGE: Final = (
    "{name} is a closed carrier implementation; write a sibling class that derives from Carrier"
)


def reject_carrier_subclass(name: str) -> NoReturn:
    """Refuse a subclass of a closed carrier; called from its ``__init_subclass__``.

    Args:
        name: The closed class.

    Raises:
        TypeError: Always.

    Examples:
        >>> from strideweave.carriers import reject_carrier_subclass
        >>> reject_carrier_subclass("Slab")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: Slab is a closed carrier implementation; write a sibling class that derives ...
    """
    raise TypeError(CLOSED_CARRIER_MESSAGE.format(name=name))
