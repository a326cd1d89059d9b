"""``strideweave doctor``: is this installation all right, and what is missing."""

import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from strideweave.cli import diagnosis
from strideweave.cli.command import DONE, NO, Command, aligned, show
from strideweave.cli.diagnosis import Finding


def _configure(parser: ArgumentParser) -> None:
    pass


def _run(arguments: Namespace) -> int:
    sections = {
        "layers": diagnosis.layers(),
        "libraries": diagnosis.libraries(),
        "carriers": diagnosis.carriers(),
        "devices": diagnosis.devices(),
    }
    problems = [
        finding.problem
        for findings in sections.values()
        for finding in findings
        if finding.problem is not None
    ]
    show([_platform(), *_report(sections), *_closing(problems)])
    return NO if problems else DONE


def _platform() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python} on {platform.system()} {platform.machine()}"


def _report(sections: dict[str, tuple[Finding, ...]]) -> Iterator[str]:
    for title, findings in sections.items():
        yield title
        rows = [(finding.subject, finding.state) for finding in findings]
        yield from aligned(rows, "  ") if rows else ["  none"]


def _closing(problems: list[str]) -> list[str]:
    if not problems:
        return ["no problems"]
    return ["problems", *(f"  {problem}" for problem in problems)]


COMMAND = Command(
    name="doctor",
    summary="check the installation",
    details="Print the versions of the layers and of what they use, try each installed carrier on\n"
    "four values, and say what is missing and how to install it. The exit status is 1 if\n"
    "something is wrong; that something optional is missing is not.",
    examples=("strideweave doctor",),
    configure=_configure,
    run=_run,
)
