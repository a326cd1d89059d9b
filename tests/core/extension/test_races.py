"""Registrations against registrations, observations and each other, on real threads."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    Carrier,
    CarrierDefinition,
    CarrierFacet,
    DType,
    KernelExecutionInterface,
    KernelPack,
)
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)

FLOAT32 = DType.Float32
ROUNDS = 2500
INTERFACE = KernelExecutionInterface("1")


def race(rounds: list[list[Callable[[], Any]]]) -> list[list[Any]]:
    """Run the actions of each round at once; give each action's result or exception."""
    width = len(rounds[0])
    outcomes: list[list[Any]] = [[None] * width for _ in rounds]
    barrier = threading.Barrier(width)

    def run(position: int) -> None:
        for number, actions in enumerate(rounds):
            barrier.wait()
            try:
                outcomes[number][position] = actions[position]()
            except Exception as error:
                outcomes[number][position] = error

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(position,)) for position in range(width)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return outcomes


class Label(CarrierFacet):
    def __init__(self, owner: int) -> None:
        self.owner = owner


def fresh_class() -> type[Carrier]:
    return type("Shelf", (Carrier,), {})


@pytest.mark.rule("G-12", "R-9", "R-66")
def test_of_racing_definitions_one_wins_whole(workshop: Any) -> None:
    definitions = [
        CarrierDefinition(workshop.storage(), facets=[Label(owner)]) for owner in range(2)
    ]
    classes = [fresh_class() for _ in range(ROUNDS)]
    outcomes = race(
        [
            [
                lambda c=made, d=definition: sw.register_carrier_definition(c, d)  # type: ignore[misc]
                for definition in definitions
            ]
            for made in classes
        ]
    )
    for made, outcome in zip(classes, outcomes, strict=True):
        lost = [result for result in outcome if result is not None]
        assert [type(result) for result in lost] == [TypeError]
        assert made(1, dtype=FLOAT32).require_facet(Label).owner == outcome.index(None)


@pytest.mark.rule("G-12", "R-68", "R-91", "C-3")
@pytest.mark.parametrize("observation", ["construction", "query"])
def test_a_pack_is_in_the_seal_completely_or_not_at_all(workshop: Any, observation: str) -> None:
    operations = [workshop.operation() for _ in range(3)]
    patterns = [
        workshop.pattern(operation, f"k{position}") for position, operation in enumerate(operations)
    ]
    complete = {workshop.capability(operation.name) for operation in operations}
    classes = [workshop.defined() for _ in range(ROUNDS)]

    def observe(carrier_class: Any) -> Any:
        if observation == "query":
            return capabilities_for_carrier_class(carrier_class)
        return carrier_class(0, dtype=FLOAT32).operation_capabilities()

    def attach(carrier_class: Any) -> None:
        sw.register_kernel_pack(KernelPack("acme", "1", carrier_class, INTERFACE, patterns))

    outcomes = race(
        [
            [lambda c=made: observe(c), lambda c=made: attach(c)]  # type: ignore[misc]
            for made in classes
        ]
    )
    for made, (observed, attached) in zip(classes, outcomes, strict=True):
        final = capabilities_for_carrier_class(made)
        assert observed == final
        if attached is None:
            assert set(final) == complete
        else:
            assert isinstance(attached, TypeError) and "too late" in str(attached)
            assert final == ()


@pytest.mark.rule("G-12", "R-90")
def test_of_packs_with_one_identity_or_kernel_one_wins(workshop: Any) -> None:
    operation = workshop.operation()
    classes = [workshop.defined() for _ in range(ROUNDS)]

    def attach(carrier_class: Any, version: str) -> str:
        pattern = workshop.pattern(operation, "the one kernel")
        sw.register_kernel_pack(KernelPack("acme", version, carrier_class, INTERFACE, [pattern]))
        return version

    outcomes = race(
        [
            [lambda c=made, v=v: attach(c, v) for v in ("1", "2", "1")]  # type: ignore[misc]
            for made in classes
        ]
    )
    for made, outcome in zip(classes, outcomes, strict=True):
        won = [result for result in outcome if isinstance(result, str)]
        lost = [result for result in outcome if isinstance(result, ValueError)]
        assert (len(won), len(lost)) == (1, 2)
        assert len(capabilities_for_carrier_class(made)) == 1


@pytest.mark.rule("G-12", "R-116", "R-121", "O-26")
def test_a_class_gets_a_definition_or_a_declaration_never_both(workshop: Any) -> None:
    capability = workshop.capability("relu")
    definition = CarrierDefinition(workshop.storage())
    classes = [fresh_class() for _ in range(ROUNDS)]
    outcomes = race(
        [
            [
                lambda c=made: sw.register_carrier_definition(c, definition),  # type: ignore[misc]
                lambda c=made: register_operation_capabilities(c, [capability]),  # type: ignore[misc]
                lambda c=made: capabilities_for_carrier_class(c),  # type: ignore[misc]
            ]
            for made in classes
        ]
    )
    for made, (defined, declared, _) in zip(classes, outcomes, strict=True):
        assert not (defined is None and declared is None)
        if defined is None:
            assert made(1, dtype=FLOAT32).size() == 1
            assert capabilities_for_carrier_class(made) == ()
        elif declared is None:
            assert capabilities_for_carrier_class(made) == (capability,)
        else:
            assert "sealed by a query" in str(declared) and "sealed by a query" in str(defined)


@pytest.mark.rule("G-12", "C-3")
def test_racing_first_constructions_share_one_seal(workshop: Any) -> None:
    classes = [workshop.defined() for _ in range(ROUNDS)]
    outcomes = race([[lambda c=made: c(0, dtype=FLOAT32)] * 3 for made in classes])  # type: ignore[misc]
    for carriers in outcomes:
        records = {id(carrier._class_record) for carrier in carriers}
        assert len(records) == 1
