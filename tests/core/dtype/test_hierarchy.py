"""Kinds of descriptors, their relations, and which classes can be constructed."""

from collections.abc import Callable

import pytest

import strideweave as sw

D = sw.DType


@pytest.mark.rule("D-2")
def test_abstract_is_the_default_and_is_not_inherited(fresh_name: Callable[[], str]) -> None:
    class Concrete(sw.SimpleDType, abstract=False):
        pass

    class AbstractAgain(Concrete):
        pass

    class ConcreteAgain(AbstractAgain, abstract=False):
        pass

    made = Concrete(fresh_name(), bits=4, supertype=D.Floating)
    assert made.is_simple()
    assert ConcreteAgain(fresh_name(), bits=4, supertype=D.Floating).bits == 4
    with pytest.raises(TypeError, match=r"AbstractAgain is abstract.*abstract=False"):
        AbstractAgain(fresh_name(), bits=4, supertype=D.Floating)


@pytest.mark.rule("D-2", "D-3")
@pytest.mark.parametrize("cls", [D, sw.CompoundDType])
def test_an_abstract_class_refuses_before_it_looks_at_arguments(cls: type) -> None:
    with pytest.raises(TypeError, match=rf"{cls.__name__} is abstract"):
        cls("x", nonsense=object())
    with pytest.raises(TypeError, match=rf"{cls.__name__} is abstract"):
        cls()


@pytest.mark.rule("D-3")
def test_an_abstract_compound_with_valid_planes_is_refused() -> None:
    with pytest.raises(TypeError, match="CompoundDType is abstract"):
        sw.CompoundDType("x", simple_types=(D.Float32,))


@pytest.mark.rule("D-4")
def test_a_direct_subclass_of_the_root_is_none_of_the_kinds(fresh_name: Callable[[], str]) -> None:
    class Other(sw.DType, abstract=False):
        pass

    name = fresh_name()
    with pytest.raises(TypeError, match=r"Other must derive from exactly one of DTypeCategory"):
        Other(name)
    with pytest.raises(LookupError):
        D.from_name(name)


@pytest.mark.rule("D-4")
def test_a_class_of_two_kinds_is_refused(fresh_name: Callable[[], str]) -> None:
    class Both(sw.SimpleDType, sw.DTypeCategory, abstract=False):
        pass

    with pytest.raises(TypeError, match="it derives from 2"):
        Both(fresh_name(), bits=4, supertype=D.Any)


@pytest.mark.rule("D-5")
@pytest.mark.parametrize(
    ("descriptor", "kinds"),
    [
        (D.Floating, (True, False, False)),
        (D.Float32, (False, True, False)),
        (D.E4M3, (False, True, False)),
        (D.MXFP4, (False, False, True)),
    ],
)
def test_exactly_one_kind_predicate_holds(
    descriptor: sw.DType, kinds: tuple[bool, bool, bool]
) -> None:
    found = (descriptor.is_category(), descriptor.is_simple(), descriptor.is_compound())
    assert found == kinds


@pytest.mark.rule("D-5")
def test_a_category_has_no_width() -> None:
    assert not hasattr(D.Floating, "bits")


@pytest.mark.rule("D-6")
def test_identity_and_repr() -> None:
    assert D.Float32 == D.from_name("Float32")
    assert D.Float32 != D.Float64
    assert hash(D.Float32) == object.__hash__(D.Float32)
    assert repr(D.Float32) == "SimpleDType('Float32')"
    assert repr(D.MXFP4) == "BlockScaledDType('MXFP4')"


def test_members_of_every_descriptor() -> None:
    assert D.Float32.name == D.Float32.value == "Float32"
    assert D.Float32.supertype is D.Floating
    assert D.Any.supertype is None
    assert D.Any.supertypes() == ()
    assert D.Float32.supertypes() == (D.Floating, D.Any)
    assert D.Float32.representation_rules == ()
    assert D.Float32.structure_extension() == ()


def test_is_subtype_of_follows_categories() -> None:
    answers = [
        D.Float32.is_subtype_of(other) for other in (D.Float32, D.Floating, D.Any, D.Integer)
    ]
    assert answers == [True, True, True, False]


def test_is_subtype_of_needs_a_descriptor() -> None:
    with pytest.raises(TypeError, match=r"takes a DType, got 'Floating' of type str"):
        D.Float32.is_subtype_of("Floating")  # type: ignore[arg-type]  # the fault under test
