"""BlockDevice(path): what is examined, in which order, and what is refused."""

import copy
import errno
import itertools
import os
import pickle
import platform
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import strideweave
from strideweave import BlockDevice, BlockDeviceCarrier
from strideweave.carriers.block_device import geometry, system

fcntl = pytest.importorskip("fcntl")

Attach = Callable[..., tuple[str, Path]]


class Node:
    """A pretended block device behind the system calls that open and examine one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.answers: dict[int, bytes] = {
            0x80081272: struct.pack("Q", 2**20),
            0x1268: struct.pack("i", 512),
            0x127B: struct.pack("I", 4096),
            0x125E: struct.pack("i", 0),
            0x40046418: struct.pack("I", 512),
            0x40086419: struct.pack("Q", 2**11),
            0x4004644D: struct.pack("I", 4096),
        }
        self.failing = 0
        self.requests: list[int] = []
        self.opened: list[int] = []
        self.flags: list[int] = []
        self.commands: list[tuple[int, int]] = []
        self.system = "Linux"
        self.path = str(path)
        path.write_bytes(bytes(2**20))
        self._open, self._fstat = os.open, os.fstat
        monkeypatch.setattr(os, "open", self.open)
        monkeypatch.setattr(os, "fstat", self.fstat)
        monkeypatch.setattr(fcntl, "ioctl", self.ioctl)
        monkeypatch.setattr(fcntl, "fcntl", self.fcntl)
        monkeypatch.setattr(platform, "system", lambda: self.system)

    def open(self, path: Any, flags: int, *arguments: Any, **keywords: Any) -> int:
        if path != self.path:
            return self._open(path, flags, *arguments, **keywords)
        self.flags.append(flags)
        self.opened.append(self._open(path, flags & ~os.O_DIRECT))
        return self.opened[-1]

    def fstat(self, descriptor: int) -> Any:
        found = self._fstat(descriptor)
        if descriptor not in self.opened:
            return found
        return SimpleNamespace(st_mode=stat.S_IFBLK | 0o600, st_rdev=1793, st_size=0)

    def ioctl(self, descriptor: int, request: int, argument: bytes) -> bytes:
        assert descriptor in self.opened
        self.requests.append(request)
        if request == self.failing:
            raise OSError(errno.ENOTTY, "not so")
        answer = self.answers[request]
        assert len(answer) == len(argument)
        return answer

    def fcntl(self, descriptor: int, command: int, argument: int = 0) -> int:
        self.commands.append((command, argument))
        return 0

    def leaks(self) -> list[int]:
        """Give the descriptors that are still open."""
        found = []
        for descriptor in self.opened:
            try:
                self._fstat(descriptor)
                found.append(descriptor)
            except OSError:
                pass
        return found


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Node:
    return Node(monkeypatch, tmp_path / "node")


class Spelled:
    """A path that counts how often it is asked for its spelling."""

    def __init__(self, spelling: Any) -> None:
        self.spelling = spelling
        self.asked = 0

    def __fspath__(self) -> Any:
        self.asked += 1
        if isinstance(self.spelling, Exception):
            raise self.spelling
        return self.spelling


@pytest.mark.rule("B-1", "R-26")
@pytest.mark.parametrize("name", ["BlockDevice", "BlockDeviceCarrier"])
def test_both_classes_are_reached_by_three_paths(name: str) -> None:
    paths = (strideweave, strideweave.carriers, strideweave.carriers.block_device)
    assert len({id(getattr(path, name)) for path in paths}) == 1


@pytest.mark.rule("B-2", "C-5")
def test_the_carrier_is_closed_and_final() -> None:
    with pytest.raises(TypeError, match=r"^X .*closed carrier implementation"):
        type("X", (BlockDeviceCarrier,), {})
    assert BlockDeviceCarrier.__final__ is True  # type: ignore[attr-defined]


@pytest.mark.rule("B-2")
@pytest.mark.parametrize("arguments", [(), (3,), (3, "x")])
def test_the_carrier_class_is_not_called(arguments: Any) -> None:
    with pytest.raises(TypeError, match=r"BlockDevice\.allocate"):
        BlockDeviceCarrier(*arguments)


@pytest.mark.rule("B-3", "B-4", "B-5", "B-7")
def test_geometry_on_linux(node: Node) -> None:
    spelled = Spelled(node.path)
    device = BlockDevice(spelled, direct=False)
    assert spelled.asked == 1 and device.path is node.path
    assert (device.capacity_bytes, device.logical_block_size) == (2**20, 512)
    assert (device.physical_block_size, device.allocation_alignment) == (4096, 4096)
    assert not device.is_closed() and not device.is_faulted() and not device.direct_io
    assert node.flags == [os.O_RDWR | os.O_CLOEXEC]
    assert {0x80081272, 0x1268, 0x127B} <= set(node.requests)
    node.answers[0x80081272] = struct.pack("Q", 0)  # what shrinks later changes nothing
    assert device.capacity_bytes == 2**20


@pytest.mark.rule("B-6")
def test_geometry_on_macos(node: Node) -> None:
    node.system = "Darwin"
    device = BlockDevice(node.path)
    assert (device.capacity_bytes, device.logical_block_size) == (2**20, 512)
    assert device.physical_block_size == 4096
    assert node.requests == [0x40046418, 0x40086419, 0x4004644D]
    assert device.direct_io and node.commands == [(48, 1)]  # F_NOCACHE
    assert node.flags == [os.O_RDWR | os.O_CLOEXEC] * 2


@pytest.mark.rule("B-3")
def test_a_path_is_kept_verbatim(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(node.path).parent)
    node.path = "../" + Path(node.path).parent.name + "/node"
    assert BlockDevice(Spelled(node.path), direct=False).path == node.path


@pytest.mark.rule("B-7")
def test_the_larger_block_size_aligns(node: Node) -> None:
    node.answers[0x127B] = struct.pack("I", 512)
    assert BlockDevice(node.path, direct=False).allocation_alignment == 512


@pytest.mark.rule("B-3")
def test_paths_that_are_none() -> None:
    for path, kind, message in [
        (3, TypeError, "int"),
        (None, TypeError, "NoneType"),
        (Spelled(KeyError("mine")), KeyError, "mine"),
        (Spelled(3), TypeError, "str or bytes"),
        (b"/dev/loop0", TypeError, "string filesystem representation"),
        (Spelled(b"/dev/loop0"), TypeError, "string filesystem representation"),
        ("/dev/lo\0op0", ValueError, "embedded NUL"),
    ]:
        with pytest.raises(kind, match=message):
            BlockDevice(path, direct=3)  # type: ignore[arg-type]  # a later row


@pytest.mark.rule("B-3", "B-4")
@pytest.mark.parametrize("direct", [1, 0, "yes"])
def test_direct_is_exactly_a_bool(direct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Plan9")
    with pytest.raises(TypeError, match=r"direct must be True, False or None, got .*"):
        BlockDevice("/nowhere", direct=direct)


@pytest.mark.rule("B-4")
def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    with pytest.raises(NotImplementedError, match=r"Linux or macOS.*'Windows'"):
        BlockDevice("/nowhere")


@pytest.mark.rule("B-4")
def test_a_path_that_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failure:
        BlockDevice(tmp_path / "absent")
    assert failure.value.filename == str(tmp_path / "absent")


@pytest.mark.rule("B-4")
def test_other_kinds_of_nodes_are_refused_and_closed(tmp_path: Path) -> None:
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text("text")
    os.mkfifo(pipe)
    before = os.listdir("/proc/self/fd")
    for path, kind in [
        (file, "a regular file"),
        (tmp_path, "a directory"),
        (Path("/dev/null"), "a character node"),
        (pipe, "a FIFO"),
    ]:
        with pytest.raises(ValueError, match=f"block-special.*{path}.*{kind}"):
            BlockDevice(path)
    assert os.listdir("/proc/self/fd") == before and file.read_text() == "text"


@pytest.mark.rule("B-4", "B-5")
@pytest.mark.parametrize("request_code", [0x80081272, 0x1268, 0x127B, 0x125E])
def test_a_failing_ioctl_closes_the_descriptor(node: Node, request_code: int) -> None:
    node.failing = request_code
    with pytest.raises(OSError, match="not so") as failure:
        BlockDevice(node.path)
    assert failure.value.filename == node.path and node.opened and not node.leaks()


@pytest.mark.rule("B-5")
def test_a_read_only_node_is_refused(node: Node) -> None:
    node.answers[0x125E] = struct.pack("i", 1)
    with pytest.raises(OSError, match="Read-only") as failure:
        BlockDevice(node.path)
    assert failure.value.errno == errno.EROFS and failure.value.filename == node.path
    assert not node.leaks()


@pytest.mark.rule("B-5", "B-7")
@pytest.mark.parametrize(
    ("capacity", "logical", "physical"),
    [
        (0, 512, 512),
        (2**20, 0, 512),
        (2**20, -512, 512),
        (2**20, 512, 0),
        (2**20 + 1, 512, 512),
        (2**20, 512, 768),
    ],
)
def test_senseless_sizes(node: Node, capacity: int, logical: int, physical: int) -> None:
    node.answers[0x80081272] = struct.pack("Q", capacity)
    node.answers[0x1268] = struct.pack("i", logical)
    node.answers[0x127B] = struct.pack("I", physical)
    with pytest.raises(ValueError, match=f"{capacity} bytes .*{logical} .*{physical}"):
        BlockDevice(node.path)
    assert not node.leaks()


@pytest.mark.rule("B-5")
def test_a_capacity_beyond_positions(node: Node) -> None:
    node.answers[0x80081272] = struct.pack("Q", 2**63)
    with pytest.raises(OverflowError, match=r"2\*\*63 - 1"):
        BlockDevice(node.path)
    assert not node.leaks()


def no_direct_open(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Any, flags: int, *arguments: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "no direct")
        return node.open(path, flags, *arguments)

    monkeypatch.setattr(os, "open", fail)


def another_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(1)

    def fstat(descriptor: int) -> Any:
        found = node.fstat(descriptor)
        if descriptor in node.opened:
            found.st_rdev = next(numbers)
        return found

    monkeypatch.setattr(os, "fstat", fstat)


def failing_probe(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, view: Any, offset: int) -> int:
        raise OSError(errno.EINVAL, "no direct")

    monkeypatch.setattr(system, "_pread_into", fail)


def short_probe(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_pread_into", lambda *arguments: 511)


@pytest.mark.rule("B-31", "B-4")
@pytest.mark.parametrize("refusal", [no_direct_open, another_node, failing_probe, short_probe])
def test_direct_transfers_that_are_not_to_be_had(
    node: Node, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., None]
) -> None:
    refusal(node, monkeypatch)
    device = BlockDevice(node.path)
    assert not device.direct_io
    assert node.leaks() == node.opened[:1]
    with pytest.raises(OSError) as failure:
        BlockDevice(node.path, direct=True)
    assert failure.value.filename == node.path
    device.close()
    assert not node.leaks()


@pytest.mark.rule("B-31")
@pytest.mark.parametrize(("direct", "expected"), [(None, True), (True, True), (False, False)])
def test_who_asks_for_direct_transfers_gets_them(
    node: Node, monkeypatch: pytest.MonkeyPatch, direct: Any, expected: bool
) -> None:
    probes = []
    pread = system._pread_into

    def probe(descriptor: int, view: Any, offset: int) -> int:
        probes.append((descriptor, len(view), offset))
        return pread(descriptor, view, offset)

    monkeypatch.setattr(system, "_pread_into", probe)
    device = BlockDevice(node.path, direct=direct)
    assert device.direct_io is expected
    assert len(node.opened) == 1 + expected
    if expected:
        assert node.flags[1] == os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT
        assert probes == [(node.opened[1], 512, 0)]


@pytest.mark.rule("B-4")
def test_opening_writes_nothing(node: Node) -> None:
    before = Path(node.path).read_bytes()
    BlockDevice(node.path).close()
    assert Path(node.path).read_bytes() == before


@pytest.mark.rule("B-5", "B-7", "G-9")
@pytest.mark.parametrize(("options", "block"), [((), 512), (("-b", "4096"), 4096)])
def test_a_real_device(attach_block_device: Attach, options: tuple[str, ...], block: int) -> None:
    path, _ = attach_block_device(*options)
    with BlockDevice(path) as device:
        assert device.capacity_bytes == 2**26
        assert (device.logical_block_size, device.physical_block_size) == (block, block)
        assert device.allocation_alignment == block and device.direct_io


@pytest.mark.rule("B-5")
def test_a_real_read_only_device(attach_block_device: Attach) -> None:
    path, _ = attach_block_device("--read-only")
    with pytest.raises(OSError) as failure:
        BlockDevice(path)
    assert (failure.value.errno, failure.value.filename) == (errno.EROFS, path)


@pytest.mark.rule("B-5")
def test_a_real_device_that_was_set_read_only(attach_block_device: Attach) -> None:
    path, _ = attach_block_device()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, 0x125D, struct.pack("i", 1))  # BLKROSET
        with pytest.raises(OSError, match="Read-only"):
            BlockDevice(path)
    finally:
        fcntl.ioctl(descriptor, 0x125D, struct.pack("i", 0))  # outlives losetup --detach
        os.close(descriptor)


@pytest.mark.rule("B-7")
def test_alignment_is_a_fact_of_the_geometry() -> None:
    assert geometry.Geometry(2**20, 4096, 512).alignment == 4096


@pytest.mark.rule("B-2", "G-18")
def test_a_device_is_neither_copied_nor_pickled(open_device: Callable[..., Any]) -> None:
    device = open_device()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            attempt(device)
