"""Full, limited, read-only and vanished file systems."""

import resource
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strideweave import FileBacked
from strideweave.carriers import spans

Mount = Callable[[str], Path]
Program = Callable[..., str]


@pytest.mark.rule("C-40", "G-10", "G-3")
def test_a_full_disk_is_an_error_before_any_byte_changes(
    mount_in_memory: Mount, run_program: Program
) -> None:
    printed = run_program(
        """
        import errno, os
        from strideweave import FileBacked

        carrier = FileBacked().new_like([1.0, 2.0])
        for attempt in (lambda: carrier._allocate(2**20), lambda: carrier.allocate_like(2**20),
                        lambda: carrier.new_like([1.0] * 2**19)):
            try:
                attempt()
            except OSError as error:
                assert error.errno == errno.ENOSPC and error.filename, error
            else:
                raise AssertionError("no error")
        assert [carrier[0], carrier[1]] == [1.0, 2.0] and carrier.size() == 2
        free = os.statvfs(carrier.path).f_bavail * os.statvfs(carrier.path).f_bsize
        carrier._allocate(free // 4 - 4096)
        assert carrier[1] == 2.0 and carrier[carrier.size() - 1] == 0.0
        print(len(os.listdir(carrier.path.parent)))
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )
    assert printed == "2\n"  # the lock and one file


@pytest.mark.rule("C-40", "G-10")
def test_reserved_space_can_be_written_on_a_full_disk(
    mount_in_memory: Mount, run_program: Program
) -> None:
    run_program(
        """
        from array import array
        from pathlib import Path
        from strideweave import FileBacked
        from strideweave.carriers import spans

        carrier = FileBacked().allocate_like(2**16)
        filler = carrier.path.with_name("filler")
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        spans.write_span(carrier, 0, array("f", [1.5]) * 2**16)
        assert carrier[2**16 - 1] == 1.5
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )


@pytest.mark.rule("G-10", "C-57")
def test_no_room_for_a_directory(mount_in_memory: Mount, run_program: Program) -> None:
    point = mount_in_memory("size=1m,nr_inodes=2")
    run_program(
        """
        import errno
        from strideweave import FileBacked

        for _ in range(2):
            try:
                FileBacked()
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
            else:
                raise AssertionError("no error")
        """,
        TMPDIR=str(point),
    )
    assert list(point.iterdir()) == []


@pytest.fixture
def small_files() -> Any:
    """Let this process extend files to 100 bytes at most, for the time of the test."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.rule("C-40", "G-10", "G-3")
def test_a_file_size_limit_is_an_error(small_files: Callable[[], None]) -> None:
    carrier = FileBacked().new_like([1.0])
    small_files()
    with pytest.raises(OSError, match="File too large") as failure:
        carrier._allocate(26)
    assert failure.value.filename == str(carrier.path)
    assert carrier.size() == 1 and carrier[0] == 1.0
    carrier._allocate(25)
    assert carrier.size() == 25


@pytest.mark.rule("C-40", "G-10", "C-28")
def test_a_write_that_the_system_cuts_short_is_an_error(small_files: Callable[[], None]) -> None:
    carrier = FileBacked().allocate_like(30)
    small_files()
    with pytest.raises(OSError, match="File too large"):
        spans.write_span(carrier, 0, array("f", [1.0] * 30))
    assert carrier[24] == 1.0 and carrier[25] == 0.0  # 100 bytes were taken
    with pytest.raises(OSError, match="File too large"):
        carrier[29] = 1.0
    assert carrier.version == 0 and carrier[29] == 0.0


@pytest.mark.rule("G-10")
def test_a_read_only_temporary_directory(mount_in_memory: Mount, run_program: Program) -> None:
    run_program(
        """
        import errno, os, tempfile
        from strideweave import FileBacked

        tempfile.tempdir = os.environ["POINT"]
        try:
            FileBacked()
        except OSError as error:
            assert error.errno == errno.EROFS and os.environ["POINT"] in error.filename
        else:
            raise AssertionError("no error")
        """,
        POINT=str(mount_in_memory("size=1m,ro")),
    )


@pytest.mark.rule("G-10", "C-29")
def test_a_file_that_cannot_be_deleted_stays_usable(
    mount_in_memory: Mount, run_program: Program
) -> None:
    """A read-only view is mounted over the directory, through which nothing can be deleted."""
    run_program(
        """
        import errno, subprocess
        from strideweave import FileBacked

        carrier = FileBacked().new_like([1.0, 2.0])
        directory = carrier.path.parent
        subprocess.run(["mount", "--bind", directory, directory], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True)
        try:
            carrier.release()
        except OSError as error:
            assert error.errno == errno.EROFS and error.filename == str(carrier.path)
        else:
            raise AssertionError("no error")
        assert not carrier.is_released() and carrier[1] == 2.0
        carrier[1] = 5.0
        subprocess.run(["umount", directory], check=True)
        assert carrier.path.exists() and carrier[1] == 5.0
        carrier.release()
        assert carrier.is_released() and not carrier.path.exists()
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )


@pytest.mark.rule("G-10", "C-60")
def test_a_directory_that_was_removed_is_replaced(run_program: Program, tmp_path: Path) -> None:
    run_program(
        """
        import shutil
        from strideweave import FileBacked

        carrier = FileBacked().new_like([1.0, 2.0])
        shutil.rmtree(carrier.path.parent)
        carrier[0] = 5.0
        assert [carrier[0], carrier[1]] == [5.0, 2.0]
        another = carrier.new_like([3.0])
        assert another[0] == 3.0 and another.path.exists()
        assert another.path.parent != carrier.path.parent
        carrier.release()
        """,
        TMPDIR=str(tmp_path),
    )
    assert list(tmp_path.iterdir()) == []
