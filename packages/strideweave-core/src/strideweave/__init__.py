"""Public names of all layers. Only strideweave-core ships this file."""

from importlib import import_module
from pkgutil import extend_path
from typing import Any

__path__ = extend_path(__path__, __name__)  # editable layers live in other folders

_SOURCES = [
    f"strideweave.{part}"
    for part in (
        "layout tensor operation functional autograd carriers carriers.extension carriers.dtype "
        "carriers.operation_capability carriers.operation_policy carriers.generic carriers.cpu module nn"
    ).split()
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    for source in _SOURCES:
        try:
            module = import_module(source)
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("strideweave"):
                raise
            continue
        if name in vars(module):
            return vars(module)[name]
    try:
        return import_module(f"strideweave.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
