"""The registration transaction, its order of checks, and lookup."""

from collections.abc import Callable

import pytest

import strideweave as sw

D = sw.DType


@pytest.mark.rule("D-10", "D-15")
def test_a_name_is_visible_only_after_the_most_derived_constructor(
    fresh_name: Callable[[], str],
) -> None:
    seen: list[bool] = []

    class Watching(sw.SimpleDType, abstract=False):
        def __init__(self, name: str) -> None:
            super().__init__(name, bits=4, supertype=D.Floating)
            seen.append(any(entry.name == name for entry in D.registered()))

    made = Watching(fresh_name())
    assert seen == [False]
    assert D.from_name(made.name) is made
    assert not hasattr(D, "unregister")


@pytest.mark.rule("D-10", "D-13")
def test_an_exception_at_any_depth_leaves_nothing(fresh_name: Callable[[], str]) -> None:
    escaped: list[sw.DType] = []

    class Failing(sw.BlockScaledDType, abstract=False):
        def __init__(self, name: str) -> None:
            super().__init__(name, element=D.E3M2, levels=[sw.Level(D.E8M0, 7)])
            escaped.append(self)
            raise RuntimeError("late")

    name, before = fresh_name(), D.registered()
    with pytest.raises(RuntimeError, match="late"):
        Failing(name)
    assert D.registered() == before
    with pytest.raises(LookupError):
        D.from_name(name)
    with pytest.raises(AttributeError, match="construction did not complete"):
        escaped[0].structure()
    made = sw.BlockScaledDType(name, element=D.E3M2, levels=[sw.Level(D.E8M0, 7)])
    assert D.from_name(name) is made, "name and structure of the failed one stayed free"


@pytest.mark.rule("D-11")
def test_a_constructor_that_skips_the_base_is_refused() -> None:
    class NoBase(sw.SimpleDType, abstract=False):
        def __init__(self) -> None:
            pass

    class OnlyRoot(sw.SimpleDType, abstract=False):
        def __init__(self) -> None:
            sw.DType.__init__(self, "OnlyRoot")

    class NoPlanes(sw.CompoundDType, abstract=False):
        def __init__(self) -> None:
            sw.DType.__init__(self, "NoPlanes")

    with pytest.raises(TypeError, match=r"NoBase did not initialize its DType base"):
        NoBase()
    with pytest.raises(TypeError, match=r"OnlyRoot did not initialize its SimpleDType base"):
        OnlyRoot()
    with pytest.raises(TypeError, match=r"NoPlanes did not initialize its CompoundDType base"):
        NoPlanes()


@pytest.mark.rule("D-11")
def test_the_stored_name_must_still_be_an_exact_str(fresh_name: Callable[[], str]) -> None:
    class Renaming(sw.SimpleDType, abstract=False):
        def __init__(self, name: str) -> None:
            super().__init__(name, bits=4, supertype=D.Floating)
            object.__setattr__(self, "_name", 5)

    with pytest.raises(TypeError, match=r"Renaming replaced its stored name by int"):
        Renaming(fresh_name())


class Shadowing(sw.SimpleDType, abstract=False):
    """Puts an owned member into its instance dictionary, early or from the hook."""

    def __init__(self, name: str, *, early: bool) -> None:
        super().__init__(name, bits=4, supertype=D.Floating)
        self.calls = 0
        if early:
            vars(self)["bits"] = 99

    def structure_extension(self) -> tuple[int, ...]:
        self.calls += 1
        vars(self)["bits"] = 99
        return ()


@pytest.mark.rule("D-11", "D-19")
@pytest.mark.parametrize("early", [True, False])
def test_an_instance_attribute_that_shadows_is_refused(
    fresh_name: Callable[[], str], early: bool
) -> None:
    with pytest.raises(TypeError, match=r"instance attribute 'bits', which SimpleDType owns"):
        Shadowing(fresh_name(), early=early)


@pytest.mark.rule("D-11")
def test_the_extension_hook_is_called_once_after_construction(
    fresh_name: Callable[[], str],
) -> None:
    calls: list[str] = []

    class Counting(sw.SimpleDType, abstract=False):
        def structure_extension(self) -> tuple[str, ...]:
            calls.append(self.name)
            return ("counted",)

    made = Counting(fresh_name(), bits=4, supertype=D.Floating)
    made.structure()
    assert calls == [made.name]


class Extended(sw.SimpleDType, abstract=False):
    """A simple dtype with any extension and one more reference."""

    def __init__(self, name: str, extension: object, supertype: sw.DTypeCategory) -> None:
        super().__init__(name, bits=4, supertype=supertype)
        self.extension = extension

    def structure_extension(self) -> tuple[str, ...]:
        return self.extension  # type: ignore[return-value]  # tests return anything


@pytest.mark.rule("D-11", "D-21")
def test_the_documented_order_of_faults() -> None:
    unfinished = sw.DTypeCategory.__new__(sw.DTypeCategory)
    with pytest.raises(TypeError, match=r"must return a tuple, got \[\] of type list"):
        Extended("Float32", [], unfinished)
    with pytest.raises(ValueError, match="construction did not complete"):
        Extended("Float32", (object(),), unfinished)
    with pytest.raises(TypeError, match=r"structure_extension\(\) contains"):
        Extended("Float32", (object(),), D.Floating)
    with pytest.raises(ValueError, match="'Float32' is already registered"):
        Extended("Float32", (), D.Floating)


@pytest.mark.rule("D-11", "D-37")
def test_a_taken_name_is_reported_before_a_taken_structure(fresh_name: Callable[[], str]) -> None:
    levels = [sw.Level(D.E8M0, 32)]
    with pytest.raises(ValueError, match="name 'Float32' is already registered"):
        sw.BlockScaledDType("Float32", element=D.E2M1, levels=levels)
    with pytest.raises(ValueError, match="same element and levels as the registered 'MXFP4'"):
        sw.BlockScaledDType(fresh_name(), element=D.E2M1, levels=levels)


@pytest.mark.rule("D-12")
def test_a_constructor_may_construct_others(fresh_name: Callable[[], str]) -> None:
    class Family(sw.DTypeCategory, abstract=False):
        def structure_extension(self) -> tuple[str, ...]:
            member = sw.SimpleDType(f"{self.name}Member", bits=4, supertype=D.Floating)
            return (member.name,)

    family = Family(fresh_name())
    assert D.from_name(f"{family.name}Member").is_simple()
    with pytest.raises(ValueError, match="already registered"):
        Family(family.name)


@pytest.mark.rule("D-14")
def test_registered_is_a_snapshot_in_order_of_instances_of_the_class(
    fresh_name: Callable[[], str],
) -> None:
    class Special(sw.SimpleDType, abstract=False):
        pass

    before = D.registered()
    first = Special(fresh_name(), bits=4, supertype=D.Floating)
    second = Special(fresh_name(), bits=4, supertype=D.Floating)
    assert Special.registered() == (first, second)
    assert D.registered() == (*before, first, second)
    assert sw.SimpleDType.registered()[-2:] == (first, second)
    assert sw.DTypeCategory.registered()[:3] == (D.Any, D.Floating, D.Integer)


class PretendsToBeText:
    __class__ = str  # type: ignore[assignment]  # the pretence under test


@pytest.mark.rule("D-14")
def test_from_name_faults() -> None:
    with pytest.raises(LookupError, match=r"DTypeCategory\('Any'\).*not a SimpleDType"):
        sw.SimpleDType.from_name("Any")
    with pytest.raises(LookupError, match="no dtype named 'Nope'"):
        D.from_name("Nope")
    with pytest.raises(TypeError, match="takes a str, got 3 of type int"):
        D.from_name(3)  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(TypeError, match="PretendsToBeText"):
        D.from_name(PretendsToBeText())  # type: ignore[arg-type]  # the fault under test


@pytest.mark.rule("D-15", "D-17")
def test_registering_adds_no_attribute(fresh_name: Callable[[], str]) -> None:
    made = sw.SimpleDType(fresh_name(), bits=16, supertype=D.Floating)
    assert D.from_name(made.name) is made
    assert not hasattr(D, made.name)
