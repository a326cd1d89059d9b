"""Which pattern serves a call, and what is compiled for it."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.carriers.operation_policy import resolvable_plans

from strideweave_opencl import INTERFACE, DeviceInfo, KernelUse, OpenCLBuffer
from strideweave_opencl.device import missing_arithmetic

OnDevice: TypeAlias = Callable[..., Tensor]
FLAT8 = Layout(Shape(8), Stride(1))


def winner(operation: str, *operands: Any) -> str:
    chosen = sw.explain(operation, *operands).winner
    assert chosen is not None
    return chosen.kernel_id


@pytest.mark.parametrize(
    ("offset", "layout", "reason"),
    [
        (1, FLAT8, "starts at slot 1, which is no multiple of 4"),
        (0, Layout(Shape(7), Stride(1)), "7 elements are no multiple of 4"),
        (0, Layout(Shape(8), Stride(2)), "not contiguous in one common order"),
        (4, Layout(Shape(8), Stride(0)), "not contiguous in one common order"),
    ],
)
def test_the_float4_kernel_declines_and_the_general_one_serves(
    on_device: OnDevice, offset: int, layout: Layout, reason: str
) -> None:
    tensor = on_device(range(20), layout, offset=offset)
    explanation = sw.explain("add", tensor, tensor)
    declined, general = explanation.candidates
    assert declined.kernel_id == "opencl.float4:add" and declined.preference == 10
    assert declined.rejection is not None and reason in declined.rejection
    assert general.kernel_id == "opencl.jit:add" and explanation.winner == general
    assert reason in str(explanation)
    expected = [2.0 * (offset + layout.index(ordinal)) for ordinal in range(layout.size)]
    assert sw.add(tensor, tensor).tolist() == expected


def test_the_float4_kernel_serves_aligned_calls_in_any_common_order(on_device: OnDevice) -> None:
    row_major = Layout(Shape(2, 4), Stride(4, 1))
    tensor = on_device(range(12), row_major, offset=4)
    assert winner("add", tensor, tensor) == "opencl.float4:add"
    assert sw.add(tensor, tensor).tolist() == [[8.0, 10.0, 12.0, 14.0], [16.0, 18.0, 20.0, 22.0]]


def test_the_precompiled_product_declines_modes_without_one_stride(on_device: OnDevice) -> None:
    plain = on_device(range(12), Layout(Shape(3, 4), Stride(1, 3)))
    joined = on_device(range(12), Layout(Shape(3, (2, 2)), Stride(1, (3, 6))))
    nested = on_device(range(12), Layout(Shape(3, (2, 2)), Stride(1, (6, 3))))
    assert winner("matmul", plain, joined) == "opencl.precompiled:matmul"
    explanation = sw.explain("matmul", plain, nested)
    assert "rhs has a mode without a single stride" in str(explanation.candidates[0].rejection)
    assert winner("matmul", plain, nested) == "opencl.jit:matmul"


def test_a_kernel_is_compiled_once_per_arrangement(on_device: OnDevice) -> None:
    def compiled_by(call: Callable[[], Tensor]) -> int:
        before = INTERFACE.program_count()
        call()
        return INTERFACE.program_count() - before

    layout = Layout(Shape(3, 7), Stride(8, 1))
    tensor, moved = (on_device(range(31), layout, offset=offset) for offset in (0, 7))
    assert compiled_by(lambda: sw.sin(tensor)) == 1
    assert compiled_by(lambda: sw.sin(tensor)) == 0
    assert compiled_by(lambda: sw.cos(tensor)) == 0, "equal plans share a program"
    assert compiled_by(lambda: sw.sin(moved)) == 0, "the offset is an argument"
    other = on_device(range(31), Layout(Shape(3, 7), Stride(9, 1)))
    assert compiled_by(lambda: sw.sin(other)) == 1, "another stride is another program"
    small, large = on_device(range(5)), on_device(range(9))
    assert sw.ceil(small).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert compiled_by(lambda: sw.ceil(large)) == 0, "contiguous sizes share a program"


def test_the_pack_serves_before_the_reference(on_device: OnDevice) -> None:
    tensor = on_device([1.0, -1.0])
    candidates = sw.explain("leaky_relu", tensor).candidates
    assert [(candidate.kernel_id, candidate.pack) for candidate in candidates] == [
        ("opencl.jit:leaky_relu", ("strideweave-opencl.activations", "1")),
        ("reference:leaky_relu", None),
    ]
    assert winner("leaky_relu", tensor) == "opencl.jit:leaky_relu"
    assert sw.leaky_relu(tensor).tolist() == [1.0, -0.009999999776482582]


def test_a_late_pack_is_refused() -> None:
    program = """if True:
        import strideweave as sw
        from strideweave_opencl import OpenCLBuffer
        from strideweave_opencl.activations import PACK
        OpenCLBuffer(1, dtype=sw.DType.Float32)
        try:
            sw.register_kernel_pack(PACK)
        except TypeError as error:
            print(error)
    """
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "OpenCLBuffer" in ran.stdout and not ran.stderr


def test_every_plan_of_the_policy_is_advertised() -> None:
    advertised = set(OpenCLBuffer(0, dtype=DType.Bool).operation_capabilities())
    assert advertised == {sw.OperationCapability.from_plan(plan) for plan in resolvable_plans()}


def test_the_facets_tell_of_the_device_and_its_kernels(on_device: OnDevice) -> None:
    tensor = on_device([1.0, 2.0, 3.0])
    device = tensor.carrier.require_facet(DeviceInfo)
    assert device.name == INTERFACE.device.name.strip() and device.compute_units >= 1
    use = tensor.carrier.require_facet(KernelUse)
    before = use.launches().get("reference:_sort_values", 0)
    sw.sort(tensor)
    assert use.launches()["reference:_sort_values"] == before + 1
    assert sw.CPU(1).facet(DeviceInfo) is None


def test_a_missing_device_is_an_error_of_the_import() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import strideweave_opencl"],
        env={**os.environ, "PYOPENCL_CTX": "no such device"},
        capture_output=True,
        text=True,
    )
    assert "RuntimeError: strideweave_opencl found no OpenCL device" in ran.stderr


def test_a_device_without_the_arithmetic_is_named() -> None:
    info_nan_and_rounding = 2 | 4
    assert missing_arithmetic(info_nan_and_rounding, 0) == [
        "denormals",
        "correctly rounded division and roots",
        "binary64",
    ]
    assert missing_arithmetic(1 | 2 | 4 | 128, 63) == []
