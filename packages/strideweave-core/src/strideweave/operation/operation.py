"""The object that executes one call and becomes its node in the autograd graph."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import strideweave.tensor.tensor as tensor_module
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.operation.policy import OperationExecutionOptions
from strideweave.operation.recording import recording
from strideweave.tensor.boundary import require_one_subtensor_each

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.profiling.recorder import Interval
    from strideweave.tensor.tensor import Tensor

VersionToken: TypeAlias = "tuple[tuple[Carrier, int], ...]"

VIEW_OPERATION_NAMES = frozenset(
    {
        "as_strided",
        "broadcast_to",
        "permute",
        "rearrange",
        "reshape",
        "squeeze",
        "unsqueeze",
        "view",
    }
)

_VIEWS_OF_SEVERAL_SUBTENSORS = VIEW_OPERATION_NAMES - {"rearrange"}


class Operation:
    """One execution of one operation; open for definition-free carriers that write their own.

    A subclass implements ``_forward(*inputs) -> Tensor`` and, to be differentiable,
    ``backward(gradient)``. ``forward`` is called once, saves the Tensor inputs while a graph is
    recorded, and attaches the operation to the result as its ``autograd_ctx``.

    Examples:
        >>> import strideweave as sw
        >>> class Same(sw.Operation):
        ...     def _forward(self, tensor):
        ...         return sw.permute(tensor, 0).detach()
        ...     def backward(self, gradient):
        ...         return (gradient,)
    """

    # Class-level defaults: a subclass need not call a base initializer.
    _operation_name: str | None = None
    _dispatch_carrier_class: "type[Carrier] | None" = None
    _dispatch_carrier: "Carrier | None" = None
    _options: OperationExecutionOptions | Mapping[str, object] | None = None
    _context: dict[str, Any] | None = None
    _inputs: "tuple[Tensor, ...]" = ()
    _input_versions: "tuple[VersionToken | None, ...]" = ()
    _is_used: bool = False
    _is_freed: bool = False

    def forward(self, *inputs: Any, **keywords: Any) -> "Any":
        """Execute the operation.

        Args:
            *inputs: Operands in order.
            **keywords: Only ``options``, an OperationExecutionOptions for this operation or None.

        Returns:
            The result Tensor, or the tuple of Tensors that a definition declares.

        Raises:
            TypeError: An unknown keyword, options of another type, or a faulty subclass.
            ValueError: The options were made for another operation.
            RuntimeError: The operation was used before.
            NotImplementedError: A Tensor has several subtensors, and this is no view but
                ``rearrange``.
        """
        options = self._checked_options(keywords)
        self._claim_use()
        recorder = recording.operations
        if recorder is None or self._dispatch_carrier_class is None:
            return self._run(inputs, options)
        with recorder.execution(self, inputs) as interval:
            return self._run(inputs, options, interval)

    # The keywords, which are never passed, let a subclass declare the operands it takes.
    def _forward(self, *inputs: Any, **keywords: Any) -> "Tensor":
        raise TypeError(
            f"{type(self).__qualname__} has no _forward(*inputs) -> Tensor; implement it"
        )

    def backward(self, gradient: Any) -> "Sequence[Tensor | None]":
        """Give one gradient, or None, per saved Tensor input.

        Args:
            gradient: Cotangent of the result, with the result's shape.

        Returns:
            A sequence aligned with ``inputs()``.

        Raises:
            RuntimeError: The operation has no gradient.
        """
        raise RuntimeError(
            f"{self._describe()} has no backward; it is not differentiable. "
            "Detach its result, or implement backward(gradient)"
        )

    @property
    def ctx(self) -> dict[str, Any]:
        """Data the operation keeps from forward for backward."""
        if self._context is None:
            self._context = {}
        return self._context

    @property
    def options(self) -> OperationExecutionOptions | Mapping[str, object] | None:
        """Execution options that ``forward`` was given, or None."""
        return self._options

    def inputs(self) -> "tuple[Tensor, ...]":
        """Give the saved Tensor inputs in argument order, ``()`` when nothing is saved."""
        return self._inputs

    def input_versions(self) -> "tuple[VersionToken | None, ...]":
        """Give the version token of each saved input, None for one that is not checked."""
        return self._input_versions

    def store_inputs(self, *inputs: object) -> None:
        """Save the Tensors among the arguments with their current version tokens.

        Args:
            *inputs: Arguments of the call; anything but a Tensor is left out.
        """
        tensors = tuple(value for value in inputs if isinstance(value, tensor_module.Tensor))
        self._inputs = tensors
        self._input_versions = tuple(tensor._version_token() for tensor in tensors)

    def validate_input_versions(self) -> None:
        """Check that no saved input was modified since it was saved.

        Raises:
            RuntimeError: The version token of a saved input changed.
        """
        for position, (tensor, saved) in enumerate(
            zip(self._inputs, self._input_versions, strict=True)
        ):
            if saved is not None and not _same_token(tensor._version_token(), saved):
                raise RuntimeError(
                    f"{self._describe()}: saved input {position} was modified in-place after the "
                    "forward call; run forward, backward and mutation in this order"
                )

    def validate_not_freed(self) -> None:
        """Check that no earlier traversal released the saved inputs.

        Raises:
            RuntimeError: The node was released.
        """
        if self._is_freed:
            raise RuntimeError(
                f"{self._describe()}: its saved inputs were released by an earlier traversal; "
                "pass retain_graph=True to that one to traverse the graph again"
            )

    def release_saved(self) -> None:
        """Drop saved inputs, versions and ctx; the operation stays attached to its result."""
        self._inputs = ()
        self._input_versions = ()
        self._context = None
        self._is_freed = True

    def output_position(self, tensor: "Tensor") -> int:
        """Give the position of one of its results among all of them."""
        return 0

    @property
    def output_count(self) -> int:
        """Number of results that share this node."""
        return 1

    def _describe(self) -> str:
        return self._operation_name or type(self).__qualname__

    def _checked_options(
        self, keywords: dict[str, Any]
    ) -> OperationExecutionOptions | Mapping[str, object] | None:
        options = keywords.pop("options", None)
        if keywords:
            raise TypeError(
                f"{self._describe()}: forward has no keyword {next(iter(keywords))!r}; "
                "only options= is accepted"
            )
        if options is None:
            return None
        return self._accept_options(options)

    def _accept_options(self, options: object) -> OperationExecutionOptions | Mapping[str, object]:
        if not isinstance(options, OperationExecutionOptions):
            raise TypeError(
                f"{self._describe()}: options must be an OperationExecutionOptions or None, "
                f"got {type(options).__qualname__}"
            )
        if options.operation != self._operation_name:
            raise ValueError(
                f"{self._describe()}: options were made for {options.operation!r}; make them with "
                f"operation_execution_options({self._operation_name!r}, ...)"
            )
        return options

    def _claim_use(self) -> None:
        if self._is_used:
            raise RuntimeError(
                f"{self._describe()}: an operation object executes once; dispatch a new one"
            )
        self._is_used = True

    def _run(
        self,
        inputs: tuple[Any, ...],
        options: OperationExecutionOptions | Mapping[str, object] | None,
        interval: "Interval | None" = None,
    ) -> Any:
        self._options = options
        if self._operation_name not in _VIEWS_OF_SEVERAL_SUBTENSORS:
            require_one_subtensor_each(inputs)
        records = grad_mode.enabled and any(
            isinstance(value, tensor_module.Tensor) and value.is_differentiable()
            for value in inputs
        )
        if records:
            self.store_inputs(*inputs)
        result = self._forward(*inputs)
        if not isinstance(result, tensor_module.Tensor):
            raise TypeError(
                f"{self._describe()}: _forward must return a Tensor, "
                f"got {type(result).__qualname__}"
            )
        if interval is not None:
            interval.close()
        if records and result.is_differentiable():
            result._autograd_ctx = self
        else:
            self._inputs = ()
            self._input_versions = ()
        return result


def _same_token(current: VersionToken, saved: VersionToken) -> bool:
    if len(current) != len(saved):
        return False
    return all(
        carrier is saved_carrier and version == saved_version
        for (carrier, version), (saved_carrier, saved_version) in zip(current, saved, strict=True)
    )
