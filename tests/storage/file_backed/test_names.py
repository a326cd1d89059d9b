"""The files of FileBacked: names, places and removal."""

import gc
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from strideweave import DType, FileBacked
from strideweave.carriers import CLOSED_CARRIER_MESSAGE


@pytest.mark.rule("C-57")
def test_a_generated_name_is_unique() -> None:
    first, second = FileBacked(), FileBacked(None)
    assert first.path != second.path and first.path.parent == second.path.parent
    assert first.path.is_file() and first.size() == 0


@pytest.mark.rule("C-57")
def test_a_given_name_is_used() -> None:
    carrier = FileBacked("weights.bin")
    assert carrier.path.name == "weights.bin"
    carrier.release()


@pytest.mark.rule("C-57", "50/E-14")
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a/", "a\\b", "a\0"])
def test_only_a_bare_name_is_taken(name: str) -> None:
    with pytest.raises(ValueError, match="bare file name"):
        FileBacked(name)


@pytest.mark.rule("C-57")
@pytest.mark.parametrize("name", [3, b"a", Path("a")])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(TypeError, match=r"FileBacked: filename must be a str or None, got"):
        FileBacked(name)


@pytest.mark.rule("C-57", "50/E-14")
def test_an_existing_file_is_never_opened() -> None:
    carrier = FileBacked("taken.bin")
    carrier._allocate(2)
    carrier[0] = 1.5
    with pytest.raises(FileExistsError, match=r"taken\.bin"):
        FileBacked("taken.bin")
    assert [carrier[0], carrier[1]] == [1.5, 0.0] and carrier.path.stat().st_size == 8
    carrier.release()
    FileBacked("taken.bin").release()


@pytest.mark.rule("C-57", "D-43")
def test_the_dtype_is_checked_before_a_file_exists() -> None:
    directory = FileBacked().path.parent
    before = set(directory.iterdir())
    with pytest.raises(ValueError, match="FileBacked cannot store"):
        FileBacked("never.bin", dtype=DType.Float64)
    with pytest.raises(TypeError, match="FileBacked dtype must be a DType"):
        FileBacked("a/b", dtype="f")  # type: ignore[arg-type]
    assert set(directory.iterdir()) <= before


@pytest.mark.rule("C-58", "S-17")
def test_files_lie_in_one_hidden_directory_of_the_process() -> None:
    directory = FileBacked().path.parent
    assert directory.parent == Path(tempfile.gettempdir())
    assert re.fullmatch(r"\.strideweave-filebacked-[0-9a-f]+", directory.name)
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.rule("C-57")
def test_the_lock_file_is_not_for_the_taking() -> None:
    (lock,) = (path for path in FileBacked().path.parent.iterdir() if "lock" in path.name)
    with pytest.raises(FileExistsError):
        FileBacked(lock.name)


@pytest.mark.rule("C-60", "50/E-14")
def test_release_deletes_the_file() -> None:
    carrier = FileBacked()
    carrier._allocate(3)
    path = carrier.path
    carrier.release()
    carrier.release()
    assert not path.exists() and carrier.path == path and carrier.size() == 0


@pytest.mark.rule("C-60")
def test_collection_deletes_the_file() -> None:
    carrier = FileBacked()
    path = carrier.path
    carrier.itself = carrier  # type: ignore[attr-defined]  # carriers take any attribute
    del carrier
    gc.collect()
    assert not path.exists()


@pytest.mark.rule("C-60")
def test_collection_after_release_leaves_a_new_file_of_that_name_alone() -> None:
    first = FileBacked("again.bin")
    first.release()
    second = FileBacked("again.bin")
    del first
    gc.collect()
    assert second.path.exists()
    second.release()


@pytest.mark.rule("C-60")
def test_a_file_that_is_gone_can_be_released() -> None:
    carrier = FileBacked().new_like([1.0, 2.0])
    carrier.path.unlink()
    assert carrier[1] == 2.0
    carrier.release()
    assert carrier.is_released()


@pytest.mark.rule("C-5")
def test_file_backed_is_closed() -> None:
    with pytest.raises(TypeError, match=re.escape(CLOSED_CARRIER_MESSAGE.format(name="Sub"))):
        type("Sub", (FileBacked,), {})
    assert getattr(FileBacked, "__final__", False) is True
