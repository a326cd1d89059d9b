"""Loss functions as modules."""

from typing import final

import strideweave.functional as functional
import strideweave.host as host
from strideweave.dtype import DType
from strideweave.layout import Layout, Shape
from strideweave.layout.agreement import agree
from strideweave.module import Module
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.policy import INT32_MAX
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over
from strideweave.tensor.views import reshape


@final
class MSELoss(Module):
    """The mean of the squared differences.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> prediction = sw.friendly.tensor([[1.0, 2.0]], carrier=ArrayCarrier)
        >>> target = sw.friendly.tensor([[1.0, 4.0]], carrier=ArrayCarrier)
        >>> sw.nn.MSELoss()(prediction, target).item()
        2.0
    """

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Compare a batch with its target.

        Args:
            prediction: Two flat modes.
            target: The same layout, but for strides of extent 1; a differentiable one receives a
                gradient too.

        Returns:
            The loss in the layout ``(1):(1)``.

        Raises:
            TypeError: An argument is no Tensor.
            ValueError: A layout does not fit.
        """
        for name, tensor in (("prediction", prediction), ("target", target)):
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"MSELoss: {name} must be a Tensor, got {type(tensor).__qualname__}; "
                    "strideweave.from_numpy makes one of an array"
                )
        if not _is_flat_matrix(prediction.layout):
            raise ValueError(
                f"MSELoss: prediction must be a flat two-mode tensor, got {prediction.layout!r}"
            )
        _require_one_layout(prediction.layout, target.layout)
        difference = functional.sub(prediction, target)
        squares = functional.mul(difference, difference)
        total = functional.reduce_sum(squares, "row column -> 1")
        return functional.mul(total, 1.0 / prediction.size())


@final
class CrossEntropyLoss(Module):
    """The mean negative log-likelihood of the target classes under a softmax of the logits.

    Each row contributes ``log(sum exp(z - m)) - (z[target] - m)``, ``m`` being its largest logit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> logits = sw.friendly.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], carrier=ArrayCarrier)
        >>> targets = sw.friendly.tensor([2, 0], dtype=sw.DType.Int32, carrier=ArrayCarrier)
        >>> round(sw.nn.CrossEntropyLoss()(logits, targets).item(), 4)
        0.7531
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Score a batch.

        Args:
            logits: Float32 ``[batch, classes]``, two flat modes.
            targets: Int32, one flat mode of extent batch, on the same carrier class; every value
                a class.

        Returns:
            The loss in the layout ``(1):(1)``.

        Raises:
            TypeError: An argument is no Tensor, the carrier classes differ, or a dtype is wrong.
            ValueError: A layout does not fit.
            IndexError: A target is no class.
        """
        _require_batch(logits, targets)
        batch, classes = logits.layout.leaf_extents
        picks = _flat_picks(targets, batch, classes)
        with no_grad():
            largest = functional.reduce_max(logits, "row class -> row 1")
        largest._retains_grad = None  # a constant: otherwise it is a leaf that collects a gradient
        shifted = functional.sub(logits, largest)
        sums = functional.reduce_sum(functional.exp(shifted), "row class -> row")
        picked = functional.gather(reshape(shifted, Shape(batch * classes)), picks, 0)
        losses = functional.sub(functional.log(sums), picked)
        return functional.mul(functional.reduce_sum(losses, "row -> 1"), 1.0 / batch)


def _require_one_layout(prediction: Layout, target: Layout) -> None:
    if agree(prediction, target):
        return
    remedy = "bring both to one shape"
    if prediction.shape == target.shape:
        remedy = "tensor + 0.0 is column-major, and so is from_numpy(numpy.asfortranarray(array))"
    raise ValueError(
        f"MSELoss: prediction and target layouts must match, got {prediction} and {target}; "
        f"{remedy}"
    )


def _is_flat_matrix(layout: Layout) -> bool:
    return len(layout) == 2 and layout.depth == 1


def _require_batch(logits: object, targets: object) -> None:
    if not isinstance(logits, Tensor):
        raise TypeError(
            f"CrossEntropyLoss: logits must be a Tensor, got {type(logits).__qualname__}; "
            "strideweave.from_numpy makes one of an array"
        )
    if not _is_flat_matrix(logits.layout):
        raise ValueError(
            f"CrossEntropyLoss: logits must be a flat two-mode tensor, got {logits.layout!r}"
        )
    if not isinstance(targets, Tensor):
        raise TypeError(
            f"CrossEntropyLoss: targets must be a Tensor, got {type(targets).__qualname__}; "
            "strideweave.from_numpy makes one of an array"
        )
    batch = logits.layout.leaf_extents[0]
    if targets.shape != Shape(batch):
        raise ValueError(
            f"CrossEntropyLoss: targets must have one flat mode of extent {batch}, one target per "
            f"row of logits, got {targets.layout!r}"
        )
    if targets.carrier_type() is not logits.carrier_type():
        raise TypeError(
            "CrossEntropyLoss: carriers must match, logits are on "
            f"{logits.carrier_type().__qualname__}, targets on "
            f"{targets.carrier_type().__qualname__}"
        )
    for name, tensor, dtype in (
        ("logits", logits, DType.Float32),
        ("targets", targets, DType.Int32),
    ):
        if tensor.dtype() is not dtype:
            raise TypeError(
                f"CrossEntropyLoss: {name} must be DType.{dtype.name}, "
                f"got DType.{tensor.dtype().name}"
            )


def _flat_picks(targets: Tensor, batch: int, classes: int) -> Tensor:
    """Turn each row's target into the ordinal of its logit, first mode fastest.

    A target outside the classes would name a logit of another row, so gather cannot refuse it.
    """
    if batch * classes - 1 > INT32_MAX:
        raise OverflowError(
            f"CrossEntropyLoss: {batch} x {classes} logits have ordinals out of int32 range; split "
            "the batch"
        )
    elements, numpy = host.read_array(targets), host.numpy_module()
    if elements is None or numpy is None:
        values = [int(value) for value in logical_values(targets)]
        _require_classes(min(values), max(values), classes)
        ordinals = [row + batch * column for row, column in enumerate(values)]
        carrier = targets.carrier.new_like(ordinals)
    else:
        columns = elements.ravel()
        _require_classes(int(columns.min()), int(columns.max()), classes)
        ordinals = numpy.arange(batch, dtype=numpy.int32) + batch * columns
        carrier = host.carrier_of(ordinals, targets.carrier, DType.Int32)
    return tensor_over(carrier, 0, Layout.leaf(batch, 1))


def _require_classes(lowest: int, highest: int, classes: int) -> None:
    if lowest < 0 or highest >= classes:
        raise IndexError(
            f"CrossEntropyLoss: target {lowest if lowest < 0 else highest} is out of range; there "
            f"are {classes} classes, counted from 0"
        )
