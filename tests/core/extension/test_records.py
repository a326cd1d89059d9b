"""Constructors of the records: every wrong type and every wrong content."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    Carrier,
    CarrierDefinition,
    CarrierFacet,
    CompositeProvider,
    DependentCarrier,
    KernelExecutionInterface,
    KernelPack,
    KernelPattern,
    KernelProvider,
    StorageProvider,
    TransferRoute,
    Unsupported,
)
from strideweave.carriers.extension import (
    PreparedComposite,
    PreparedKernel,
    PreparedTransfer,
    ProviderResult,
    TransferProvider,
)

INTERFACE = KernelExecutionInterface("1")


def act(*arguments: Any) -> Any:
    """Stands for any callback."""


STORAGE: dict[str, Any] = dict.fromkeys(
    ("supports_dtype", "physical_size", "allocate", "release", "read", "write"), act
)


class Here(Carrier):
    pass


class There(Carrier):
    pass


ROUTE = TransferRoute(Here, There, "here.there", TransferProvider(act))


class Naming(CarrierFacet):
    pass


class Spare(CarrierFacet):
    pass


@pytest.mark.rule("R-13", "C-84")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *[
            ({name: 3}, rf"StorageProvider: {name} must be callable, got 3 \(int\)")
            for name in STORAGE
        ],
        *[({name: None}, f"StorageProvider: {name} must be callable") for name in STORAGE],
        ({"elementwise_fallback": 1}, "elementwise_fallback must be a bool, got 1"),
        ({"elementwise_fallback": None}, "elementwise_fallback must be a bool"),
        ({"read_span": 3}, "read_span must be callable, got 3"),
        ({"write_span": "x"}, "write_span must be callable, got 'x'"),
    ],
)
def test_storage_provider(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        StorageProvider(**(STORAGE | changes))


@pytest.mark.rule("R-13", "C-84")
def test_span_callbacks_are_keyword_only() -> None:
    make: Any = StorageProvider
    provider = make(*STORAGE.values(), True, read_span=act)
    assert provider.elementwise_fallback is True
    assert (provider.read_span, provider.write_span) == (act, None)
    with pytest.raises(TypeError, match="positional"):
        make(*STORAGE.values(), True, act)


def definition_fields(**changes: Any) -> dict[str, Any]:
    return {"storage": StorageProvider(**STORAGE)} | changes


@pytest.mark.rule("R-6", "R-4")
@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"storage": act}, TypeError, "storage must be a StorageProvider, got <function"),
        ({"kernels": INTERFACE}, TypeError, "kernels must be a KernelProvider"),
        ({"transfers": ROUTE}, TypeError, "transfers must be an iterable of TransferRoute"),
        (
            {"transfers": None},
            TypeError,
            "transfers must be an iterable of TransferRoute, got None",
        ),
        ({"transfers": [ROUTE, 3]}, TypeError, r"transfers\[1\] must be a TransferRoute, got 3"),
        ({"composite": act}, TypeError, "composite must be a CompositeProvider"),
        ({"facets": Naming()}, TypeError, "facets must be an iterable of CarrierFacet"),
        ({"facets": [Naming]}, TypeError, r"facets\[0\] must be a CarrierFacet, got <class"),
        (
            {"transfers": [ROUTE, replace(ROUTE, route_id="again")]},
            ValueError,
            r"transfers\[1\] repeats the pair \(Here, There\) of CarrierDefinition: transfers\[0\]",
        ),
        (
            {"facets": [Naming(), Spare(), Naming()]},
            ValueError,
            r"facets\[2\] repeats the facet class Naming of CarrierDefinition: facets\[0\]",
        ),
    ],
)
def test_carrier_definition(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        CarrierDefinition(**definition_fields(**changes))


@pytest.mark.rule("R-4", "R-5")
def test_a_definition_consumes_its_iterables_once() -> None:
    facets = [Naming(), Spare()]
    definition = CarrierDefinition(
        **definition_fields(transfers=iter([ROUTE]), facets=(facet for facet in facets))
    )
    facets.clear()
    assert definition.transfers == (ROUTE,)
    assert [type(facet) for facet in definition.facets] == [Naming, Spare]
    bare: CarrierDefinition = CarrierDefinition(StorageProvider(**STORAGE))
    assert (bare.kernels, bare.transfers, bare.composite, bare.facets) == (None, (), None, ())
    reverse = TransferRoute(There, Here, "there.here", TransferProvider(act))
    assert len(CarrierDefinition(**definition_fields(transfers=[ROUTE, reverse])).transfers) == 2


@pytest.mark.rule("R-78")
@pytest.mark.parametrize(
    ("version", "kind"), [(1, TypeError), (None, TypeError), (b"1", TypeError), ("", ValueError)]
)
def test_kernel_execution_interface(version: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="KernelExecutionInterface: version must"):
        KernelExecutionInterface(version)


@pytest.mark.rule("R-50")
def test_kernel_provider(workshop: Any) -> None:
    operation = workshop.operation()
    pattern = workshop.pattern(operation)
    for interface in ("1", KernelExecutionInterface):
        with pytest.raises(TypeError, match="interface must be a KernelExecutionInterface"):
            KernelProvider(interface)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="patterns must be an iterable of KernelPattern"):
        KernelProvider(INTERFACE, pattern)
    with pytest.raises(TypeError, match=r"patterns\[1\] must be a KernelPattern, got 3"):
        KernelProvider(INTERFACE, [pattern, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"patterns\[1\] repeats kernel_id 'kernel' of"):
        KernelProvider(INTERFACE, [pattern, workshop.pattern(workshop.operation())])
    provider = KernelProvider(INTERFACE, iter([pattern]))
    assert (provider.interface, provider.patterns) == (INTERFACE, (pattern,))


@pytest.mark.rule("R-98", "R-99")
def test_kernel_pattern(workshop: Any) -> None:
    operation = workshop.operation()
    plan = workshop.capability(operation.name)
    fields: dict[str, Any] = {
        "operation": operation,
        "plans": [plan],
        "kernel_id": "k",
        "prepare": act,
    }
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"operation": "add"}, TypeError, "operation must be an OperationDefinition, got 'add'"),
        ({"plans": plan}, TypeError, "plans must be an iterable of OperationCapability"),
        ({"plans": [3]}, TypeError, r"plans\[0\] must be an OperationCapability"),
        ({"plans": [workshop.plan(operation.name)]}, TypeError, r"plans\[0\] must be"),
        ({"kernel_id": 3}, TypeError, "kernel_id must be a str, got 3"),
        ({"prepare": None}, TypeError, "prepare must be callable, got None"),
        ({"preference": True}, TypeError, "preference must be an int other than bool, got True"),
        ({"preference": 1.0}, TypeError, "preference must be an int"),
        ({"plans": []}, ValueError, "'k': plans must hold at least one capability"),
        ({"kernel_id": ""}, ValueError, "kernel_id must not be empty"),
        ({"plans": [plan, plan]}, ValueError, r"plans\[1\] repeats the capability"),
        (
            {"plans": [workshop.capability("relu")]},
            ValueError,
            rf"plans\[0\] is a capability of 'relu', but the pattern serves '{operation.name}'",
        ),
        # Types come before contents.
        ({"plans": [], "prepare": None}, TypeError, "prepare must be callable"),
    ]
    for changes, kind, message in wrong:
        with pytest.raises(kind, match=message):
            KernelPattern(**(fields | changes))
    pattern = KernelPattern(**(fields | {"plans": iter([plan]), "preference": -3}))
    assert (pattern.operation, pattern.plans, pattern.preference) == (operation, (plan,), -3)
    assert KernelPattern(**fields).preference == 0


@pytest.mark.rule("R-85", "R-86", "R-87")
def test_kernel_pack(workshop: Any) -> None:
    pattern = workshop.pattern(workshop.operation())
    fields: dict[str, Any] = {
        "namespace": "acme",
        "version": "2",
        "carrier_class": Here,
        "execution_interface": INTERFACE,
        "patterns": [pattern],
    }
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"namespace": 3}, TypeError, "namespace must be a str, got 3"),
        ({"version": None}, TypeError, "version must be a str, got None"),
        ({"carrier_class": "Here"}, TypeError, "carrier_class must be a Carrier class, got 'Here'"),
        ({"carrier_class": int}, TypeError, "carrier_class must be a Carrier class"),
        ({"execution_interface": "1"}, TypeError, "must be a KernelExecutionInterface"),
        ({"patterns": pattern}, TypeError, "patterns must be an iterable of KernelPattern"),
        ({"patterns": [act]}, TypeError, r"patterns\[0\] must be a KernelPattern"),
        ({"namespace": ""}, ValueError, "namespace must not be empty"),
        ({"version": ""}, ValueError, "version must not be empty"),
        ({"patterns": ()}, ValueError, "patterns must hold at least one KernelPattern"),
        ({"patterns": [pattern, pattern]}, ValueError, "repeats kernel_id 'kernel'"),
        ({"namespace": "", "patterns": 3}, TypeError, "patterns must be an iterable"),
    ]
    for changes, kind, message in wrong:
        with pytest.raises(kind, match=message):
            KernelPack(**(fields | changes))
    pack = KernelPack(**(fields | {"patterns": iter([pattern])}))
    assert (pack.namespace, pack.version, pack.carrier_class) == ("acme", "2", Here)
    assert (pack.execution_interface, pack.patterns) == (INTERFACE, (pattern,))
    # Eligibility of the target is the business of the registration.
    for target in (Carrier, DependentCarrier, workshop.subclass()):
        assert KernelPack(**(fields | {"carrier_class": target})).carrier_class is target


@pytest.mark.rule("R-97")
@pytest.mark.parametrize(("reason", "kind"), [(3, TypeError), (None, TypeError), ("", ValueError)])
def test_unsupported(reason: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="Unsupported: reason must"):
        Unsupported(reason)
    assert Unsupported("no").reason == "no"


@pytest.mark.rule("R-35")
def test_prepared_work() -> None:
    for interface in ("1", KernelExecutionInterface, None):
        with pytest.raises(TypeError, match="PreparedKernel: interface must be"):
            PreparedKernel(interface, act)  # type: ignore[arg-type]
    makers: list[tuple[str, Callable[[Any], Any]]] = [
        ("PreparedKernel", lambda submit: PreparedKernel(INTERFACE, submit)),
        ("PreparedTransfer", PreparedTransfer),
        ("PreparedComposite", PreparedComposite),
    ]
    for name, make in makers:
        with pytest.raises(TypeError, match=f"{name}: submit must be callable, got 3"):
            make(3)
        assert make(act).submit is act


@pytest.mark.rule("R-34")
def test_provider_result(workshop: Any) -> None:
    tensor = workshop.tensor(workshop.defined(), 1.0)
    for outputs, message in (
        (tensor.carrier.size, "outputs must be an iterable of Tensor"),
        ([tensor, 3], r"outputs\[1\] must be a Tensor, got 3"),
        ([tensor.carrier], r"outputs\[0\] must be a Tensor, got"),
    ):
        with pytest.raises(TypeError, match=message):
            ProviderResult(outputs)
    with pytest.raises(ValueError, match="outputs must hold at least one Tensor"):
        ProviderResult(())
    assert ProviderResult(iter([tensor, tensor])).outputs == (tensor, tensor)


@pytest.mark.rule("R-42", "R-46", "R-51")
def test_routes_and_composites() -> None:
    provider = TransferProvider(act)
    callbacks = dict.fromkeys(("capabilities", "result_carriers", "prepare"), act)
    concrete = "must be a concrete Carrier subclass"
    wrong: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
        (TransferProvider, (3,), TypeError, "TransferProvider: prepare must be callable, got 3"),
        (TransferRoute, (3, There, "r", provider), TypeError, f"source_class {concrete}, got 3"),
        (TransferRoute, (Carrier, There, "r", provider), TypeError, f"source_class {concrete}"),
        (
            TransferRoute,
            (Here, DependentCarrier, "r", provider),
            TypeError,
            f"destination_class {concrete}",
        ),
        (TransferRoute, (Here, int, "r", provider), TypeError, f"destination_class {concrete}"),
        (TransferRoute, (Here, There, 3, provider), TypeError, "route_id must be a str, got 3"),
        (TransferRoute, (Here, There, "", act), TypeError, "provider must be a TransferProvider"),
        (TransferRoute, (Here, There, "", provider), ValueError, "route_id must not be empty"),
        *[
            (
                CompositeProvider,
                tuple((callbacks | {name: 3}).values()),
                TypeError,
                f"CompositeProvider: {name} must be callable, got 3",
            )
            for name in callbacks
        ],
    ]
    for make, arguments, kind, message in wrong:
        with pytest.raises(kind, match=message):
            make(*arguments)


def examples(workshop: Any) -> list[Any]:
    """One record of every kind."""
    pattern = workshop.pattern(workshop.operation())
    tensor = workshop.tensor(workshop.defined(), 1.0)
    return [
        StorageProvider(**STORAGE),
        CarrierDefinition(**definition_fields()),
        KernelProvider(INTERFACE),
        pattern,
        KernelPack("acme", "1", Here, INTERFACE, [pattern]),
        TransferProvider(act),
        ROUTE,
        CompositeProvider(act, act, act),
        Unsupported("no"),
        PreparedKernel(INTERFACE, act),
        PreparedTransfer(act),
        PreparedComposite(act),
        ProviderResult([tensor]),
        INTERFACE,
    ]


@pytest.mark.rule("S-19", "R-5", "R-13", "R-34", "R-35", "R-42", "R-46", "R-78", "R-97")
def test_no_record_ever_changes(workshop: Any) -> None:
    for record in examples(workshop):
        names = [name for name in type(record).__match_args__ if not name.startswith("_")]
        assert names
        for name in [*names, "anything_else"]:
            with pytest.raises(AttributeError, match="read-only"):
                setattr(record, name, None)
            with pytest.raises(AttributeError, match="read-only"):
                delattr(record, name)


@pytest.mark.rule("R-5")
def test_records_are_built_with_subscripts_and_are_final(workshop: Any) -> None:
    assert StorageProvider[Here](**STORAGE) == StorageProvider(**STORAGE)
    assert isinstance(CarrierDefinition[Here](**definition_fields()), CarrierDefinition)
    for record in examples(workshop)[:-1]:
        assert type(record).__final__ is True
        assert type(copy.copy(record)) is type(record)


def test_values_round_trip() -> None:
    assert pickle.loads(pickle.dumps(Unsupported("no"))) == Unsupported("no")
    assert replace(ROUTE, route_id="other").route_id == "other"
    assert sw.Unsupported("no") != sw.Unsupported("never")
