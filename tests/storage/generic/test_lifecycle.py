"""Lifetime, ownership, spans and dispatch of Generic."""

from array import array
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Generic, Layout, Tensor
from strideweave.carriers import spans
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.carriers.operation_policy import registered_operations, resolvable_plans
from strideweave.operation import operation_definitions

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
VIEWS = "view permute rearrange reshape squeeze unsqueeze broadcast_to as_strided".split()


@pytest.mark.rule("C-29", "C-30", "50/E-10")
def test_a_released_generic_still_builds() -> None:
    carrier = Generic([1.0, 2.0])
    carrier.release()
    carrier.release()
    assert carrier.is_released() and carrier.size() == 0 and carrier.dtype() is FLOAT
    assert carrier.new_like([3.0])[0] == 3.0 and carrier.allocate_like(2).size() == 2
    assert carrier.is_mutable() and carrier.supports_storage_dtype(INT)


@pytest.mark.rule("C-22", "C-23", "C-24", "50/E-22")
def test_ownership_closes_it_to_others() -> None:
    carrier = Generic([1.0])
    token = carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="already owned"):
        carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier[0] = 2.0
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    carrier._begin_owner_access(token)
    assert carrier.is_mutable()
    carrier[0] = 2.0
    carrier._end_owner_access(token)
    carrier._relinquish_ownership(token)
    assert carrier.is_mutable() and not carrier.is_owned() and carrier[0] == 2.0


@pytest.mark.rule("C-5", "50/E-11")
def test_generic_is_closed() -> None:
    with pytest.raises(TypeError, match=r"^Sub .*closed carrier implementation"):
        type("Sub", (Generic,), {})
    assert getattr(Generic, "__final__", False) is True


@pytest.mark.rule("C-4", "O-31")
def test_generic_takes_no_late_authority() -> None:
    never: Any = NotImplemented.__init__
    storage = sw.StorageProvider(never, never, never, never, never, never)
    with pytest.raises(TypeError):
        sw.register_carrier_definition(Generic, sw.CarrierDefinition(storage))
    with pytest.raises(TypeError, match="too late"):
        register_operation_capabilities(Generic, ())


@pytest.mark.rule("C-40", "S-10")
@pytest.mark.parametrize(
    ("dtype", "values", "typecode"),
    [(FLOAT, [1.5, -0.0, 2.5], "f"), (INT, [1, -2, 3], "i"), (BOOL, [True, False, True], "b")],
)
def test_spans_convert_at_once(dtype: DType, values: list[float], typecode: str) -> None:
    carrier = Generic(values, dtype=dtype)
    out = array(typecode, [0, 0])
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == values[1:]
    assert spans.write_span(carrier, 0, out)
    assert [carrier[slot] for slot in range(3)] == [*values[1:], values[2]]
    assert type(carrier[0]) is type(values[0]) and carrier.version == 0
    carrier.release()
    assert not spans.read_span(carrier, 0, out) and not spans.write_span(carrier, 0, out)
    assert carrier._host_array() is None


@pytest.mark.rule("C-47")
def test_generic_does_not_export_its_storage() -> None:
    with pytest.raises(BufferError, match="Generic"):
        Generic([1.0]).dlpack_info()


@pytest.mark.rule("O-30")
def test_generic_executes_every_defined_plan() -> None:
    defined = {definition.name for definition in operation_definitions()}
    expected = {
        sw.OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation in defined
    }
    found = capabilities_for_carrier_class(Generic)
    assert len(found) == len(expected) and set(found) == expected


@pytest.mark.rule("O-44", "O-53", "C-42")
def test_generic_dispatches_every_defined_name_and_the_views() -> None:
    carrier = Generic([1.0])
    defined = {definition.name for definition in operation_definitions()}
    names = [spec.name for spec in registered_operations() if spec.name in defined]
    for name in [*names, *VIEWS]:
        first, second = carrier.dispatch_op(name), carrier.dispatch_op(name)
        assert first is not second and first._operation_name == name
        assert first._dispatch_carrier_class is Generic


@pytest.mark.rule("C-45", "O-41")
def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"Generic.*'nope'"):
        Generic([1.0]).dispatch_op("nope")


@pytest.mark.rule("O-53", "F-3")
def test_results_live_in_a_fresh_generic() -> None:
    tensor = Tensor(Generic([1.0, 2.0, 3.0], mutable=False), 1, Layout.parse("2:1"))
    total = sw.add(tensor, tensor)
    carrier = total.carrier
    assert type(carrier) is Generic and carrier.is_mutable() and total.offset == 0
    assert [carrier[slot] for slot in range(carrier.size())] == [4.0, 6.0]
