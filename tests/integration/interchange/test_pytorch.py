"""PyTorch as consumer and producer of DLPack memory on the CPU."""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, DType, Layout, Tensor

DTYPES = [(DType.Float32, "float32"), (DType.Int32, "int32")]


def cpu(layout: str, offset: int = 0, dtype: DType = DType.Float32, **options: Any) -> Tensor:
    """Build a CPU Tensor in which every slot holds its own number."""
    placement = Layout.parse(layout)
    carrier = CPU(0, dtype=dtype).new_like(range(offset + placement.cosize), **options)
    return Tensor(carrier, offset, placement)


def values(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


# PyTorch as the consumer


@pytest.mark.rule("M-43", "M-53")
@pytest.mark.parametrize(
    ("layout", "shape", "stride"),
    [
        ("(2,(3,4)):(1,(2,6))", (2, 3, 4), (1, 2, 6)),
        ("(2,3):(3,1)", (2, 3), (3, 1)),
        ("(2,3):(0,5)", (2, 3), (0, 5)),
        ("():()", (), ()),
    ],
)
@pytest.mark.parametrize(("dtype", "name"), DTYPES)
def test_pytorch_views_leaves_strides_and_window(
    torch: Any, layout: str, shape: Any, stride: Any, dtype: DType, name: str
) -> None:
    tensor = cpu(layout, 3, dtype)
    array = torch.from_dlpack(tensor)
    assert (tuple(array.shape), array.stride()) == (shape, stride)
    assert array.dtype is getattr(torch, name) and array.device.type == "cpu"
    assert isinstance(tensor.carrier, CPU)
    assert array.data_ptr() == tensor.carrier.pointer() + 12
    assert array.numpy().ravel(order="F").tolist() == values(tensor)


@pytest.mark.rule("M-45")
def test_pytorch_writes_through_and_computes(torch: Any) -> None:
    tensor = cpu("(2,3):(1,2)")
    array = torch.from_dlpack(tensor)
    array += 10
    assert values(tensor) == [10, 11, 12, 13, 14, 15] and tensor.version == 0
    tensor[1, 2] = 0.0
    assert array[1, 2].item() == 0.0
    product = sw.matmul(tensor, tensor)  # with the second operand transposed
    assert torch.equal(array @ array.T, torch.from_dlpack(product))


@pytest.mark.rule("M-42", "M-44")
def test_pytorch_takes_both_kinds_of_capsule(torch: Any) -> None:
    tensor = cpu("3:1")
    for version in (None, (1, 0)):
        capsule = tensor.__dlpack__(max_version=version)
        assert torch.utils.dlpack.from_dlpack(capsule).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises((RuntimeError, ValueError)):
            torch.utils.dlpack.from_dlpack(capsule)  # taken over by now


@pytest.mark.rule("M-43")
def test_pytorch_may_name_the_device(torch: Any) -> None:
    kinds = torch.utils.dlpack.DLDeviceType
    assert torch.from_dlpack(cpu("2:1"), device="cpu", copy=False).tolist() == [0.0, 1.0]
    with pytest.raises(BufferError, match="never copies"):
        torch.from_dlpack(cpu("2:1"), copy=True)
    with pytest.raises(BufferError, match="asks for"):
        cpu("2:1").__dlpack__(dl_device=(kinds.kDLCUDA, 0))


@pytest.mark.rule("M-46", "G-16", "60/E-22")
def test_pytorch_keeps_the_memory_alive(torch: Any) -> None:
    tensor = cpu("3:1")
    whole = weakref.ref(tensor)
    array = torch.from_dlpack(tensor)
    view = array[1:]
    tensor.carrier.release()
    del tensor, array
    gc.collect()
    assert whole() is not None and view.tolist() == [1.0, 2.0]
    del view
    gc.collect()
    assert whole() is None


@pytest.mark.rule("M-46", "G-14", "G-16")
def test_pytorch_lets_go_on_any_thread(torch: Any) -> None:
    tensor = cpu("(8,8):(1,8)")
    start, sums = threading.Barrier(4), []

    def consume(tensor: Tensor) -> None:
        start.wait()
        for _ in range(100):
            array = torch.from_dlpack(tensor)
            sums.append(sw.from_dlpack(array * 1)[7, 7])

    threads = [threading.Thread(target=consume, args=(tensor,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sums == [63.0] * 400
    whole = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert whole() is None


# PyTorch as the producer


@pytest.mark.rule("M-52", "M-53")
@pytest.mark.parametrize(("name", "dtype"), [*((n, d) for d, n in DTYPES), ("bool", DType.Bool)])
def test_pytorch_memory_becomes_a_tensor(torch: Any, name: str, dtype: DType) -> None:
    array = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, name))
    for view in (array, array.permute(2, 0, 1), array[:, 1], array[1, :, ::2], array[0, 0, 0]):
        tensor = sw.from_dlpack(view)
        assert tensor.dtype() is dtype and type(tensor.carrier) is CPU
        assert values(tensor) == view.numpy().ravel(order="F").tolist()
        assert tensor.is_mutable() and tensor.autograd_ctx is None
    tensor = sw.from_dlpack(array)
    tensor[0, 0, 0] = dtype is DType.Bool or 7
    assert array[0, 0, 0].item() == tensor[0, 0, 0]


@pytest.mark.rule("M-52", "G-17")
def test_pytorch_tensors_that_do_not_qualify(torch: Any) -> None:
    with pytest.raises(BufferError, match="takes float32, int32 and bool"):
        sw.from_dlpack(torch.zeros(2, dtype=torch.float64))
    with pytest.raises(BufferError, match="takes float32, int32 and bool"):
        sw.from_dlpack(torch.zeros(2, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="an axis has length zero"):
        sw.from_dlpack(torch.zeros(2, 0))
    with pytest.raises(BufferError, match="grad"):
        sw.from_dlpack(torch.zeros(2, requires_grad=True))


@pytest.mark.rule("M-52")
def test_pytorch_gets_its_memory_back(torch: Any) -> None:
    storage = torch.arange(4, dtype=torch.float32)
    back = torch.from_dlpack(sw.from_dlpack(storage))
    back[0] = 5.0
    assert storage[0].item() == 5.0 and back.data_ptr() == storage.data_ptr()
    tensor = sw.from_dlpack(storage)
    del storage, back
    gc.collect()
    assert values(tensor) == [5.0, 1.0, 2.0, 3.0]
    tensor.carrier.release()


# The end


@pytest.mark.rule("M-46", "M-52", "G-16")
def test_an_exception_on_its_way_survives_what_it_drops(
    torch: Any, run_program: Callable[[str], str]
) -> None:
    # In a process of its own: losing the exception would crash the interpreter.
    output = run_program("""
        import torch
        import strideweave as sw
        from strideweave import CPU, Layout, Tensor

        tensor = Tensor(CPU(3), 0, Layout.parse("3:1"))
        caught = 0
        for _ in range(100):
            for make in (torch.from_dlpack, lambda t: sw.from_dlpack(torch.zeros(3))):
                try:
                    print(make(tensor), 1 / 0)
                except ZeroDivisionError:
                    caught += 1
        print(caught)
    """)
    assert output == "200\n"


@pytest.mark.rule("M-46", "G-14", "G-16")
def test_pytorch_tensors_at_the_end_of_a_program(
    torch: Any, run_program: Callable[[str], str]
) -> None:
    output = run_program("""
        import sys
        import torch
        import strideweave as sw
        from strideweave import CPU, Layout, Tensor

        sys.kept = [
            torch.from_dlpack(Tensor(CPU(3), 0, Layout.parse("3:1"))),
            sw.from_dlpack(torch.zeros(3)),
        ]
        print("end")
    """)
    assert output == "end\n"
