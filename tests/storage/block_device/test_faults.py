"""A transfer that started and failed: the device is out of use, and its carriers are kept."""

import errno
import gc
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from strideweave import DType
from strideweave.carriers import spans

Open = Callable[..., Any]

SITES: list[tuple[str, Callable[[Any], Any], int]] = [
    ("_pread_into", lambda carrier: carrier[0], 0),
    ("_pread_into", lambda carrier: spans.read_span(carrier, 0, array("f", [0] * 600)), 0),
    ("_pwrite_from", lambda carrier: carrier.set_value(0, 1.0), 1),
    ("_pwrite_from", lambda carrier: spans.write_span(carrier, 0, array("f", [0] * 600)), 1),
    ("_fdatasync", lambda carrier: spans.write_span(carrier, 0, array("f", [0] * 600)), 1),
    ("_pwrite_from", lambda carrier: carrier.new_like([1.0] * 600), 0),
    ("_fdatasync", lambda carrier: carrier.new_like([1.0]), 0),
    ("_pwrite_from", lambda carrier: carrier.device.allocate(600), 0),
    ("_fdatasync", lambda carrier: carrier.allocate_like(1), 0),
    ("_fsync", lambda carrier: carrier.device.flush(), 0),
]


class Interrupted(KeyboardInterrupt): ...


@pytest.mark.rule("B-27", "B-37", "B-30", "B-22", "G-3", "G-10")
@pytest.mark.parametrize(("name", "act", "versions"), SITES)
@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "gone"), OSError(errno.ENOSPC, "full"), Interrupted()]
)
@pytest.mark.parametrize("direct", [True, False])
def test_a_failure_at_each_call(
    open_device: Open,
    device_calls: Any,
    name: str,
    act: Callable[[Any], Any],
    versions: int,
    error: BaseException,
    direct: bool,
) -> None:
    device = open_device(direct=direct)
    carrier, other = device.allocate(700, empty=True), device.allocate(3, empty=True)
    device_calls.plan[name] = [error]
    with pytest.raises(type(error)) as failure:
        act(carrier)
    assert failure.value is error and not device_calls.plan[name]
    if isinstance(error, OSError):
        assert failure.value.filename == device.path  # type: ignore[attr-defined]
    assert device.is_faulted() and not device.is_closed()
    assert (carrier.version, other.version) == (versions, 0)
    assert (carrier.size(), carrier.extent_bytes, carrier.device_offset_bytes) == (700, 4096, 0)
    assert (other.size(), other.extent_bytes, other.device_offset_bytes) == (3, 4096, 4096)


@pytest.mark.rule("B-27", "G-9")
@pytest.mark.parametrize(("name", "act", "versions"), SITES[:4])
def test_a_failure_after_some_bytes(
    open_device: Open, device_calls: Any, name: str, act: Callable[[Any], Any], versions: int
) -> None:
    device = open_device()
    carrier = device.allocate(700, empty=True)
    device_calls.plan[name] = [3, OSError(errno.EIO, "gone")]
    with pytest.raises(OSError, match="gone"):
        act(carrier)
    assert device.is_faulted() and carrier.version == versions


def refusals(carrier: Any) -> list[Callable[[], Any]]:
    return [
        lambda: carrier[0],
        lambda: carrier.get_value(1),
        lambda: carrier.set_value(0, 1.0),
        lambda: spans.read_span(carrier, 0, array("f", [0])),
        lambda: spans.write_span(carrier, 0, array("f", [0])),
        lambda: carrier.new_like([1.0]),
        lambda: carrier.allocate_like(0),
        lambda: carrier.device.allocate(1, empty=True),
        lambda: carrier.device.flush(),
    ]


@pytest.mark.rule("B-29", "B-30", "B-39", "B-41")
def test_what_a_faulted_device_still_does(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier, other = device.allocate(5), device.allocate(2)
    device_calls.plan["_pread_into"] = [OSError(errno.EIO, "gone")]
    with pytest.raises(OSError, match="gone"):
        carrier[0]
    device_calls.take()
    for refused in refusals(carrier):
        with pytest.raises(RuntimeError, match=r"faulted.*open the device again"):
            refused()
    assert carrier.version == 0
    assert (carrier.size(), carrier.device_offset_bytes, carrier.extent_bytes) == (5, 0, 4096)
    assert carrier.device is device and carrier.dtype() is DType.Float32
    assert (
        carrier.is_mutable() and not carrier.is_owned() and carrier.operation_capabilities() == ()
    )
    carrier.release()
    carrier.release()
    assert (carrier.size(), carrier.device_offset_bytes, carrier.extent_bytes) == (0, 0, 0)
    assert device.is_faulted()
    del carrier, other, refused
    gc.collect()  # the frames of the errors above know the carrier
    device.close()
    assert device.is_closed() and device.is_faulted() and not device_calls.log


@pytest.mark.rule("B-27", "B-28")
def test_a_failure_before_the_transfer_does_not_fault(
    open_device: Open, device_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_device()
    carrier = device.allocate(5)

    def interrupt(*arguments: Any) -> None:
        raise Interrupted

    monkeypatch.setattr(type(carrier), "_increment_version", interrupt)
    with pytest.raises(Interrupted):
        carrier[0] = 1.0
    assert not device.is_faulted() and carrier.version == 0


@pytest.mark.rule("B-27", "B-30")
def test_another_device_is_not_concerned(open_device: Open, device_calls: Any) -> None:
    first, second = open_device(), open_device()
    carrier, healthy = first.allocate(1), second.allocate(1)
    device_calls.plan["_pread_into"] = [OSError(errno.EIO, "gone")]
    with pytest.raises(OSError, match="gone"):
        carrier[0]
    assert healthy[0] == 0.0 and not second.is_faulted()
