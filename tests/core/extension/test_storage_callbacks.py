"""Faults in the storage callbacks: what propagates, and what stays as it was."""

from array import array
from typing import Any

import pytest

from strideweave import DependentCarrier, DType
from strideweave.carriers import spans
from strideweave.carriers.operation_capability import capabilities_for_carrier_class

FLOAT32, INT32 = DType.Float32, DType.Int32
FAULT = OSError("fault")


class Script:
    """Storage whose next call of one callback raises or returns something else."""

    def __init__(self, workshop: Any) -> None:
        self.faults: dict[str, Any] = {}
        self.calls: list[str] = []
        plain = workshop.storage(
            read_span=self._read_span,
            write_span=self._write_span,
        )
        names = (
            "supports_dtype physical_size allocate release read write read_span write_span".split()
        )
        changes = {name: self._scripted(name, getattr(plain, name)) for name in names}
        self.carrier_class = workshop.defined(storage=workshop.storage(**changes))

    def _scripted(self, name: str, callback: Any) -> Any:
        def call(carrier: Any, *arguments: Any) -> Any:
            assert type(carrier) is self.carrier_class
            self.calls.append(name)
            if name not in self.faults:
                return callback(carrier, *arguments)
            fault = self.faults[name]
            if isinstance(fault, Exception):
                raise fault
            return fault

        return call

    def _read_span(self, carrier: Any, start: int, out: Any) -> None:
        for position in range(len(out)):
            out[position] = carrier.cells[start + position]

    def _write_span(self, carrier: Any, start: int, values: Any) -> None:
        carrier.cells[start : start + len(values)] = values.tolist()


@pytest.fixture
def script(workshop: Any) -> Script:
    return Script(workshop)


@pytest.fixture
def carrier(script: Script) -> Any:
    made = script.carrier_class(2, dtype=FLOAT32)
    made[0], made[1] = 1.0, 2.0
    return made


USES: dict[str, list[Any]] = {
    "supports_dtype": [lambda carrier: carrier.supports_storage_dtype(INT32)],
    "physical_size": [
        lambda carrier: carrier.size(),
        lambda carrier: carrier[0],
        lambda carrier: carrier.__setitem__(0, 9.0),
        lambda carrier: carrier.get_value(0),
        lambda carrier: carrier.set_value(0, 9.0),
    ],
    "read": [lambda carrier: carrier[0], lambda carrier: carrier.get_value(0)],
    "write": [
        lambda carrier: carrier.__setitem__(0, 9.0),
        lambda carrier: carrier.set_value(0, 9.0),
    ],
    "release": [lambda carrier: carrier.release()],
    "read_span": [lambda carrier: spans.read_span(carrier, 0, array("f", [0.0]))],
    "write_span": [
        lambda carrier: spans.write_span(carrier, 0, array("f", [9.0])),
        lambda carrier: carrier.new_like([9.0]),
    ],
    "allocate": [lambda carrier: carrier.allocate_like(1), lambda carrier: carrier.new_like([1])],
}
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "supports_dtype": (1, TypeError, r"supports_dtype of Shelf must return a bool, got 1 \(int\)"),
    "physical_size": (True, TypeError, "physical_size of Shelf must return an int, got True"),
    "read": ("x", TypeError, r"real number, got 'x' \(str\)"),
    "write": (0, TypeError, "write of Shelf must return None, got 0"),
    "release": (False, TypeError, "release of Shelf must return None, got False"),
    "read_span": (1, TypeError, "read_span of Shelf must return None, got 1"),
    "write_span": (1, TypeError, "write_span of Shelf must return None, got 1"),
    "allocate": ("done", TypeError, "allocate of Shelf must return None, got 'done'"),
}


def state(carrier: Any) -> tuple[Any, ...]:
    return (
        list(carrier.cells),
        carrier.version,
        carrier.is_owned(),
        carrier.is_released(),
        carrier.is_mutable(),
        carrier.dtype(),
        carrier.operation_capabilities(),
        capabilities_for_carrier_class(type(carrier)),
    )


@pytest.mark.rule("G-3", "R-22", "R-23")
@pytest.mark.parametrize(("callback", "use"), [(n, u) for n in USES for u in USES[n]])
def test_a_raising_callback_changes_nothing_and_says_where_it_was(
    script: Script, carrier: Any, callback: str, use: Any
) -> None:
    before = state(carrier)
    script.faults[callback] = fault = OSError("fault")
    with pytest.raises(OSError, match="fault") as caught:
        use(carrier)
    assert caught.value is fault
    assert caught.value.__notes__ == [f"raised by StorageProvider.{callback} of Shelf"]
    script.faults.clear()
    assert state(carrier) == before
    use(carrier)


@pytest.mark.rule("G-3", "R-22", "R-23", "C-29")
@pytest.mark.parametrize(("callback", "use"), [(n, u) for n in USES for u in USES[n]])
def test_a_wrong_return_changes_nothing(
    script: Script, carrier: Any, callback: str, use: Any
) -> None:
    before = state(carrier)
    answer, kind, message = WRONG[callback]
    script.faults[callback] = answer
    with pytest.raises(kind, match=message):
        use(carrier)
    script.faults.clear()
    assert state(carrier) == before


@pytest.mark.rule("R-23", "R-15")
def test_a_negative_size_is_a_value_error(script: Script, carrier: Any) -> None:
    script.faults["physical_size"] = -1
    with pytest.raises(ValueError, match="physical_size of Shelf must return a slot count >= 0"):
        carrier.size()


@pytest.mark.rule("R-28", "C-8", "C-10")
def test_reject_an_invalid_provider_return(script: Script, workshop: Any) -> None:
    for faults, kind, message in (
        ({"physical_size": -1}, ValueError, "slot count >= 0, got -1"),
        ({"physical_size": 2.0}, TypeError, "must return an int, got 2.0"),
        ({"physical_size": 3}, ValueError, "must return the 2 slots that allocate was asked"),
        ({"allocate": 0}, TypeError, "allocate of Shelf must return None, got 0"),
        ({"physical_size": OSError("lost")}, OSError, "lost"),
    ):
        script.calls.clear()
        script.faults = {"release": None} | faults
        with pytest.raises(kind, match=message):
            script.carrier_class(2, dtype=FLOAT32)
        # What was allocated is given back, once.
        assert script.calls.count("release") == 1 and script.calls[-1] == "release"
    script.faults = {}
    assert workshop.over(script.carrier_class(2, dtype=FLOAT32)).tolist() == [0.0, 0.0]


@pytest.mark.rule("C-10", "C-8")
def test_nothing_is_released_when_nothing_was_allocated(script: Script) -> None:
    cases: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"supports_dtype": 1}, TypeError),
        ({"supports_dtype": False}, TypeError),
        ({"supports_dtype": OSError("gone")}, OSError),
        ({"allocate": OSError("full")}, OSError),
    ]
    for faults, kind in cases:
        script.calls.clear()
        script.faults = faults
        with pytest.raises(kind):
            script.carrier_class(2, dtype=FLOAT32)
        assert "release" not in script.calls


@pytest.mark.rule("C-10")
def test_an_error_of_the_clean_up_becomes_a_note(script: Script) -> None:
    script.faults = {"physical_size": 3, "release": OSError("stuck")}
    with pytest.raises(ValueError, match="2 slots") as caught:
        script.carrier_class(2, dtype=FLOAT32)
    (note,) = caught.value.__notes__
    assert note == "releasing the unfinished Shelf failed too: OSError('stuck')"


@pytest.mark.rule("C-8", "C-11")
def test_an_instance_whose_construction_failed_is_dead(script: Script, workshop: Any) -> None:
    escaped: list[Any] = []
    storage = workshop.storage(
        allocate=lambda carrier, slots: escaped.append(carrier), physical_size=lambda carrier: 9
    )
    with pytest.raises(ValueError, match="9"):
        workshop.defined(storage=storage)(1, dtype=FLOAT32)
    (carrier,) = escaped
    assert carrier.is_released()
    with pytest.raises(RuntimeError, match="released"):
        carrier[0]


@pytest.mark.rule("R-22", "G-11")
def test_the_exact_class_is_checked_before_every_callback(workshop: Any, script: Script) -> None:
    carrier = script.carrier_class(1, dtype=FLOAT32)
    carrier.__class__ = workshop.subclass(script.carrier_class)
    script.calls.clear()
    for use in (
        lambda: carrier[0],
        lambda: carrier.__setitem__(0, 1.0),
        lambda: carrier.size(),
        lambda: carrier.supports_storage_dtype(FLOAT32),
        lambda: carrier.release(),
        lambda: spans.read_span(carrier, 0, array("f", [0.0])),
    ):
        with pytest.raises(TypeError, match="serves that exact class only, got an instance of"):
            use()
    assert script.calls == []


@pytest.mark.rule("R-22", "C-13", "C-14")
def test_conditions_are_checked_before_a_callback_is_called(script: Script, carrier: Any) -> None:
    def refuses(use: Any, kind: type[Exception]) -> None:
        with pytest.raises(kind):
            use()

    token = carrier._claim_ownership()
    script.calls.clear()
    refuses(lambda: carrier["x"], TypeError)
    refuses(lambda: carrier.__setitem__(0, 1.0), RuntimeError)
    refuses(lambda: carrier.release(), RuntimeError)
    assert script.calls == []
    carrier._relinquish_ownership(token)
    refuses(lambda: carrier[2], IndexError)
    refuses(lambda: carrier.__setitem__(-1, 1.0), IndexError)
    refuses(lambda: carrier.__setitem__(0, "x"), TypeError)
    assert not {"read", "write"} & set(script.calls)
    carrier.release()
    script.calls.clear()
    refuses(lambda: carrier[0], RuntimeError)
    refuses(lambda: carrier.__setitem__(0, 1.0), RuntimeError)
    refuses(lambda: carrier.supports_storage_dtype("x"), TypeError)
    refuses(lambda: carrier.allocate_like(-1), ValueError)
    assert script.calls == []


@pytest.mark.rule("R-14", "R-29")
def test_ignore_the_carrier_for_fixed_dtype_support(workshop: Any) -> None:
    seen: list[tuple[Any, Any]] = []

    def supports(carrier: Any, dtype: DType) -> bool:
        seen.append((carrier, dtype))
        return dtype is FLOAT32

    carrier_class = workshop.defined(storage=workshop.storage(supports_dtype=supports))
    carrier = carrier_class(1, dtype=FLOAT32)
    assert carrier.supports_storage_dtype(FLOAT32) and not carrier.supports_storage_dtype(INT32)
    assert seen == [(carrier, FLOAT32), (carrier, FLOAT32), (carrier, INT32)]


@pytest.mark.rule("R-20", "R-30")
def test_derive_composite_dtype_support_from_configured_tiers(workshop: Any) -> None:
    """A dependent carrier with two tiers stands for the tiled one."""
    asked: list[Any] = []

    def supports(carrier: Any, dtype: DType) -> bool:
        asked.append(carrier)
        tiers = (carrier.primary, carrier.secondary)
        return all(tier.supports_storage_dtype(dtype) for tier in tiers)

    def construct(self: Any, primary: Any, secondary: Any) -> None:
        self.primary, self.secondary = primary, secondary
        DependentCarrier.__init__(self, 1, dtype=FLOAT32)

    wide = workshop.defined()(1, dtype=FLOAT32)
    narrow_storage = workshop.storage(supports_dtype=lambda carrier, dtype: dtype is FLOAT32)
    narrow = workshop.defined(storage=narrow_storage)(1, dtype=FLOAT32)
    tiered = workshop.subclass(DependentCarrier, "Tiered", __init__=construct)
    workshop.defined(
        None,
        carrier_class=tiered,
        storage=workshop.storage(supports_dtype=supports),
        composite=workshop.composite(capabilities=lambda carrier: ()),
    )
    mixed, both = tiered(wide, narrow), tiered(wide, wide)
    assert mixed.supports_storage_dtype(FLOAT32) and not mixed.supports_storage_dtype(INT32)
    assert both.supports_storage_dtype(INT32)
    assert asked == [mixed, both, mixed, mixed, both]


@pytest.mark.rule("R-23")
def test_a_failing_tensor_write_leaves_the_tensor_alone(script: Script, workshop: Any) -> None:
    tensor = workshop.over(script.carrier_class(2, dtype=FLOAT32))
    layout, carrier = tensor.layout, tensor.carrier
    script.faults["write"] = FAULT
    with pytest.raises(OSError, match="fault"):
        tensor[1] = 3.0
    assert (tensor.layout, tensor.carrier, tensor.version, tensor.autograd_ctx) == (
        layout,
        carrier,
        0,
        None,
    )
