"""Capabilities, dispatch and the way CPU kernels run."""

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Generic, Layout, Tensor
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.carriers.operation_policy import registered_operations
from strideweave.operation import operation_definitions

FLOAT, INT = DType.Float32, DType.Int32
VIEWS = "view permute rearrange reshape squeeze unsqueeze broadcast_to as_strided".split()


def floats(*values: float) -> Tensor:
    return Tensor(CPU(0).new_like(values), 0, Layout.parse(f"{len(values)}:1"))


@pytest.mark.rule("C-5", "50/E-11")
def test_cpu_is_closed() -> None:
    with pytest.raises(TypeError, match=r"^X .*closed carrier implementation"):
        type("X", (CPU,), {})
    assert getattr(CPU, "__final__", False) is True


@pytest.mark.rule("C-4", "O-31")
def test_cpu_takes_no_late_authority() -> None:
    never: Any = NotImplemented.__init__
    storage = sw.StorageProvider(never, never, never, never, never, never)
    with pytest.raises(TypeError):
        sw.register_carrier_definition(CPU, sw.CarrierDefinition(storage))
    with pytest.raises(TypeError, match="too late"):
        register_operation_capabilities(CPU, ())


@pytest.mark.rule("O-30")
def test_cpu_executes_what_generic_executes() -> None:
    found = capabilities_for_carrier_class(CPU)
    assert found and found == capabilities_for_carrier_class(Generic)


@pytest.mark.rule("O-44", "O-40")
def test_cpu_dispatches_every_defined_name_and_the_views() -> None:
    defined = {definition.name for definition in operation_definitions()}
    names = [spec.name for spec in registered_operations() if spec.name in defined]
    for name in [*names, *VIEWS]:
        operation = CPU(1).dispatch_op(name)
        assert operation._operation_name == name and operation._dispatch_carrier_class is CPU


@pytest.mark.rule("C-45", "O-41")
def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"CPU.*'nope'"):
        CPU(1).dispatch_op("nope")


@pytest.mark.rule("F-3", "F-9", "O-5")
def test_singularities_raise_no_warning() -> None:
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        values = floats(0.0, -1.0, 3e38, float("inf"))
        assert sw.div(values, floats(0.0, 0.0, 1e-10, 1.0)).tolist()[1:] == [
            -float("inf"),
            float("inf"),
            float("inf"),
        ]
        assert sw.log(values).tolist()[0] == -float("inf")
        assert sw.exp(values).tolist()[2:] == [float("inf")] * 2
        assert sw.mul(values, 1e39).tolist()[2] == float("inf")


@pytest.mark.rule("F-9")
def test_the_error_state_of_the_caller_is_untouched() -> None:
    with np.errstate(divide="raise"):
        sw.log(floats(0.0))
        with pytest.raises(FloatingPointError):
            np.log(np.float32(0))


@pytest.mark.rule("F-3")
def test_kernels_run_on_many_threads_at_once() -> None:
    operand = floats(*np.linspace(-3, 3, 50_000))
    expected = sw.exp(operand).tolist()
    results: list[Any] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        results.extend(sw.exp(operand).tolist() == expected for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


@pytest.mark.rule("F-3", "O-71")
def test_results_are_fresh_mutable_and_exact_in_size() -> None:
    operand = Tensor(CPU(0).new_like([1.0] * 9), 1, Layout.parse("(2,2):(1,4)"))
    result = sw.neg(operand)
    carrier = result.carrier
    assert type(carrier) is CPU and carrier.is_mutable() and carrier.size() == 4
    assert result.offset == 0 and str(result.layout) == "(2,2):(1,2)"
    carrier[0] = 5.0
    assert operand.carrier.version == 0 and operand.tolist() == [[1.0, 1.0], [1.0, 1.0]]
