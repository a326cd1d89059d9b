"""A module that is imported when one of its attributes is first used."""

from importlib import import_module
from typing import Any, final


@final
class LateModule:
    """Stands for a module of a higher room, which itself imports the module that uses it.

    Neither order of importing the two works at import time; at call time both are complete.
    Declare the real module for type checkers next to it::

        if TYPE_CHECKING:
            import strideweave.functional as functional
        else:
            functional = LateModule("strideweave.functional")

    Args:
        name: The absolute name of the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        self.__dict__[attribute] = value  # the next use is a plain attribute
        return value
