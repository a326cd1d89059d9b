"""Which checks apply to a carrier, and what was left out."""

from typing import Any

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import class_record
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.catalogue import CHECKS
from strideweave.testing.conformance.check import Check


def applicable_checks(subject: CarrierAdapter[Any]) -> list[Check]:
    """List the checks that run for a carrier.

    Raises:
        ValueError: ``not_applicable`` names no check of every carrier.
    """
    general = {check.identifier for check in CHECKS if check.ability is None}
    for identifier in subject.not_applicable:
        if identifier not in general:
            raise ValueError(
                f"{type(subject).__qualname__}.not_applicable names {identifier!r}, which is no "
                f"check of every carrier; those are {', '.join(sorted(general))}"
            )
    has_definition = _has_definition(subject.carrier_class)
    return [
        check
        for check in CHECKS
        if check.identifier not in subject.not_applicable
        and (check.ability is None or check.ability in subject.abilities)
        and (has_definition or not check.needs_definition)
    ]


def omissions(subject: type[CarrierAdapter[Any]]) -> list[str]:
    """Word what was not checked: abilities that are not declared, and checks that were excepted."""
    undeclared = [ability.value for ability in Ability if ability not in subject.abilities]
    lines = [f"not declared: {', '.join(undeclared)}"] if undeclared else []
    lines += [f"not applicable: {name} ({why})" for name, why in subject.not_applicable.items()]
    if not _has_definition(subject.carrier_class):
        names = ", ".join(check.identifier for check in CHECKS if check.needs_definition)
        lines.append(f"not applicable: {names} (the class has no CarrierDefinition)")
    return lines


def _has_definition(carrier_class: type[Carrier]) -> bool:
    return class_record(carrier_class).definition is not None
