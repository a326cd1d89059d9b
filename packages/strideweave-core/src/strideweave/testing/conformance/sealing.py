"""Checks of the class itself: exact, sealed, and neither copied nor pickled."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

from strideweave.carriers.class_record import class_record
from strideweave.carriers.extension import CarrierDefinition, StorageProvider
from strideweave.carriers.extension.registration import register_carrier_definition
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require


@check("sealing.exact-class")
def exact_class(subject: CarrierAdapter[Any]) -> None:
    """Every carrier is of exactly the class under test, which is sealed."""
    for dtype in subject.dtypes:
        carrier = subject.make(2, dtype)
        origins = (
            ("make", carrier),
            ("new_like", carrier.new_like([carrier[0]])),
            ("allocate_like", carrier.allocate_like(2)),
        )
        for origin, made in origins:
            require(
                type(made) is subject.carrier_class,
                f"{origin} gave a {type(made).__qualname__}, not exactly a {subject.name}; "
                "definitions, routes and packs go by the exact class",
            )
    before = class_record(subject.carrier_class)
    definition: CarrierDefinition[Any] = CarrierDefinition(
        StorageProvider(_unused, _unused, _unused, _unused, _unused, _unused)
    )
    try:
        register_carrier_definition(subject.carrier_class, definition)
    except TypeError:
        pass
    else:
        raise ConformanceFailure(f"{subject.name} took a second definition after its first use")
    require(
        class_record(subject.carrier_class) is before,
        f"a refused registration changed what is registered for {subject.name}",
    )


def _unused(*arguments: object) -> Any:
    raise AssertionError("no callback of a refused definition is called")


@check("sealing.no-copies")
def no_copies(subject: CarrierAdapter[Any]) -> None:
    """A carrier can be neither copied nor pickled."""
    carrier = subject.make(2, subject.dtypes[0])
    attempts: dict[str, Callable[[Any], object]] = {
        "copy.copy": copy.copy,
        "copy.deepcopy": copy.deepcopy,
        "pickle.dumps": pickle.dumps,
    }
    for name, attempt in attempts.items():
        try:
            attempt(carrier)
        except TypeError:
            continue
        except Exception as error:
            raise ConformanceFailure(
                f"{name} of a {subject.name} must raise TypeError, it raised {error!r}"
            ) from error
        raise ConformanceFailure(
            f"{name} of a {subject.name} was accepted; a carrier owns storage, so copying and "
            "pickling must raise TypeError"
        )
