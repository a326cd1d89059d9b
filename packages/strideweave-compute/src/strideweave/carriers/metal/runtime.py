"""MLX, which the first construction of a Metal carrier loads, and the device that it runs on."""

import os
import platform
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Final, final

from strideweave._fork import hold_across_fork, was_imported_before_fork
from strideweave._record import record

if TYPE_CHECKING:
    import mlx.core as mx

VARIABLE: Final = "STRIDEWEAVE_METAL_DEVICE"
"""The environment variable that chooses the device of a process."""

_CORE: Final = "mlx.core"
_INSTALLATION = "pip install 'strideweave-compute[metal]'"


@final
@record
class Runtime:
    """MLX in this process.

    Attributes:
        core: The module ``mlx.core``.
        device: Where every call runs whose results do not need another device.
        version: Version of MLX.
    """

    core: ModuleType
    device: "mx.Device"
    version: str


_lock = RLock()
_loaded: Runtime | None = None
hold_across_fork(_lock)


def load() -> Runtime:
    """Load MLX, once per process; a failed attempt leaves nothing behind.

    Returns:
        MLX on the device that the environment chooses.

    Raises:
        RuntimeError: The choice is none, the device cannot exist here, or MLX is not installed, not
            importable or without that device; or the process was forked from one that had imported
            it.
    """
    global _loaded
    if is_lost():
        raise RuntimeError(
            "Metal: this process was forked from one that had imported MLX, whose threads a fork "
            "lacks; start processes with multiprocessing's 'spawn' method, or copy values to CPU "
            "before the fork"
        )
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def is_lost() -> bool:
    """Tell whether this process was forked from one that had imported MLX, whose threads it lacks.

    It does not matter who imported it.
    """
    return was_imported_before_fork(_CORE)


def _load() -> Runtime:
    choice = os.environ.get(VARIABLE, "gpu")
    if choice not in ("gpu", "cpu"):
        raise RuntimeError(f"Metal: {VARIABLE} must be 'gpu' or 'cpu', got {choice!r}")
    system, machine = platform.system(), platform.machine()
    if choice == "gpu" and (system, machine) != ("Darwin", "arm64"):
        raise RuntimeError(
            f"Metal: a Metal GPU needs macOS on arm64, this is {system} on {machine}; set "
            f"{VARIABLE}=cpu to compute on MLX's CPU device ({_INSTALLATION})"
        )
    core = _imported_core()
    if choice == "cpu":
        return Runtime(core, core.cpu, core.__version__)
    if not core.metal.is_available():
        raise RuntimeError(
            f"Metal: MLX {core.__version__} finds no Metal GPU on this machine; set {VARIABLE}=cpu "
            "to compute on MLX's CPU device"
        )
    return Runtime(core, core.gpu, core.__version__)


def _imported_core() -> ModuleType:
    missing = f"Metal needs the package 'mlx', which {{}}: {_INSTALLATION}"
    if find_spec("mlx") is None:
        raise RuntimeError(missing.format("is not installed"))
    # Where a build of MLX would multiply matrices in fewer bits, this turns it off.
    os.environ["MLX_ENABLE_TF32"] = "0"
    try:
        return import_module(_CORE)
    except Exception as error:
        raise RuntimeError(missing.format(f"could not be imported ({error})")) from error


def submit(*arrays: "mx.array") -> None:
    """Start computing arrays, in the thread that built them; nobody else could."""
    load().core.async_eval(*arrays)


def _complete(*arrays: "mx.array") -> None:
    """Wait until arrays, submitted by any thread, hold their values; nothing else waits."""
    load().core.eval(*arrays)
