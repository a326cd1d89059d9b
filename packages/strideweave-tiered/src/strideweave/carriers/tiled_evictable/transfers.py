"""How the storage of one tile gets from one tier to the other: one transfer, or no way at all."""

from typing import Literal, NamedTuple, TypeAlias

import strideweave.carriers.spans as spans
import strideweave.host as host
from strideweave.carriers import Carrier
from strideweave.carriers.class_record import class_record
from strideweave.carriers.move import AwaitResult, request
from strideweave.carriers.move.handles import new_handle
from strideweave.carriers.move.pool import completion_pool
from strideweave.carriers.move.routes import Route, select_route
from strideweave.layout import Layout
from strideweave.tensor.tensor import tensor_over

CarrierClass: TypeAlias = type[Carrier]


class TierRoute(NamedTuple):
    """The way between two exact classes: an ordinary copy, a span, or none.

    Attributes:
        kind: Which of them.
        route: The way of an ordinary copy, or why there is none.
    """

    kind: Literal["copy", "span", "refused"]
    route: Route


def tier_route(source: CarrierClass, destination: CarrierClass) -> TierRoute:
    """Select the way of a tile.

    1. The ordinary copy, where the two classes have one.
    2. One span read and one span write between classes without definitions that both offer spans.

    Args:
        source: The exact class of the tier that the tile is in.
        destination: The exact class of the tier that it goes to.
    """
    route = select_route(source, destination)
    if route.refusal is None:
        return TierRoute("copy", route)
    if all(
        class_record(carrier_class).definition is None and _offers_spans(carrier_class)
        for carrier_class in (source, destination)
    ):
        return TierRoute("span", route)
    return TierRoute("refused", route)


def _offers_spans(carrier_class: CarrierClass) -> bool:
    return (
        carrier_class._read_span is not Carrier._read_span
        and carrier_class._write_span is not Carrier._write_span
    )


def require_route(route: TierRoute) -> None:
    """Refuse tiers between which tiles cannot move.

    Raises:
        NotImplementedError: There is no way.
    """
    if route.kind == "refused":
        refusal = route.route.refusal
        raise NotImplementedError(f"tiles cannot move between these tiers: {refusal}")


def start_transfer(
    way: TierRoute, source: Carrier, destination: Carrier, run: Layout, *, is_awaited: bool
) -> AwaitResult[object]:
    """Copy all slots of one carrier to another.

    Graph building and profiling are off in the calling thread.

    Args:
        way: The way between their classes.
        source: A live carrier; it stays as it is.
        destination: A live carrier of the same size.
        run: Sends every slot to itself.
        is_awaited: Whether the caller waits for this transfer only, so that its thread may copy.

    Returns:
        The pending or finished transfer.

    What fails before the submission is raised here, the rest by the handle.
    """
    if way.kind == "copy":
        tensor = tensor_over(source, 0, run, source.dtype())
        return request.start(
            tensor, destination, keeps_source=True, is_blocking=is_awaited, route=way.route
        )
    handle: AwaitResult[object] = new_handle(AwaitResult)

    def copy() -> None:
        try:
            _copy_span(source, destination)
        except BaseException as error:
            handle._fail(error)
        handle._publish()

    if is_awaited:
        copy()
    else:
        completion_pool().run(copy)
    return handle


def _copy_span(source: Carrier, destination: Carrier) -> None:
    image = host.new_image(source.size(), host.SPAN_FORMATS[source.dtype()])
    if not (spans.read_span(source, 0, image) and spans.write_span(destination, 0, image)):
        raise RuntimeError(
            f"a tile could not move from {type(source).__qualname__} to "
            f"{type(destination).__qualname__}: a carrier withdrew its spans"
        )
