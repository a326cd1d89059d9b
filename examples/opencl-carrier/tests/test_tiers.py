"""OpenCLBuffer as the compute tier of hierarchies."""

import strideweave as sw
from strideweave import DType, Evictable, FileBacked, Layout, Shape, Stride, Tensor, TiledEvictable
from strideweave.carriers.tiled_evictable import TileSelection

from strideweave_opencl import KernelUse, OpenCLBuffer

GRID, TILE = (2, 2), (4, 4)
SLOTS = 64
LAYOUT = Layout(Shape(8, 8), Stride(1, 8))


def tiled(values: list[float]) -> Tensor:
    primary = OpenCLBuffer(0, dtype=DType.Float32).new_like(values)
    carrier = TiledEvictable(primary, FileBacked(), GRID, TILE, primary_capacity=2)
    return Tensor(carrier, 0, LAYOUT)


def flat_values(tensor: Tensor) -> list[float]:
    return [tensor.carrier[tensor.layout.index(slot)] for slot in range(tensor.size())]


def test_a_product_streams_through_two_resident_tiles_with_gradients() -> None:
    lhs, rhs = tiled([float(n) for n in range(SLOTS)]), tiled([2.0 * n for n in range(SLOTS)])
    for tensor in (lhs, rhs):
        assert isinstance(tensor.carrier, TiledEvictable)
        assert len(tensor.carrier.primary_tiles.coordinates) == 2
    use = OpenCLBuffer(0, dtype=DType.Float32).require_facet(KernelUse)
    before = use.launches().get("opencl.float4:mul", 0)
    product = sw.mul(lhs, rhs)
    assert type(product.carrier) is OpenCLBuffer
    assert flat_values(product) == [2.0 * n * n for n in range(SLOTS)]
    assert use.launches()["opencl.float4:mul"] >= before + 4, "one launch per tile at least"
    sw.add(product, product).backward(sw.friendly.ones(8, 8, carrier=OpenCLBuffer))
    assert lhs.grad is not None and rhs.grad is not None
    assert flat_values(lhs.grad) == [4.0 * n for n in range(SLOTS)]
    assert flat_values(rhs.grad) == [2.0 * n for n in range(SLOTS)]


def test_a_tiled_weight_learns_on_the_device() -> None:
    """One step down the slope of the sum of squared outputs, whose inputs are all one."""
    values = [float(n % 5 - 2) for n in range(SLOTS)]
    weight = sw.Parameter(tiled(values))
    inputs = tiled([1.0] * SLOTS)
    outputs = sw.matmul(inputs, weight)
    sw.reduce_sum(sw.mul(outputs, outputs), "a b -> 1").backward()
    sw.nn.SGD([weight], lr=2.0**-7).step()
    # outputs[i, j] is the sum of row j, so the slope of weight[j, k] is 2 * 8 times that sum
    slopes = [16.0 * sum(values[n % 8 :: 8]) for n in range(SLOTS)]
    assert weight.grad is not None and flat_values(weight.grad) == slopes
    assert flat_values(weight) == [v - s / 128 for v, s in zip(values, slopes, strict=True)]
    assert isinstance(weight.carrier, TiledEvictable)
    assert len(weight.carrier.primary_tiles.coordinates) <= 2


def test_a_projection_of_tiles_is_compact_on_the_device() -> None:
    tensor = tiled([float(n) for n in range(SLOTS)])
    carrier = tensor.carrier
    assert isinstance(carrier, TiledEvictable)
    carrier.evict(carrier.valid_tiles)
    assert carrier.primary_tiles.coordinates == ()
    compact = carrier.project(tensor, TileSelection(((1,), (0,)))).wait()
    assert type(compact.carrier) is OpenCLBuffer
    assert flat_values(compact) == [float(n) for n in range(SLOTS) if n % 8 >= 4 and n // 8 < 4]


def test_an_evictable_computes_after_a_round_trip_to_a_file() -> None:
    primary = OpenCLBuffer(0, dtype=DType.Float32).new_like([1.0, -2.0, 3.0, -4.0])
    carrier = Evictable(primary, FileBacked())
    tensor = Tensor(carrier, 0, Layout(Shape(4), Stride(1)))
    carrier.evict()
    assert carrier.is_evicted()
    carrier.promote()
    result = sw.relu(tensor)
    assert isinstance(result.carrier, Evictable)
    assert type(result.carrier.primary) is OpenCLBuffer
    assert result.tolist() == [1.0, 0.0, 3.0, 0.0]
