"""What is installed on this machine, what works and what is missing."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import (
    capabilities_for_carrier_class,
    supports_operation_plan,
)
from strideweave.cli.instances import new_instance
from strideweave.cli.loading import candidates, is_dependent, one_line
from strideweave.dtype import DType
from strideweave.functional import relu
from strideweave.layout.layout import Layout
from strideweave.operation.policy import resolve_operation_plan
from strideweave.tensor.tensor import Tensor

CORE: Final = "strideweave-core"
LAYERS: Final = (CORE, "strideweave-storage", "strideweave-compute", "strideweave-tiered")
METAL_MODULE: Final = "strideweave.carriers.metal"
BLOCK_DEVICES: Final = Path("/sys/block")


@final
@record
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: What.
        state: How it is.
        problem: What is wrong, or None. Something optional that is missing is not wrong.
    """

    subject: str
    state: str
    problem: str | None = None


def _version_of(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def layers() -> tuple[Finding, ...]:
    """Look at the distributions of StrideWeave; all of them carry one version."""
    wanted = version(CORE)
    return tuple(_layer(distribution, wanted) for distribution in LAYERS)


def _layer(distribution: str, wanted: str) -> Finding:
    found = _version_of(distribution)
    if found is None:
        return Finding(distribution, _missing(distribution))
    if found == wanted:
        return Finding(distribution, found)
    remedy = f"python -m pip install '{distribution}=={wanted}'"
    return Finding(
        distribution, found, f"{distribution} {found} does not fit {CORE} {wanted}: {remedy}"
    )


def libraries() -> tuple[Finding, ...]:
    """Look at what the layers use; their own dependencies are not optional."""
    kit = f"{CORE}[testing]"
    wanted = [("typing-extensions", "typing-extensions")]
    wanted += [("numpy", "strideweave-storage"), ("pytest", kit), ("hypothesis", kit)]
    if find_spec(METAL_MODULE) is not None:
        wanted.append(("mlx", "strideweave-compute[metal]"))
    return tuple(
        Finding(library, _version_of(library) or _missing(provider)) for library, provider in wanted
    )


def _missing(requirement: str) -> str:
    quoted = f"'{requirement}'" if "[" in requirement else requirement
    return f"missing: python -m pip install {quoted}"


def carriers() -> tuple[Finding, ...]:
    """Import every advertised carrier and try it on four values."""
    findings = []
    for found in candidates():
        name = found.entry.name
        if found.carrier_class is None:
            problem = f"carrier {name} of {found.origin} cannot be imported: {found.failure}"
            findings.append(Finding(name, "cannot be imported", problem))
        else:
            findings.append(_tried(name, found.carrier_class))
    return tuple(findings)


def _tried(name: str, carrier_class: type[Carrier]) -> Finding:
    if is_dependent(carrier_class):
        return Finding(name, "ok, built over other carriers")
    plans = len(capabilities_for_carrier_class(carrier_class))
    does = f"computes {plans} plans" if plans else "stores only"
    try:
        carrier = new_instance(carrier_class, 4, DType.Float32)
    except TypeError:  # it is made in another way
        return Finding(name, f"ok, {does}, not tried")
    except (
        Exception,
        SystemExit,
    ) as error:  # a device may be absent, and only its carrier knows why
        return Finding(name, f"unavailable: {one_line(error)}")
    try:
        fault = _fault(carrier)
    except (Exception, SystemExit) as error:  # whatever somebody's carrier raises
        fault = one_line(error)
    if fault is None:
        return Finding(name, f"ok, {does}")
    return Finding(name, "broken", f"carrier {name} fails on four values: {fault}")


def _fault(carrier: Carrier) -> str | None:
    """Write, read and, where it is served, rectify four values."""
    given = [-1.0, 2.0, 0.5, -4.0]
    tensor = Tensor(carrier.new_like(given), 0, Layout.parse("4:1"))
    if tensor.tolist() != given:
        return f"wrote {given}, read {tensor.tolist()}"
    plan = resolve_operation_plan("relu", DType.Float32)
    if supports_operation_plan(type(carrier), plan) and relu(tensor).tolist() != [0, 2.0, 0.5, 0]:
        return f"relu of {given} gave {relu(tensor).tolist()}"
    return None


def devices() -> tuple[Finding, ...]:
    """Look at the machine."""
    processor = Finding("processor", f"{os.cpu_count()} logical CPUs")
    return processor, Finding("block devices", _block_devices())


def _block_devices() -> str:
    try:
        nodes = [Path("/dev") / entry.name for entry in BLOCK_DEVICES.iterdir()]
    except OSError:
        return f"not listed on {platform.system()}"
    usable = sum(node.is_block_device() and os.access(node, os.R_OK | os.W_OK) for node in nodes)
    return f"{len(nodes)}, {usable} of them writable by this user"
