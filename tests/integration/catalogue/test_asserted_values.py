"""The values that tests/core/ops asserts on ArrayCarrier hold on every carrier that computes.

The tests are loaded from there and run with the fixtures of this folder, so that a value is
written once.
"""

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

CORE = Path(__file__).parents[2] / "core/ops"
TENSORS = {"f", "i", "b"}  # the fixtures that make Tensors
NO_VALUES = {"test_definitions"}
SUMS_IN_THE_ORDER_OF_THE_REFERENCE = {
    "test_matmul__float64_accumulator",
    "test_matmul__gradient_sums_use_the_same_accumulator",
}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"catalogue_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for path in sorted(CORE.glob("test_*.py")):
    if path.stem in NO_VALUES:
        continue
    for name, function in vars(load(path)).items():
        title = f"{path.stem}__{name.removeprefix('test_')}"
        if (
            name.startswith("test_")
            and title not in SUMS_IN_THE_ORDER_OF_THE_REFERENCE
            and TENSORS & {*inspect.signature(function).parameters}
        ):
            globals()[title] = function


def test_the_catalogue_is_loaded() -> None:
    modules = {name.split("__")[0] for name in globals() if name.startswith("test_")}
    assert modules >= {"test_arithmetic", "test_unary", "test_reductions", "test_ordering"}
