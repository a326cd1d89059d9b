"""Representation rules: finalization, freezing and guards."""

import copy
from collections.abc import Callable

import pytest

import strideweave as sw


class Limit(sw.RepresentationRule):
    def __init__(self, limit: object) -> None:
        self.limit = limit

    def validate(self, context: sw.RepresentationValidationContext) -> None:
        return None

    def structure_extension(self) -> tuple[str, ...]:
        return (self.limit,)  # type: ignore[return-value]  # tests pass anything


@pytest.mark.rule("D-29")
def test_a_rule_without_validate_is_abstract() -> None:
    class NoValidate(sw.RepresentationRule):
        pass

    for cls in (sw.RepresentationRule, NoValidate):
        with pytest.raises(TypeError, match="abstract"):
            cls()  # type: ignore[abstract]  # the fault under test


@pytest.mark.rule("D-29", "D-30")
def test_structure_is_class_path_and_extension(fresh_name: Callable[[], str]) -> None:
    rule, twin = Limit(3), Limit(3)
    assert rule.structure() == (f"str:{__name__}", "str:Limit", ("int:3",))
    assert rule.structure() == twin.structure()
    assert rule != twin, "rules compare by identity"

    class Two(sw.CompoundDType, abstract=False):
        def __init__(self, name: str) -> None:
            planes = (sw.DType.Float32,)
            super().__init__(name, simple_types=planes, representation_rules=(rule, rule))

    first, second = Two(fresh_name()), Two(fresh_name())
    assert first.representation_rules == second.representation_rules == (rule, rule)


@pytest.mark.rule("D-29")
def test_the_extension_is_read_once_after_the_most_derived_constructor() -> None:
    reads: list[object] = []

    class Watching(Limit):
        def __init__(self) -> None:
            super().__init__("early")
            self.limit = "late"

        def structure_extension(self) -> tuple[str, ...]:
            reads.append(self.limit)
            return ("read",)

    rule = Watching()
    rule.structure()
    assert reads == ["late"]


@pytest.mark.rule("D-29")
def test_a_bad_extension_is_refused_by_the_constructor() -> None:
    class NoTuple(Limit):
        def structure_extension(self) -> tuple[str, ...]:
            return ["a"]  # type: ignore[return-value]  # the fault under test

    with pytest.raises(TypeError, match=r"NoTuple\.structure_extension\(\) must return a tuple"):
        NoTuple(3)
    with pytest.raises(TypeError, match="contains 1j of type complex"):
        Limit(1j)


@pytest.mark.rule("D-30")
def test_a_finalized_rule_is_frozen_and_its_own_copy() -> None:
    rule = Limit(3)
    with pytest.raises(AttributeError, match="cannot set 'limit' of a Limit"):
        rule.limit = 4
    with pytest.raises(AttributeError, match="cannot delete 'limit'"):
        del rule.limit
    assert copy.copy(rule) is rule
    assert copy.deepcopy((rule,))[0] is rule


@pytest.mark.rule("D-30")
@pytest.mark.parametrize(
    "member",
    ["structure", "__setattr__", "__delattr__", "__copy__", "__deepcopy__", "_structure"],
)
def test_owned_members_may_not_be_redefined(member: str) -> None:
    with pytest.raises(TypeError, match=rf"rule Bad defines '{member}'"):
        type("Bad", (Limit,), {member: None})


@pytest.mark.rule("D-30")
def test_owned_members_may_not_be_set_on_an_instance() -> None:
    class Setting(Limit):
        def __init__(self) -> None:
            self.structure = None  # type: ignore[assignment, method-assign]  # the fault under test

    with pytest.raises(TypeError, match="Setting sets 'structure', which RepresentationRule owns"):
        Setting()


def test_a_rule_that_escaped_a_failed_constructor_has_no_structure() -> None:
    unfinished = Limit.__new__(Limit)
    with pytest.raises(AttributeError, match="construction did not complete"):
        unfinished.structure()
