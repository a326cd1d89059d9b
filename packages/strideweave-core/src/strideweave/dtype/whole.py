"""The marker of a block that spans a whole level."""

from typing import Final, final

from strideweave.dtype.public_module import PUBLIC_MODULE


@final
class WholeExtent:
    """The type of ``Whole``, the block that covers every coordinate of the level below it.

    There is exactly one instance; constructing, copying and unpickling return it.

    Examples:
        >>> from strideweave.carriers.dtype import Whole, WholeExtent
        >>> WholeExtent() is Whole
        True
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ()

    _instance: "WholeExtent | None" = None

    def __new__(cls) -> "WholeExtent":
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __copy__(self) -> "WholeExtent":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "WholeExtent":
        return self

    def __reduce__(self) -> tuple[type["WholeExtent"], tuple[()]]:
        return (WholeExtent, ())

    def __repr__(self) -> str:
        return "Whole"


Whole: Final = WholeExtent()
"""The one ``WholeExtent``: a block that spans its whole level."""
