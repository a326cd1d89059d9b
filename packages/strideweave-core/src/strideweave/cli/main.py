"""The entry point of the command."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from strideweave.cli import carriers, doctor, explain, layout, new_carrier, ops, routes
from strideweave.cli.command import MISUSED, NO, CommandError

COMMANDS: Final = (
    carriers.COMMAND,
    ops.COMMAND,
    explain.COMMAND,
    layout.COMMAND,
    routes.COMMAND,
    doctor.COMMAND,
    new_carrier.COMMAND,
)
"""The subcommands, in the order of the help."""
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after the program's name; those of the process when None.

    Returns:
        The exit status: 0 done, 1 the answer is no, 2 the request is wrong.

    Raises:
        SystemExit: ``--help`` or ``--version`` was answered, or the words do not parse.
    """
    parsed = _parser().parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
        if sys.stdout is not None:  # it is closed from the start
            sys.stdout.flush()  # a closed pipe shows here and not at the end of the process
    except CommandError as refusal:
        print(f"strideweave {parsed.command}: {refusal}", file=sys.stderr)
        return MISUSED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        return NO
    except OSError as error:  # a full disk
        _drop_output()
        print(f"strideweave {parsed.command}: cannot write the answer: {error}", file=sys.stderr)
        return NO
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _drop_output() -> None:
    """Keep the end of the process from writing what is left, and failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="strideweave",
        description="Look into StrideWeave: carriers, operations, layouts, movement.",
        epilog="'strideweave COMMAND --help' shows examples. The exit status is 0 when the work "
        "is done, 1 when the answer is no, 2 when the request is wrong.",
    )
    parser.add_argument(
        "--version", action="version", version=f"strideweave {version('strideweave-core')}"
    )
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.details,
            epilog=command.epilog(),
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
    return parser
