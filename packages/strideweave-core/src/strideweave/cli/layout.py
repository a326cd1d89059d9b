"""``strideweave layout``: layouts as tables and pictures, and their algebra."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from strideweave.cli.arguments import layout_argument, size_argument
from strideweave.cli.command import DONE, Command, CommandError, show
from strideweave.layout.index_map import IndexMap
from strideweave.layout.layout import Layout

ResultT = TypeVar("ResultT")


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "layout", metavar="LAYOUT", type=layout_argument, help='such as "(4,(2,3)):(1,(4,8))"'
    )
    algebra = parser.add_mutually_exclusive_group()
    algebra.add_argument(
        "--compose", metavar="INNER", type=layout_argument, help="show LAYOUT after INNER"
    )
    algebra.add_argument(
        "--divide", metavar="TILE", type=layout_argument, help="show LAYOUT as (tile, remainder)"
    )
    algebra.add_argument(
        "--complement",
        metavar="SIZE",
        type=size_argument,
        help="show what LAYOUT leaves of SIZE indices; a layout stands for its cosize",
    )
    parser.add_argument(
        "--svg", metavar="FILE", help="write a picture instead of the table; - prints it"
    )


def _run(arguments: Namespace) -> int:
    result = _result(arguments)
    facts = [str(result), _facts(result)]
    if arguments.svg is None:
        show([*facts, "", _table(result)])
        return DONE
    picture = _computed("draw", result.to_svg)
    if arguments.svg == "-":
        show([picture])
    else:
        _write(Path(arguments.svg), picture)
        show([*facts, f"written to {arguments.svg}"])
    return DONE


def _table(result: IndexMap) -> str:
    try:
        return result.table()
    except ValueError as too_large:  # what was computed is worth showing all the same
        return str(too_large)


def _result(arguments: Namespace) -> IndexMap:
    given: Layout = arguments.layout
    if arguments.compose is not None:
        inner: IndexMap = arguments.compose
        return _computed("compose", lambda: given.compose(inner))
    if arguments.divide is not None:
        return _computed("divide", lambda: Layout.divide(given, arguments.divide))
    if arguments.complement is not None:
        return _computed("complement", lambda: Layout.complement(given, arguments.complement))
    return given


def _computed(name: str, compute: Callable[[], ResultT]) -> ResultT:
    try:
        return compute()
    except ValueError as error:
        raise CommandError(f"cannot {name}: {error}") from error


def _facts(result: IndexMap) -> str:
    if not isinstance(result, Layout):
        return f"size {result.size}, codomain {result.codomain_size}"
    injective = "injective" if result.is_injective else "not injective"
    compact = "compact" if result.is_compact else "not compact"
    return f"size {result.size}, cosize {result.cosize}, {injective}, {compact}"


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


COMMAND = Command(
    name="layout",
    summary="show a layout, or what two of them make",
    details="Print a layout as a table of indices, with the ordinals of mode 0 on the left and\n"
    "those of mode 1 on top, or write it as a picture.",
    examples=(
        'strideweave layout "(4,(2,3)):(1,(4,8))"',
        'strideweave layout "(4,8):(8,1)" --svg row-major.svg',
        'strideweave layout "(6,2):(8,2)" --compose "(4,3):(3,1)"',
        'strideweave layout "(4,2,3):(2,1,8)" --divide "4:2"',
        'strideweave layout "(2,2):(1,6)" --complement 24',
    ),
    configure=_configure,
    run=_run,
)
