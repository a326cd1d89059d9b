"""``strideweave routes``: how values move between each pair of carriers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from strideweave.carriers.base import Carrier
from strideweave.carriers.move.explanation import explain_move
from strideweave.carriers.move.routes import Route, select_route
from strideweave.cli.arguments import add_tensor_arguments, layouts_of
from strideweave.cli.command import DONE, NO, Command, CommandError, aligned, show
from strideweave.cli.instances import new_tensor
from strideweave.cli.loading import carrier_class_of, importable


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="source", metavar="C", help="an installed carrier, or module:class"
    )
    parser.add_argument(
        "--to", dest="destination", metavar="C", help="an installed carrier, or module:class"
    )
    add_tensor_arguments(parser, dtype_required=False)


def _run(arguments: Namespace) -> int:
    if arguments.dtypes is not None or arguments.layouts is not None:
        return _explain_one(arguments)
    installed = importable()  # also those not asked for: a module may register a pair of others
    sources = _chosen(arguments.source, installed)
    destinations = _chosen(arguments.destination, installed)
    if not sources or not destinations:
        raise CommandError(
            "no installed distribution advertises a carrier that can be imported; see "
            "'strideweave carriers', or name two classes as module:class"
        )
    routes = [select_route(source, other) for source in sources for other in destinations]
    if len(routes) == 1:
        show(_detailed(routes[0]))
        return NO if routes[0].refusal is not None else DONE
    header = ("FROM", "TO", "ROUTE")
    show(aligned([header, *map(_row, routes)]))
    return DONE


def _explain_one(arguments: Namespace) -> int:
    words = (arguments.source, arguments.destination, arguments.dtypes)
    if None in words:
        raise CommandError("the move of a Tensor needs --from, --to and --dtype")
    importable()  # a module may register a pair of others
    source, destination = map(carrier_class_of, words[:2])
    dtype, layout = arguments.dtypes[0], layouts_of(arguments)[0]
    tensor = new_tensor(source, dtype, layout)
    explanation = explain_move(tensor, new_tensor(destination, dtype, layout).carrier)
    show([str(explanation)])
    return NO if explanation.reason is not None else DONE


def _chosen(word: str | None, installed: dict[str, type[Carrier]]) -> list[type[Carrier]]:
    return [*installed.values()] if word is None else [carrier_class_of(word)]


def _row(route: Route) -> tuple[str, str, str]:
    return route.source_class.__qualname__, route.destination_class.__qualname__, _way(route)


def _way(route: Route) -> str:
    if route.transfer is not None:
        return f"{route.kind} {route.transfer.route_id!r}"
    if route.kind == "registered" and route.operation_class is not None:
        return f"registered by {route.operation_class.__qualname__}"
    return route.kind


def _detailed(route: Route) -> Iterator[str]:
    back = select_route(route.destination_class, route.source_class)
    source, destination, way = _row(route)
    yield f"{source} -> {destination}"
    yield f"  {way}"
    if route.refusal is not None:
        yield f"  reason: {route.refusal}"
    if route.transfer is not None:
        yield f"  when it declines: {'elementwise' if route.permits_fallback else 'refused'}"
    yield f"  gradient: {_way(back)}"


COMMAND = Command(
    name="routes",
    summary="show how values move between carriers",
    details="Print the route of each pair of installed carriers. For a single pair, print why it\n"
    "is refused and how a gradient comes back; with --dtype, what would happen to one\n"
    "Tensor. Nothing moves. The exit status is 1 if a single pair is refused.",
    examples=(
        "strideweave routes",
        "strideweave routes --from CPU",
        "strideweave routes --from BlockDeviceCarrier --to FileBacked",
        'strideweave routes --from CPU --to FileBacked --dtype Float32 --shape "(2,3)"',
    ),
    configure=_configure,
    run=_run,
)
