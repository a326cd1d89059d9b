"""The carrier on which core's own tests compute."""

import subprocess
import sys
from array import array

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor
from strideweave.carriers import spans
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import operation_definitions
from strideweave.testing import ArrayCarrier

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


@pytest.mark.rule("C-85", "O-30")
def test_it_executes_every_defined_plan_by_reference_patterns() -> None:
    defined = {definition.name for definition in operation_definitions()}
    expected = {
        sw.OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation in defined
    }
    carrier = ArrayCarrier(1, dtype=FLOAT)
    assert set(carrier.operation_capabilities()) == expected
    tensor = Tensor(carrier.new_like([1.0, 2.0]), 0, Layout.parse("2:1"))
    explanation = sw.explain(sw.exp, tensor)
    assert explanation.winner is not None and explanation.winner.kernel_id == "reference:exp"
    assert type(sw.exp(tensor).carrier) is ArrayCarrier


@pytest.mark.rule("C-84", "C-21", "S-10")
@pytest.mark.parametrize(
    ("dtype", "values", "typecode"),
    [
        (FLOAT, [1.5, -0.0, 2.5], "f"),
        (INT, [1, -(2**31), 3], "i"),
        (BOOL, [True, False, True], "b"),
    ],
)
def test_it_stores_three_dtypes_and_offers_spans(
    dtype: DType, values: list[float], typecode: str
) -> None:
    carrier = ArrayCarrier(0, dtype=dtype).new_like(values)
    assert [carrier[slot] for slot in range(3)] == values
    assert type(carrier[0]) is type(values[0]) and carrier.version == 0
    out = array(typecode, [0, 0])
    assert spans.read_span(carrier, 1, out) and out.tolist() == values[1:]
    assert spans.write_span(carrier, 0, out)
    assert [carrier[slot] for slot in range(3)] == [*values[1:], values[2]]


@pytest.mark.rule("C-8", "C-11", "C-33")
def test_construction() -> None:
    for dtype, zero in ((FLOAT, 0.0), (INT, 0), (BOOL, False)):
        carrier = ArrayCarrier(2, dtype=dtype)
        assert [carrier[0], carrier[1]] == [zero, zero] and type(carrier[0]) is type(zero)
    with pytest.raises(TypeError, match="does not support storage dtype"):
        ArrayCarrier(1, dtype=DType.Float64)
    assert not ArrayCarrier(1, dtype=INT).supports_storage_dtype(DType.Floating)


@pytest.mark.rule("C-30", "O-42", "C-44")
def test_release() -> None:
    carrier = ArrayCarrier(2, dtype=INT)
    carrier.release()
    assert carrier.size() == 0 and carrier.new_like([3])[0] == 3
    with pytest.raises(RuntimeError, match="released"):
        carrier.dispatch_op("nope")


@pytest.mark.rule("C-85", "G-15")
def test_it_needs_no_numpy() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "import strideweave as sw\n"
        "from strideweave.testing import ArrayCarrier\n"
        "carrier = ArrayCarrier(0, dtype=sw.DType.Int32).new_like([1, 2, 3])\n"
        "tensor = sw.Tensor(carrier, 0, sw.Layout.parse('3:1'))\n"
        "assert sw.add(tensor, tensor).tolist() == [2, 4, 6]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
