"""The recorded graph below one operation, and the reverse sweep through it.

Discovery and sweep are iterative and linear in operations plus edges, so a chain of any length
fits the interpreter's stack.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, final

from strideweave.autograd.accumulation import add_contributions
from strideweave.autograd.cotangent import admit_cotangent, require_cotangent
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.operation.operation import Operation


@final
class Node:
    """One reached operation.

    Attributes:
        operation: The recorded operation.
        inputs: Its saved tensors, in argument order.
        producers: The node that made each input, or None for a leaf.
        results: The reached tensors that name this operation as their producer.
        consumers: How many inputs of reached nodes are results of this one.
    """

    __slots__ = ("consumers", "inputs", "operation", "producers", "results")

    def __init__(self, operation: "Operation") -> None:
        self.operation: Final = operation
        self.inputs: Final = operation.inputs()
        self.producers: Final[list[Node | None]] = []
        self.results: Final[list[Tensor]] = []
        self.consumers = 0


@final
class Graph:
    """Every operation reached from ``operation``, the producer of ``result``."""

    __slots__ = ("_nodes", "root")

    def __init__(self, operation: "Operation", result: Tensor | None = None) -> None:
        # Keyed by identity, because an operation subclass may define its own equality.
        self._nodes: Final[dict[int, Node]] = {}
        self.root: Final = self._add(operation)
        self._discover(() if result is None else (result,))

    def nodes(self) -> tuple[Node, ...]:
        """Return the reached nodes in discovery order, the root first."""
        return tuple(self._nodes.values())

    def release(self) -> None:
        """Drop the saved inputs, versions and data of every reached operation."""
        for node in self._nodes.values():
            node.operation.release_saved()

    def _add(self, operation: "Operation") -> Node:
        node = Node(operation)
        self._nodes[id(operation)] = node
        return node

    def _discover(self, root_results: tuple[Tensor, ...]) -> None:
        self.root.results.extend(root_results)
        seen = {id(result) for result in root_results}
        unvisited = [self.root]
        while unvisited:
            node = unvisited.pop()
            for tensor in node.inputs:
                operation = tensor.autograd_ctx
                if operation is None:
                    node.producers.append(None)
                    continue
                producer = self._nodes.get(id(operation))
                if producer is None:
                    producer = self._add(operation)
                    unvisited.append(producer)
                node.producers.append(producer)
                producer.consumers += 1
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    producer.results.append(tensor)


class Total(NamedTuple):
    """The sum of the cotangents that one tensor received."""

    tensor: Tensor
    cotangent: Tensor


@final
class Totals:
    """Running sums of admitted cotangents, one per tensor, by the tensor's identity."""

    __slots__ = ("_totals",)

    def __init__(self) -> None:
        self._totals: dict[int, Total] = {}

    def add(self, tensor: Tensor, cotangent: Tensor) -> None:
        """Add ``cotangent`` to the sum of ``tensor``."""
        total = self._totals.get(id(tensor))
        if total is not None:
            cotangent = add_contributions(tensor, total.cotangent, cotangent)
        self._totals[id(tensor)] = Total(tensor, cotangent)

    def get(self, tensor: Tensor) -> Tensor | None:
        """Return the sum of ``tensor``, or None when nothing reached it."""
        total = self._totals.get(id(tensor))
        return None if total is None else total.cotangent

    def drop(self, tensor: Tensor) -> None:
        """Forget the sum of ``tensor``."""
        self._totals.pop(id(tensor), None)

    def items(self) -> tuple[Total, ...]:
        """Return every sum, in the order in which the tensors were first reached."""
        return tuple(self._totals.values())


def sweep(
    graph: Graph, root_gradient: object, totals: Totals, keep: Callable[[Tensor], bool]
) -> None:
    """Run every reached operation once, after all its reached consumers.

    Args:
        graph: The operations to run.
        root_gradient: What the root operation's ``backward`` is given.
        totals: Receives the sum of every reached leaf, and of every other reached tensor that
            ``keep`` asks for.
        keep: Tells whether the sum of a tensor is still wanted after its producer has run.

    Raises:
        RuntimeError: An operation was released, or a saved input was modified in place.
        TypeError: An operation returned something that is no sequence of Tensors and Nones.
        ValueError: It returned the wrong number of gradients, or one in a wrong layout.
    """
    waiting = {node: node.consumers for node in graph.nodes()}
    ready = [graph.root]
    while ready:
        node = ready.pop()
        gradient = root_gradient if node is graph.root else gathered_gradient(node, totals)
        if node is graph.root or gradient is not None:
            for tensor, contribution in _run(node, gradient):
                totals.add(tensor, contribution)
        for result in node.results:
            if not keep(result):
                totals.drop(result)
        for producer in node.producers:
            if producer is not None:
                waiting[producer] -= 1
                if waiting[producer] == 0:
                    ready.append(producer)


def gathered_gradient(node: Node, totals: Totals) -> object:
    """Collect what the consumers of a node's results contributed.

    Returns:
        The cotangent of its only result, a tuple with a cotangent or None per result when it has
        several, or None when nothing arrived.
    """
    operation = node.operation
    count = operation.output_count
    gathered: list[Tensor | None] = [None] * count
    for result in node.results:
        total = totals.get(result)
        if total is None:
            continue
        position = 0 if count == 1 else operation.output_position(result)
        earlier = gathered[position]
        if earlier is not None:  # autograd_ctx may have been given to further Tensors by hand
            total = add_contributions(result, earlier, total)
        gathered[position] = total
    if all(gradient is None for gradient in gathered):
        return None
    return gathered[0] if count == 1 else tuple(gathered)


def _run(node: Node, gradient: object) -> list[Total]:
    """Run one operation's backward; check everything it returned before any of it counts."""
    operation = node.operation
    operation.validate_not_freed()
    operation.validate_input_versions()
    returned = operation.backward(gradient)
    name = _name(operation)
    if not isinstance(returned, Sequence):
        raise TypeError(
            f"{name}.backward must return a sequence with one gradient or None per saved input, "
            f"got {type(returned).__qualname__}"
        )
    if len(returned) != len(node.inputs):
        raise ValueError(
            f"{name}.backward must return one gradient or None per saved input: "
            f"it saved {len(node.inputs)}, and returned {len(returned)}"
        )
    contributions = []
    for position, (tensor, entry) in enumerate(zip(node.inputs, returned, strict=True)):
        if entry is None:
            continue
        if not isinstance(entry, Tensor):
            raise TypeError(
                f"{name}.backward entry {position} must be a Tensor or None, "
                f"got {type(entry).__qualname__}"
            )
        if tensor._takes_gradient():
            subject = f"{name}.backward entry {position}"
            contributions.append(Total(tensor, require_cotangent(tensor, entry, subject)))
    return [Total(tensor, admit_cotangent(tensor, entry)) for tensor, entry in contributions]


def _name(operation: "Operation") -> str:
    return operation._operation_name or type(operation).__qualname__
