"""Convolution over any number of spatial modes."""

from collections.abc import Iterable

from strideweave.functional.running import run
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.ops.contraction_alignment import PermutedAlignment, permuted_alignment
from strideweave.ops.convolution import CONV_GENERAL
from strideweave.ops.parameters import checked_permutation
from strideweave.tensor.tensor import Tensor


def conv_general(
    lhs: Tensor,
    kernel: Tensor,
    strides: Iterable[int],
    padding: Iterable[tuple[int, int]],
    *,
    lhs_dilation: Iterable[int] | None = None,
    kernel_dilation: Iterable[int] | None = None,
    feature_groups: int = 1,
    lhs_dims: Iterable[int] | None = None,
    kernel_dims: Iterable[int] | None = None,
    output_dims: Iterable[int] | None = None,
) -> Tensor:
    """Slide a kernel over the spatial modes of a Tensor, without flipping it.

    Per spatial mode, ``((n - 1) * lhs_dilation + 1 + before + after - ((k - 1) * kernel_dilation
    + 1)) // stride + 1`` positions result. A tap that meets padding or a hole between dilated
    elements adds its weight times zero.

    Args:
        lhs: Float32 with the modes [batch, in-feature, spatial...].
        kernel: Float32 with the modes [out-feature, in-feature of one group, spatial...]. Batch and
            feature modes may be nested, spatial ones are leaves, at least one.
        strides: Steps between positions, one per spatial mode.
        padding: One (before, after) pair of non-negative counts per spatial mode.
        lhs_dilation: Steps between elements of ``lhs``, one per spatial mode; 1 when None.
        kernel_dilation: Steps between taps, one per spatial mode; 1 when None.
        feature_groups: Number of groups into which in- and out-features are split, in order; each
            out-feature reads the in-features of its group.
        lhs_dims: For each of the modes as listed above, the mode of ``lhs`` that takes its place;
            in order when None.
        kernel_dims: The same for ``kernel``.
        output_dims: For each mode of the result, its place among [batch, out-feature, spatial...];
            in order when None.

    Returns:
        A new Float32 Tensor, canonical with the modes [batch, out-feature, spatial...] and a view
        of that where ``output_dims`` asks for another order. The order of additions is not fixed.

    Raises:
        TypeError: An operand is no Tensor or not Float32, a parameter holds anything but integers,
            or the carrier classes differ.
        ValueError: ``..._dims`` are no permutation, a parameter is out of range or has another
            length, or the shapes do not fit.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> signal = tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
        >>> kernel = tensor([[[1.0, 10.0, 100.0]]])
        >>> sw.conv_general(signal, kernel, (1,), ((0, 0),)).tolist()
        [[[321.0, 432.0, 543.0]]]
        >>> sw.conv_general(signal, kernel, (2,), ((1, 1),)).tolist()
        [[[210.0, 432.0, 54.0]]]
    """
    alignment = _alignment(lhs, kernel, lhs_dims, kernel_dims, output_dims)
    parameters = (strides, padding, lhs_dilation, kernel_dilation, feature_groups)
    return run(CONV_GENERAL, (lhs, kernel, *parameters), NO_OPTIONS, alignment)


def _alignment(
    lhs: object, kernel: object, lhs_dims: object, kernel_dims: object, output_dims: object
) -> PermutedAlignment | None:
    if not isinstance(lhs, Tensor) or not isinstance(kernel, Tensor):
        return None  # binding names the operand
    if lhs_dims is None and kernel_dims is None and output_dims is None:
        return None
    lhs_rank, kernel_rank = len(lhs.layout), len(kernel.layout)
    orders = (
        _order("lhs_dims", lhs_dims, lhs_rank),
        _order("kernel_dims", kernel_dims, kernel_rank),
    )
    return permuted_alignment(orders, _order("output_dims", output_dims, lhs_rank))


def _order(name: str, dims: object, rank: int) -> tuple[int, ...]:
    if dims is None:
        return tuple(range(rank))
    return checked_permutation("conv_general", name, dims, rank)
