"""What may not change: registered descriptors, built-in attributes and owned members."""

import copy
from collections.abc import Callable

import pytest

import strideweave as sw

D = sw.DType


@pytest.mark.rule("D-16")
def test_a_registered_descriptor_refuses_change() -> None:
    for name in ("foo", "bits", "_name", "__class__"):
        with pytest.raises(AttributeError, match=rf"cannot set '{name}' of SimpleDType\('Float32'"):
            setattr(D.Float32, name, 3)
        with pytest.raises(AttributeError, match=rf"cannot delete '{name}'"):
            delattr(D.Float32, name)
    with pytest.raises(AttributeError, match="never changes"):
        D.Float32.__init__("Float32", bits=64, supertype=D.Floating)  # type: ignore[misc]  # on purpose
    assert D.Float32.bits == 32


@pytest.mark.rule("D-16")
def test_copies_are_the_descriptor() -> None:
    assert copy.copy(D.NVFP4) is D.NVFP4
    assert copy.deepcopy([D.NVFP4])[0] is D.NVFP4


class WithDict(sw.SimpleDType, abstract=False):
    def __init__(self, name: str, family: str) -> None:
        self.family = family
        super().__init__(name, bits=4, supertype=D.Floating)
        self.temporary = 1
        del self.temporary


class WithSlots(sw.SimpleDType, abstract=False):
    __slots__ = ("family",)

    def __init__(self, name: str, family: str) -> None:
        super().__init__(name, bits=4, supertype=D.Floating)
        self.family = family


@pytest.mark.rule("D-16")
@pytest.mark.parametrize("cls", [WithDict, WithSlots])
def test_a_subclass_assigns_its_own_fields_until_it_is_registered(
    fresh_name: Callable[[], str], cls: type[WithDict] | type[WithSlots]
) -> None:
    made = cls(fresh_name(), "narrow")
    assert made.family == "narrow"
    with pytest.raises(AttributeError, match="cannot set 'family'"):
        made.family = "wide"


@pytest.mark.rule("D-17")
def test_built_in_attributes_stay(fresh_name: Callable[[], str]) -> None:
    made = sw.SimpleDType(fresh_name(), bits=16, supertype=D.Floating)
    for value in (3, D.Float32, made):
        with pytest.raises(AttributeError, match=r"DType\.Float32"):
            D.Float32 = value  # type: ignore[assignment]  # the fault under test
    with pytest.raises(AttributeError, match="built-in"):
        del D.Float32
    with pytest.raises(AttributeError, match=rf"from_name\('{made.name}'\)"):
        setattr(D, made.name, made)
    with pytest.raises(AttributeError, match="only built-in"):
        D.Alias = D.Int32  # type: ignore[attr-defined]  # the fault under test


@pytest.mark.rule("D-17")
def test_an_unrelated_attribute_is_not_blocked() -> None:
    D.note = "free"  # type: ignore[attr-defined]  # on purpose
    del D.note  # type: ignore[attr-defined]  # on purpose
    assert not hasattr(D, "note")


@pytest.mark.rule("D-17", "D-25")
def test_exactly_the_built_ins_are_attributes() -> None:
    attributes = {name for name, value in vars(D).items() if isinstance(value, D)}
    assert attributes == {entry.name for entry in D.registered()[:21]}


ROOT_MEMBERS = (
    "name value supertype supertypes is_subtype_of structure representation_rules "
    "__getattr__ __getattribute__ __setattr__ __delattr__"
).split()
PREDICATES = ["is_category", "is_simple", "is_compound"]
OWNED = [
    *(
        (sw.SimpleDType, member)
        for member in [*ROOT_MEMBERS, *PREDICATES, "bits", "_name", "_bits"]
    ),
    *((sw.DTypeCategory, member) for member in [*ROOT_MEMBERS, *PREDICATES]),
    *((sw.CompoundDType, member) for member in [*PREDICATES, "simple_types", "num_carriers"]),
    *((sw.BlockScaledDType, member) for member in [*PREDICATES, "simple_types", "element"]),
    *((sw.BlockScaledDType, member) for member in ["levels", "num_axes", "bits_per_element"]),
]


@pytest.mark.rule("D-18", "D-19")
@pytest.mark.parametrize(("base", "member"), OWNED)
def test_a_class_body_may_not_define_an_owned_member(base: type, member: str) -> None:
    with pytest.raises(TypeError, match=rf"Bad defines '{member}', which \w+ owns"):
        type("Bad", (base,), {member: None})


@pytest.mark.rule("D-18", "D-19")
@pytest.mark.parametrize(("base", "member"), OWNED)
def test_a_mixin_may_not_bring_an_owned_member(base: type, member: str) -> None:
    mixin = type("Mixin", (), {member: None})
    for bases in ((mixin, base), (base, mixin)):
        with pytest.raises(TypeError, match=rf"Bad inherits from Mixin '{member}'"):
            type("Bad", bases, {})


@pytest.mark.rule("D-19")
@pytest.mark.parametrize(("base", "member"), OWNED)
def test_an_owned_member_of_an_existing_class_stays(base: type, member: str) -> None:
    with pytest.raises(AttributeError, match=rf"cannot set {base.__name__}\.{member}"):
        setattr(base, member, None)
    with pytest.raises(AttributeError, match=rf"cannot delete {base.__name__}\.{member}"):
        delattr(base, member)


@pytest.mark.rule("D-18")
def test_a_slot_of_an_intermediate_class_is_owned() -> None:
    class Family(sw.SimpleDType):
        __slots__ = ("family",)

    with pytest.raises(TypeError, match=r"Bad defines 'family', which .*Family owns"):
        type("Bad", (Family,), {"family": None})
    with pytest.raises(TypeError, match=r"Bad defines 'family'"):
        type("Bad", (Family,), {"__slots__": ("family",)})
    with pytest.raises(AttributeError, match=r"Family\.family"):
        Family.family = None  # type: ignore[attr-defined]  # the fault under test


@pytest.mark.rule("D-18")
def test_a_member_defined_on_a_branch_of_the_root_cannot_enter_another_kind() -> None:
    class Branch(sw.DType):
        def is_simple(self) -> bool:
            return False

    with pytest.raises(TypeError, match=r"Bad inherits from .*Branch 'is_simple'"):
        type("Bad", (Branch, sw.SimpleDType), {})


def test_an_example_of_the_contract_class_body() -> None:
    with pytest.raises(TypeError, match=r"Bad defines 'simple_types', which CompoundDType owns"):

        class Bad(sw.CompoundDType, abstract=False):
            simple_types = ()


@pytest.mark.rule("D-18", "D-19")
@pytest.mark.parametrize("member", ["bits", "name", "is_category", "_supertype", "structure"])
def test_a_constructor_may_not_set_an_owned_member(
    fresh_name: Callable[[], str], member: str
) -> None:
    class Setting(sw.SimpleDType, abstract=False):
        def __init__(self, name: str) -> None:
            super().__init__(name, bits=4, supertype=D.Floating)
            setattr(self, member, None)

    with pytest.raises(TypeError, match=rf"Setting sets '{member}', which \w+ owns"):
        Setting(fresh_name())


@pytest.mark.rule("D-20")
def test_a_subclass_adds_to_identity_but_drops_no_layer(fresh_name: Callable[[], str]) -> None:
    class Variant(sw.BlockScaledDType, abstract=False):
        def structure_extension(self) -> tuple[str, ...]:
            return ("variant",)

    levels = [sw.Level(D.E8M0, 32)]
    made = Variant(fresh_name(), element=D.E2M1, levels=levels)
    assert made.structure()[:-1] == D.MXFP4.structure()[:-1]
    assert made.structure()[-1] == ("str:variant",)
    with pytest.raises(ValueError, match=f"registered '{made.name}'"):
        Variant(fresh_name(), element=D.E2M1, levels=levels)
