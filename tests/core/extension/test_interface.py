"""KernelExecutionInterface: an immutable, open base."""

from dataclasses import dataclass
from typing import Any

import pytest

from strideweave import KernelExecutionInterface, KernelProvider
from strideweave.carriers.extension import PreparedKernel


class Assigned(KernelExecutionInterface):
    def __init__(self, version: str, device: str) -> None:
        super().__init__(version)
        self.device = device


@dataclass(frozen=True)
class Declared(KernelExecutionInterface):
    device: str


class Slotted(KernelExecutionInterface):
    __slots__ = ("device",)

    def __init__(self, version: str, device: str) -> None:
        super().__init__(version)
        self.device = device


@pytest.mark.rule("R-78", "R-79")
@pytest.mark.parametrize("interface_class", [Assigned, Declared, Slotted])
def test_a_subclass_adds_facilities_that_never_change(interface_class: Any) -> None:
    interface = interface_class("2", "gpu0")
    assert (interface.version, interface.device) == ("2", "gpu0")
    for name in ("version", "device"):
        with pytest.raises(AttributeError):
            setattr(interface, name, "other")
        with pytest.raises(AttributeError):
            delattr(interface, name)
    assert KernelProvider(interface).interface is interface


@pytest.mark.rule("R-78")
def test_subclasses_validate_their_version_too() -> None:
    with pytest.raises(TypeError, match="Assigned: version must be a str, got 3"):
        Assigned(3, "gpu0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Declared: version must not be empty"):
        Declared("", "gpu0")


@pytest.mark.rule("R-78")
def test_an_interface_whose_base_initializer_never_ran_is_refused() -> None:
    class Forgetful(KernelExecutionInterface):
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError, match="Forgetful without a version"):
        KernelProvider(Forgetful())
    with pytest.raises(TypeError, match=r"call super\(\).__init__\(version\)"):
        PreparedKernel(Forgetful(), lambda: None)  # type: ignore[arg-type,return-value]


@pytest.mark.rule("R-79")
def test_interfaces_compare_by_identity() -> None:
    assert KernelExecutionInterface("1") != KernelExecutionInterface("1")
