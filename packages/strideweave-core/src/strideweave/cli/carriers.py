"""``strideweave carriers``: what is installed."""

from argparse import ArgumentParser, Namespace

from strideweave.cli.command import DONE, NO, Command, aligned, show
from strideweave.cli.loading import Candidate, candidates


def _configure(parser: ArgumentParser) -> None:
    pass


def _run(arguments: Namespace) -> int:
    found = candidates()
    if not found:
        show(
            [
                "no installed distribution advertises a carrier",
                "install one, such as strideweave-compute: "
                "python -m pip install strideweave-compute",
            ]
        )
        return DONE
    header = ("CARRIER", "DISTRIBUTION", "ENTRY POINT", "IMPORT")
    show(aligned([header, *map(_row, found)]))
    return NO if any(candidate.failure is not None for candidate in found) else DONE


def _row(candidate: Candidate) -> tuple[str, ...]:
    entry = candidate.entry
    return entry.name, candidate.origin, entry.target, candidate.failure or "ok"


COMMAND = Command(
    name="carriers",
    summary="list the installed carriers",
    details="List the carriers that installed distributions advertise in the entry-point group\n"
    "strideweave.carriers, and import each. The exit status is 1 if one cannot be imported.",
    examples=("strideweave carriers",),
    configure=_configure,
    run=_run,
)
