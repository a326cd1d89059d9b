"""Forked and spawned children, and files of a parent."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., str]


@pytest.mark.rule("C-58", "G-14")
def test_a_forked_child_reads_and_never_deletes_the_files_of_its_parent(
    run_program: Program, tmp_path: Path
) -> None:
    printed = run_program(
        """
        import gc, os, sys
        from strideweave import FileBacked

        kept, dropped = FileBacked().new_like([1.0]), FileBacked().new_like([2.0])
        released = FileBacked().new_like([3.0])
        paths = [carrier.path for carrier in (kept, dropped, released)]
        child = os.fork()
        if child == 0:
            assert [kept[0], dropped[0], released[0]] == [1.0, 2.0, 3.0]
            for attempt in (lambda: kept.set_value(0, 9.0), lambda: kept._allocate(4)):
                try:
                    attempt()
                except RuntimeError as error:
                    assert "from which this one was forked" in str(error), error
                else:
                    raise AssertionError("no error")
            own = FileBacked().new_like([4.0])
            assert own.path.parent != kept.path.parent and own[0] == 4.0
            released.release()
            del dropped
            gc.collect()
            print(own.path.parent, flush=True)
            sys.exit(7)  # with all that happens at exit
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert all(path.exists() for path in paths)
        assert [kept[0], dropped[0], released[0]] == [1.0, 2.0, 3.0] and kept.version == 0
        kept[0] = 5.0
        """,
        TMPDIR=str(tmp_path),
    )
    assert Path(printed.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == [], "both processes removed their directory"


@pytest.mark.rule("C-58", "G-14")
def test_a_child_does_not_keep_the_directory_of_a_dead_parent_alive(
    run_program: Program, tmp_path: Path
) -> None:
    run_program(
        """
        import os, signal
        from pathlib import Path
        from strideweave import FileBacked
        from strideweave.carriers.file_backed.session_directory import remove_leftovers

        told, telling = os.pipe()
        waiting, ending = os.pipe()
        parent = os.fork()
        if parent == 0:
            carrier = FileBacked()
            if os.fork() == 0:  # lives until the others have closed the pipe
                os.close(ending)
                os.write(telling, str(carrier.path).encode())
                os.read(waiting, 1)
                os._exit(0)
            signal.pause()
        path = Path(os.read(told, 1000).decode())
        existed = path.exists()
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        remove_leftovers(path.parent.parent)
        assert existed and not path.exists()
        os.close(ending)
        """,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.rule("C-58", "G-14")
def test_a_fork_while_another_thread_holds_the_guard(run_program: Program, tmp_path: Path) -> None:
    run_program(
        """
        import os
        from strideweave import FileBacked
        from strideweave.carriers.file_backed import session

        with session._session.guard:
            child = os.fork()
            if child == 0:
                FileBacked()
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        """,
        TMPDIR=str(tmp_path),
    )


@pytest.mark.rule("C-58", "G-14")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_have_directories_of_their_own(
    method: str, run_program: Program, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import multiprocessing
from strideweave import FileBacked

def double(value):
    carrier = FileBacked().new_like([value])
    carrier[0] = carrier[0] * 2
    return carrier[0], str(carrier.path.parent)

if __name__ == "__main__":
    mine = FileBacked().new_like([1.0])
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        found = pool.map(double, [1.0, 2.0, 3.0])
    assert [value for value, _ in found] == [2.0, 4.0, 6.0]
    assert str(mine.path.parent) not in [place for _, place in found]
    assert mine[0] == 1.0 and mine.path.exists()
"""
    )
    # The forkserver's socket lies in TMPDIR, and a socket's path is at most 107 bytes long.
    with tempfile.TemporaryDirectory() as temporary:
        run_program(
            f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')",
            TMPDIR=temporary,
        )


@pytest.mark.rule("C-58", "G-14")
def test_other_programs_inherit_no_descriptor(run_program: Program, tmp_path: Path) -> None:
    run_program(
        """
        import subprocess, sys
        from strideweave import FileBacked

        carrier = FileBacked().new_like([1.0])
        listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True)
        assert "strideweave" not in listed.stdout
        """,
        TMPDIR=str(tmp_path),
    )
