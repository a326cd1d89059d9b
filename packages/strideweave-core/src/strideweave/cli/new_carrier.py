"""``strideweave new-carrier``: a complete distribution to start from."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from strideweave.cli.command import DONE, Command, show
from strideweave.cli.scaffolding import names_from, write_distribution


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the import package, such as acme_ram")
    parser.add_argument(
        "--into",
        metavar="FOLDER",
        type=Path,
        default=Path(),
        help="where the new folder NAME goes; the current folder when omitted",
    )


def _run(arguments: Namespace) -> int:
    names = names_from(arguments.name)
    written = write_distribution(names, arguments.into)
    folder = arguments.into / names.package
    show(
        [
            f"wrote {folder}: the carrier {names.carrier} of the distribution {names.distribution}",
            *(f"  {path}" for path in written),
            "next",
            f"  cd {folder}",
            "  python -m pip install -e '.[test]'",
            "  pytest",
            "  mypy",
        ]
    )
    return DONE


COMMAND = Command(
    name="new-carrier",
    summary="write a distribution with a carrier to start from",
    details="Write a complete distribution into a new folder: a carrier on a bytearray, a kernel\n"
    "of its own, the references of all other operations, a test with the conformance kit,\n"
    "and the configuration of pytest and mypy. It is green as it is written. A folder that\n"
    "exists is never touched.",
    examples=("strideweave new-carrier acme_ram", "strideweave new-carrier acme_ram --into ~/src"),
    configure=_configure,
    run=_run,
)
