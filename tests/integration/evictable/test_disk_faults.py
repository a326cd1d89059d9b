"""Evictions that meet a full disk, a limit or a vanished directory."""

from collections.abc import Callable
from pathlib import Path

import pytest

Mount = Callable[[str], Path]
Program = Callable[..., str]


@pytest.mark.rule("G-10", "G-3", "C-73", "C-40")
def test_an_eviction_to_a_full_disk_fails_and_can_be_repeated(
    mount_in_memory: Mount, run_program: Program
) -> None:
    run_program(
        """
        import errno, os
        from strideweave import CPU, Evictable, FileBacked

        filler = FileBacked()
        secondary = FileBacked()
        hierarchy = Evictable(CPU(2**16), secondary)
        hierarchy[2**16 - 1] = 1.5
        filler._allocate(200_000)  # of 262,144 slots on the disk
        primary, files = hierarchy.primary, set(os.listdir(secondary.path.parent))
        for _ in range(3):
            try:
                hierarchy.evict()
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
            else:
                raise AssertionError("no error")
            assert not hierarchy.is_evicted() and hierarchy[2**16 - 1] == 1.5
            assert hierarchy.primary is primary and hierarchy.secondary is secondary
            assert primary.is_owned() and secondary.is_owned() and hierarchy.version == 1
            assert set(os.listdir(secondary.path.parent)) == files
        filler._allocate(0)
        hierarchy.evict()
        assert hierarchy.is_evicted() and secondary.is_released()
        filler._allocate(2**17)
        hierarchy.promote()
        assert hierarchy[2**16 - 1] == 1.5
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )


@pytest.mark.rule("G-10", "G-3", "C-73")
def test_a_write_that_is_cut_short_leaves_the_values_in_memory(run_program: Program) -> None:
    run_program(
        """
        import errno, resource
        from strideweave import CPU, Evictable, FileBacked

        secondary = FileBacked().allocate_like(1000)
        hierarchy = Evictable(CPU(1000), secondary)
        hierarchy[999] = 1.5
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        try:
            hierarchy.evict()
        except OSError as error:
            assert error.errno == errno.EFBIG and error.filename == str(secondary.path)
        else:
            raise AssertionError("no error")
        assert not hierarchy.is_evicted() and hierarchy[999] == 1.5
        assert hierarchy.secondary is secondary and secondary.is_owned()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        hierarchy.evict()
        assert hierarchy.secondary is secondary
        hierarchy.promote()
        assert hierarchy[999] == 1.5
        """
    )


@pytest.mark.rule("G-9", "G-3", "C-73")
def test_a_promotion_from_a_truncated_file_fails_and_can_be_repeated(run_program: Program) -> None:
    run_program(
        """
        import os
        from strideweave import CPU, Evictable, FileBacked

        hierarchy = Evictable(CPU(1000), FileBacked())
        hierarchy[0] = 1.5
        hierarchy.evict()
        file, released = hierarchy.secondary, hierarchy.primary
        os.truncate(file.path, 400)
        for _ in range(2):
            try:
                hierarchy.promote()
            except (OSError, ValueError) as error:
                assert "100 slots left" in str(error), error
            else:
                raise AssertionError("no error")
            assert hierarchy.is_evicted() and hierarchy.secondary is file and file.is_owned()
            assert hierarchy.primary is released and not file.is_released()
        os.truncate(file.path, 4000)
        hierarchy.promote()
        assert hierarchy[0] == 1.5 and hierarchy[999] == 0.0
        """
    )


@pytest.mark.rule("G-10", "C-58")
def test_an_eviction_after_the_directory_was_removed(run_program: Program, tmp_path: Path) -> None:
    run_program(
        """
        import shutil
        from strideweave import CPU, Evictable, FileBacked

        secondary = FileBacked()
        hierarchy = Evictable(CPU(10), secondary)
        hierarchy[9] = 1.5
        shutil.rmtree(secondary.path.parent)
        hierarchy.evict()
        assert hierarchy.secondary.path.exists()
        shutil.rmtree(hierarchy.secondary.path.parent)
        hierarchy.promote()
        assert hierarchy[9] == 1.5
        """,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.rule("G-10", "G-3", "C-73", "C-29")
def test_a_file_that_cannot_be_deleted_keeps_the_values_evicted(
    mount_in_memory: Mount, run_program: Program
) -> None:
    run_program(
        """
        import errno, subprocess
        from strideweave import CPU, Evictable, FileBacked

        hierarchy = Evictable(CPU(10), FileBacked())
        hierarchy[9] = 1.5
        hierarchy.evict()
        file = hierarchy.secondary
        directory = file.path.parent
        subprocess.run(["mount", "--bind", directory, directory], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True)
        try:
            hierarchy.promote()
        except OSError as error:
            assert error.errno == errno.EROFS, error
        else:
            raise AssertionError("no error")
        assert hierarchy.is_evicted() and hierarchy.secondary is file and file[9] == 1.5
        subprocess.run(["umount", directory], check=True)
        hierarchy.promote()
        assert hierarchy[9] == 1.5 and not file.path.exists()
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )
