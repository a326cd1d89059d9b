"""Move operations: what copies one Tensor's values, and becomes the autograd node of the result."""

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, final

from strideweave._late import LateModule
from strideweave.carriers.base import Carrier
from strideweave.carriers.move.copying import copy_values
from strideweave.operation.operation import Operation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import strideweave.carriers.move.gradient as gradient_module
    from strideweave.carriers.move.routes import Route
else:  # a gradient moves back, which needs operations
    gradient_module = LateModule("strideweave.carriers.move.gradient")


class MoveOperation(Operation):
    """Moves between two definition-free classes; open for authors of such classes.

    A subclass implements ``_copy``, and ``register_move_operation`` enters it for a pair of exact
    classes. The framework validates, claims both carriers, makes a fresh instance without
    arguments for each move, and does everything that follows a successful copy. The instance is
    the node of a differentiable result; its gradient moves back by the reverse route.

    Attributes:
        source_class: The only exact class it moves from, or None for any.
        destination_class: The only exact class it moves to, or None for any.

    Examples:
        >>> from strideweave.carriers.move import MoveOperation
        >>> class Slotwise(MoveOperation):
        ...     def _copy(self, tensor, destination, output, element_count):
        ...         for ordinal in range(tensor.size()):
        ...             destination[tensor.layout.index(ordinal)] = tensor[ordinal]
    """

    source_class: ClassVar[type[Carrier] | None] = None
    destination_class: ClassVar[type[Carrier] | None] = None

    # Class-level defaults, as in Operation: a subclass need not call a base initializer.
    _destination: Carrier | None = None
    _reverse: "Route | None" = None
    _storage_failure: BaseException | None = None

    def forward(self, *inputs: Any, **keywords: Any) -> NoReturn:
        """Refuse: movement has one entry.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(
            f"{type(self).__qualname__} is not called: strideweave.move(tensor, destination) "
            "selects the operation of the pair, checks the request and runs it"
        )

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        """Copy the values; runs once, inside owner access to both carriers, with the graph off.

        Args:
            tensor: The Tensor that moves.
            destination: The carrier it moves to.
            output: The result: the same layout over ``destination``, from slot 0.
            element_count: The span to fill, ``layout.cosize`` slots, holes included.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} must implement _copy(tensor, destination, output, "
            "element_count)"
        )

    def backward(self, gradient: Any) -> tuple[Tensor]:
        """Move a gradient back to the source's class.

        Args:
            gradient: A Tensor of the result's shape in an injective layout, on any carrier.

        Returns:
            One Tensor over fresh storage of the source's exact class, in the source's layout
            where that is injective, else in the canonical layout of its shape.

        Raises:
            TypeError: ``gradient`` is no Tensor.
            ValueError: Its shape differs, or its layout is not injective.
            RuntimeError: Its carrier is released, or nothing was recorded.
        """
        self.validate_not_freed()
        if self._reverse is None or self._destination is None:
            raise RuntimeError(f"{self._describe()}: nothing was recorded, so nothing flows back")
        (source,) = self.inputs()
        return (gradient_module.moved_back(gradient, source, self._destination, self._reverse),)

    def release_saved(self) -> None:
        """Drop what backward needs; the operation stays attached to its result."""
        super().release_saved()
        self._destination = None
        self._reverse = None

    def _record(self, tensor: Tensor, destination: Carrier, reverse: "Route") -> None:
        """Keep what backward needs, before anything is copied."""
        self.store_inputs(tensor)
        self._destination = destination
        self._reverse = reverse

    def _copy_values(self, tensor: Tensor, destination: Carrier) -> None:
        """Copy by spans or slots; a failure of the storage then leaves the version alone (M-29)."""
        try:
            copy_values(tensor, destination)
        except BaseException as error:
            self._storage_failure = error
            raise


class ElementwiseMoveOperation(MoveOperation):
    """Moves between any two classes that store the dtype, through their public slots.

    Carriers that offer bulk access, by host arrays or spans, exchange the whole span at once.

    Examples:
        >>> from strideweave.carriers.move import ElementwiseMoveOperation
        >>> print(ElementwiseMoveOperation.source_class)
        None
    """

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        self._copy_values(tensor, destination)


@final
class TransferMoveOperation(MoveOperation):
    """The node of a move by a TransferRoute, whose provider transfers the values."""
