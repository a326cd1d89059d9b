"""The directory of a process: its lock, its end, and what killed processes leave behind."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from strideweave import FileBacked
from strideweave.carriers.file_backed import session_directory

Program = Callable[..., str]

HOLD = """
import sys
from strideweave import FileBacked

carrier = FileBacked().new_like([1.0, 2.0])
print(carrier.path, flush=True)
sys.stdin.readline()
"""


@contextmanager
def holding(directory: Path) -> Iterator["tuple[subprocess.Popen[str], Path]"]:
    """Start a process that keeps one file in a temporary directory; give it and the path."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "TMPDIR": str(directory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(60)


def leftover(parent: Path, name: str = ".strideweave-filebacked-0123abcd") -> Path:
    """Make what a killed process leaves behind."""
    directory = parent / name
    directory.mkdir()
    (directory / ".owner-lock").touch()
    (directory / "values").write_bytes(bytes(8))
    return directory


def start(run_program: Program, directory: Path) -> None:
    """Use FileBacked in a fresh process."""
    run_program("from strideweave import FileBacked; FileBacked()", TMPDIR=str(directory))


@pytest.mark.rule("C-58")
def test_the_directory_goes_with_the_process(tmp_path: Path) -> None:
    with holding(tmp_path) as (process, path):
        assert path.is_file() and path.parent.parent == tmp_path
    assert process.returncode == 0 and list(tmp_path.iterdir()) == []


@pytest.mark.rule("C-58")
def test_it_goes_when_a_program_fails_and_when_it_exits_early(tmp_path: Path) -> None:
    for end in ("raise SystemExit(3)", "1 / 0"):
        program = f"from strideweave import FileBacked; carrier = FileBacked(); {end}"
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("C-58")
def test_importing_creates_nothing(run_program: Program, tmp_path: Path) -> None:
    run_program(
        """
        import os, strideweave
        assert strideweave.FileBacked and not os.listdir(os.environ["TMPDIR"])
        """,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.rule("C-58", "G-10")
def test_a_later_start_removes_what_a_killed_process_left(
    run_program: Program, tmp_path: Path
) -> None:
    with holding(tmp_path) as (process, path):
        kill(process)
        assert path.is_file()
        start(run_program, tmp_path)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("C-58", "G-10")
def test_a_live_process_keeps_its_files_whatever_their_age(
    run_program: Program, tmp_path: Path
) -> None:
    with holding(tmp_path) as (_, path):
        for entry in (path, path.parent, *path.parent.iterdir()):
            os.utime(entry, (0, 0))
        start(run_program, tmp_path)
        assert path.read_bytes() != b"" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.rule("C-58")
def test_only_an_unheld_lock_marks_a_leftover(run_program: Program, tmp_path: Path) -> None:
    dead, held = leftover(tmp_path), leftover(tmp_path, ".strideweave-filebacked-ff")
    unmarked = tmp_path / ".strideweave-filebacked-00"
    unmarked.mkdir()
    (unmarked / "values").touch()
    foreign = leftover(tmp_path, ".strideweave-filebacked-mine")
    (tmp_path / ".strideweave-filebacked-11").write_text("a file")
    with (held / ".owner-lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start(run_program, tmp_path)
    assert not dead.exists()
    assert all((kept / "values").exists() for kept in (held, unmarked, foreign))
    assert (tmp_path / ".strideweave-filebacked-11").read_text() == "a file"


@pytest.mark.rule("C-58", "G-10")
def test_an_empty_leftover_without_a_lock_goes_too(
    run_program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".strideweave-filebacked-00").mkdir()
    start(run_program, tmp_path)
    assert list(tmp_path.iterdir()) == []
    # Its owner may be about to make the lock, and then makes another directory.
    swept: list[Path] = []
    mkdir = os.mkdir

    def swept_first(path: Path, mode: int) -> None:
        mkdir(path, mode)
        if not swept:
            swept.append(path)
            session_directory.remove_leftovers(tmp_path)

    monkeypatch.setattr(os, "mkdir", swept_first)
    directory = session_directory.SessionDirectory(tmp_path)
    assert list(tmp_path.iterdir()) == [directory.path] != swept
    directory.remove()


@pytest.mark.rule("C-58", "G-14")
def test_a_finalizer_may_use_files_while_the_directory_is_made(
    run_program: Program, tmp_path: Path
) -> None:
    run_program(
        """
        import os, signal
        from strideweave.carriers.file_backed import FileBacked, session, session_directory

        signal.alarm(30)
        made = []
        for place in ("remove_leftovers", "SessionDirectory"):
            session._session.__init__()
            inner = getattr(session, place)

            def interrupted(parent):
                setattr(session, place, inner)
                found = inner(parent)
                made.append(FileBacked().new_like([1.0]))
                return found

            setattr(session, place, interrupted)
            made.append(FileBacked().new_like([2.0]))
            assert {carrier.path.parent for carrier in made} == {session._session.directory.path}
            assert [carrier[0] for carrier in made] == [1.0, 2.0]
            made.clear()
            session._session.directory.remove()
            assert os.listdir(os.environ["TMPDIR"]) == []
        session._session.directory = None
        """,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.rule("C-58")
def test_links_are_not_followed(run_program: Program, tmp_path: Path) -> None:
    parent = tmp_path / "temporary"
    parent.mkdir()
    victim = leftover(tmp_path, "victim")
    (parent / ".strideweave-filebacked-01").symlink_to(victim)
    linked = leftover(parent)
    (linked / ".owner-lock").unlink()
    (linked / ".owner-lock").symlink_to(victim / ".owner-lock")
    start(run_program, parent)
    assert (victim / "values").exists() and (linked / "values").exists()


@pytest.mark.rule("C-58")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the files of another user")
def test_directories_of_other_users_stay(run_program: Program, tmp_path: Path) -> None:
    theirs = leftover(tmp_path)
    os.chown(theirs, 65534, 65534)
    start(run_program, tmp_path)
    assert (theirs / "values").exists()


@pytest.mark.rule("C-58", "G-3")
def test_what_cannot_be_removed_does_not_keep_a_process_from_starting(
    run_program: Program, tmp_path: Path
) -> None:
    stubborn = leftover(tmp_path)
    (stubborn / "folder").mkdir()
    start(run_program, tmp_path)
    assert (stubborn / ".owner-lock").exists(), "a later start tries again"


@pytest.mark.rule("C-58")
def test_a_directory_that_is_taken_for_a_leftover_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another process may sweep between the creation of the lock file and its locking."""
    swept: list[Path] = []
    flock = fcntl.flock

    def swept_first(descriptor: int, operation: int) -> None:
        if len(swept) < 2:
            (directory,) = tmp_path.iterdir()
            swept.append(directory)
            if len(swept) == 1:
                session_directory._remove_contents(directory)
            else:
                with (directory / ".owner-lock").open() as other:
                    flock(other, fcntl.LOCK_EX)
                    flock(descriptor, operation)
                raise AssertionError("the lock was free")
        elif len(swept) == 2:
            session_directory._remove_contents(swept[1])
            swept.append(swept[1])
            flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", swept_first)
    directory = session_directory.SessionDirectory(tmp_path)
    assert directory.path not in swept and directory.path.is_dir()
    monkeypatch.undo()
    session_directory.remove_leftovers(tmp_path)
    assert directory.path.is_dir()
    directory.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("S-17", "C-58")
def test_the_temporary_directory_is_the_one_of_tempfile() -> None:
    assert FileBacked().path.parent.parent == Path(tempfile.gettempdir())
