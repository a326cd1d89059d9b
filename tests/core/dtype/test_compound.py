"""Compound dtypes: planes, rules, and the order of constructor faults."""

from collections.abc import Callable

import pytest

import strideweave as sw

D = sw.DType


class Planar(sw.CompoundDType, abstract=False):
    def __init__(
        self,
        name: object,
        planes: object,
        rules: object = (),
        supertype: object = None,
    ) -> None:
        super().__init__(
            name,  # type: ignore[arg-type]  # tests pass anything
            supertype=supertype,  # type: ignore[arg-type]  # tests pass anything
            simple_types=planes,  # type: ignore[arg-type]  # tests pass anything
            representation_rules=rules,  # type: ignore[arg-type]  # tests pass anything
        )


class Always(sw.RepresentationRule):
    def validate(self, context: sw.RepresentationValidationContext) -> None:
        return None


@pytest.mark.rule("D-28")
def test_planes_are_the_storage_schema(fresh_name: Callable[[], str]) -> None:
    made = Planar(fresh_name(), (D.Float32, D.Int32), (Always(),), D.Floating)
    assert made.simple_types == (D.Float32, D.Int32)
    assert made.num_carriers == 2
    assert made.is_compound() and not made.is_simple()
    assert made.supertypes() == (D.Floating, D.Any)


@pytest.mark.rule("D-28")
def test_plain_compounds_are_unique_by_name_only(fresh_name: Callable[[], str]) -> None:
    first = Planar(fresh_name(), (D.Float32, D.Int32))
    second = Planar(fresh_name(), (D.Float32, D.Int32))
    assert first.structure() == second.structure()
    with pytest.raises(ValueError, match="already registered"):
        Planar(first.name, (D.Float32,))


@pytest.mark.rule("D-27")
def test_sequences_are_read_once_and_owned(fresh_name: Callable[[], str]) -> None:
    planes, rules = [D.Float32, D.Int32], [Always()]
    made = Planar(fresh_name(), planes, rules)
    planes.clear()
    rules.clear()
    assert made.simple_types == (D.Float32, D.Int32)
    assert len(made.representation_rules) == 1
    from_iterators = Planar(fresh_name(), iter((D.Float32,)), iter((Always(),)))
    assert from_iterators.num_carriers == len(from_iterators.representation_rules) == 1


FAULTS = [
    (("", 3, 4, D.Float32), ValueError, "name must be a non-empty str"),
    (("x", 3, 4, D.Float32), TypeError, "supertype must be a DTypeCategory"),
    (("x", 3, 4), TypeError, "simple_types must be an iterable, got 3 of type int"),
    (("x", (), 4), ValueError, "'x' needs at least one plane"),
    (("x", (D.Float32, D.Any), 4), TypeError, r"simple_types\[1\] must be a SimpleDType"),
    (("x", (D.Float32,), 4), TypeError, "representation_rules must be an iterable, got 4"),
    (
        ("x", (D.Float32,), (Always(), "rule")),
        TypeError,
        r"representation_rules\[1\] must be a RepresentationRule, got 'rule'",
    ),
]


@pytest.mark.rule("D-27")
@pytest.mark.parametrize(("arguments", "error", "text"), FAULTS)
def test_constructor_faults_in_order(
    arguments: tuple[object, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Planar(*arguments)
    with pytest.raises(LookupError):
        D.from_name("x")


def test_an_exception_of_the_iterable_itself_propagates(fresh_name: Callable[[], str]) -> None:
    def planes() -> object:
        yield D.Float32
        raise TypeError("from the generator")

    with pytest.raises(TypeError, match="from the generator"):
        Planar(fresh_name(), planes())
