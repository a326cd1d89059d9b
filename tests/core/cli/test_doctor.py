"""``strideweave doctor``."""

import platform
from importlib.metadata import version
from typing import Any

import pytest

from strideweave.carriers.operation_policy import resolvable_plans

CORE = version("strideweave-core")
UNAVAILABLE = """
import strideweave as sw
from strideweave.carriers.operation_capability import *
from strideweave.carriers.operation_policy import resolve_operation_plan

class Gpu(sw.Carrier):
    def __init__(self, slots, *, dtype, mutable):
        raise RuntimeError("no device was found")

RELU = resolve_operation_plan("relu", sw.DType.Float32)
register_operation_capabilities(Gpu, [sw.OperationCapability.from_plan(RELU)])
"""
FORGETFUL = """
import strideweave as sw
from strideweave.carriers.extension import *
from strideweave.operation import operation_definition

class Forgetful(sw.Carrier): ...

def allocate(carrier, slots):
    carrier.cells = [0.0] * slots

storage = StorageProvider(
    supports_dtype=lambda carrier, dtype: dtype is sw.DType.Float32,
    physical_size=lambda carrier: len(carrier.cells),
    allocate=allocate,
    release=lambda carrier: allocate(carrier, 0),
    read=lambda carrier, index: carrier.cells[index],
    write=lambda carrier, index, value: None,
)
kernels = KernelProvider(
    KernelExecutionInterface("1"), [reference_pattern(operation_definition("relu"))]
)
register_carrier_definition(Forgetful, CarrierDefinition(storage, kernels))
"""


def section(output: str, title: str) -> dict[str, str]:
    """Give the rows below a title, by subject."""
    _, _, rest = output.partition(f"\n{title}\n")
    rows: dict[str, str] = {}
    for line in rest.splitlines():
        if not line.startswith("  "):
            break
        subject, _, state = line.strip().partition("  ")
        rows[subject] = state.strip()
    return rows


def test_reports_versions_and_the_machine(ask: Any, shelf: Any) -> None:
    answer = ask("doctor")
    assert answer.output.startswith(
        f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}\n"
    )
    assert section(answer.output, "layers")["strideweave-core"] == CORE
    assert section(answer.output, "libraries")["pytest"] == version("pytest")
    assert {*section(answer.output, "devices")} == {"processor", "block devices"}


def test_an_installation_without_carriers_is_no_problem(ask: Any, shelf: Any) -> None:
    answer = ask("doctor")
    assert answer.status == 0
    assert "\ncarriers\n  none\n" in answer.output
    assert answer.output.endswith("\nno problems\n")


@pytest.mark.rule("C-85")
def test_tries_carriers_on_values(ask: Any, shelf: Any) -> None:
    shelf.carrier("ArrayCarrier", "from strideweave.testing import ArrayCarrier\n")
    shelf.carrier("Slab", "import strideweave as sw\nclass Slab(sw.Carrier): ...\n")
    shelf.carrier("Over", "import strideweave as sw\nclass Over(sw.DependentCarrier): ...\n")
    answer = ask("doctor")
    assert answer.status == 0
    assert section(answer.output, "carriers") == {
        "ArrayCarrier": f"ok, computes {len(resolvable_plans())} plans",
        "Over": "ok, built over other carriers",
        "Slab": "ok, stores only, not tried",
    }


def test_an_absent_device_is_reported_and_no_problem(ask: Any, shelf: Any) -> None:
    shelf.carrier("Gpu", UNAVAILABLE)
    answer = ask("doctor")
    assert answer.status == 0
    assert section(answer.output, "carriers") == {
        "Gpu": "unavailable: RuntimeError: no device was found"
    }


@pytest.mark.parametrize("ending", ["SystemExit(9)", "SystemExit"])
def test_a_constructor_that_ends_the_process_does_not_end_the_report(
    ending: str, ask: Any, shelf: Any
) -> None:
    shelf.carrier("Gpu", UNAVAILABLE.replace('RuntimeError("no device was found")', ending))
    answer = ask("doctor")
    assert answer.status == 0
    assert section(answer.output, "carriers")["Gpu"].startswith("unavailable: SystemExit")


def test_wrong_values_are_a_problem(ask: Any, shelf: Any) -> None:
    shelf.carrier("Forgetful", FORGETFUL)
    answer = ask("doctor")
    assert answer.status == 1
    assert section(answer.output, "carriers") == {"Forgetful": "broken"}
    assert answer.output.endswith(
        "\nproblems\n  carrier Forgetful fails on four values: wrote [-1.0, 2.0, 0.5, -4.0], read "
        "[0.0, 0.0, 0.0, 0.0]\n"
    )


def test_a_carrier_that_cannot_be_imported_is_a_problem(ask: Any, shelf: Any) -> None:
    shelf.carrier("Broken", "import absent_driver\n")
    answer = ask("doctor")
    assert answer.status == 1
    assert answer.output.endswith(
        "\nproblems\n  carrier Broken of plugin-broken 2.0 cannot be imported: "
        "ModuleNotFoundError: No module named 'absent_driver'\n"
    )


@pytest.mark.rule("C-1")
def test_layers_of_another_version_are_a_problem(ask: Any, shelf: Any) -> None:
    shelf.distribution("strideweave-tiered", "9.9")
    answer = ask("doctor")
    assert answer.status == 1
    assert section(answer.output, "layers")["strideweave-tiered"] == "9.9"
    assert answer.output.endswith(
        f"\nproblems\n  strideweave-tiered 9.9 does not fit strideweave-core {CORE}: "
        f"python -m pip install 'strideweave-tiered=={CORE}'\n"
    )
