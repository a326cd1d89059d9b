"""How the command is called, and how it leaves."""

import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest

NAMES = ("carriers", "ops", "explain", "layout", "routes", "doctor", "new-carrier")


def test_help_lists_every_command_and_the_exit_statuses(ask: Any) -> None:
    answer = ask("--help")
    assert answer.status == 0
    assert [name for name in NAMES if f"\n    {name}" not in answer.output] == []
    assert "1 when the answer is no" in answer.output


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_shows_examples_that_parse(name: str, ask: Any) -> None:
    answer = ask(name, "--help")
    _, _, examples = answer.output.partition("\nexamples:\n")
    lines = [line.strip() for line in examples.splitlines()]
    assert answer.status == 0 and lines
    assert [line for line in lines if not line.startswith(f"strideweave {name}")] == []


def test_version_is_that_of_core(ask: Any) -> None:
    assert ask("--version").output == f"strideweave {version('strideweave-core')}\n"


def test_no_command_is_a_usage_error(ask: Any) -> None:
    answer = ask()
    assert (answer.status, answer.output) == (2, "")
    assert "COMMAND" in answer.errors


def test_an_unknown_command_lists_the_known_ones(ask: Any) -> None:
    answer = ask("carrier")
    assert (answer.status, answer.output) == (2, "")
    assert "invalid choice: 'carrier'" in answer.errors and "new-carrier" in answer.errors


def test_a_refusal_goes_to_standard_error_without_a_traceback(ask: Any) -> None:
    answer = ask("ops", "frelu")
    assert (answer.status, answer.output) == (2, "")
    assert answer.errors.startswith("strideweave ops: no operation is registered as 'frelu'")
    assert len(answer.errors.splitlines()) == 1


def test_the_module_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "strideweave", "layout", "2:3"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[0] == "2:3"
    assert result.stderr == ""


def test_a_reader_that_closes_the_pipe_gets_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "strideweave", "ops"]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (result.returncode, result.stderr) == (1, "")


def test_an_interrupt_gets_no_traceback(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**conditions: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.metadata.entry_points", interrupt)
    answer = ask("carriers")
    assert (answer.status, answer.output, answer.errors) == (130, "", "")


@pytest.mark.parametrize("words", [["ops"], ["doctor"], ["layout", "(4,2):(1,4)"]])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_gets_no_traceback(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "strideweave", *words]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith(f"strideweave {words[0]}: cannot write the answer: ")
    assert "Traceback" not in result.stderr and result.stderr.count("\n") == 1


def test_a_closed_output_gets_no_traceback() -> None:
    command = [sys.executable, "-m", "strideweave", "carriers"]
    result = subprocess.run(
        command, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
