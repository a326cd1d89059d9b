"""Names that distributions above strideweave-core provide."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Final

MOVE_OPERATIONS: Final = {
    "BlockDeviceToCpuMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
    "CpuToBlockDeviceMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
    "CpuToFileBackedMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
    "CpuToMetalMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
    "FileBackedToCpuMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
    "MetalToCpuMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
    "MetalToMetalMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
}
"""Move operations of concrete carriers: the module and the distribution of each, by name."""


def load_optional(package: str, name: str, optional: Mapping[str, tuple[str, str]]) -> object:
    """Import a name from the layer that defines it.

    Args:
        package: The package that was asked for the name.
        name: The name.
        optional: For each name the module that defines it and the distribution that ships it.

    Returns:
        The object of that name.

    Raises:
        AttributeError: If no layer defines the name.
        ModuleNotFoundError: If the distribution is not installed; the message names it.
    """
    if name not in optional:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, distribution = optional[name]
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise  # the layer is installed; something it needs is not
        # An AttributeError would turn `from package import name` into a bare "cannot import name".
        text = f"{package}.{name} is provided by the distribution {distribution!r}, "
        text += f"which is not installed: python -m pip install {distribution}"
        raise ModuleNotFoundError(text, name=module) from None


def present_names(optional: Mapping[str, tuple[str, str]]) -> set[str]:
    """Name those of the optional names whose layer is installed."""
    return {name for name, (module, _) in optional.items() if find_spec(module)}
