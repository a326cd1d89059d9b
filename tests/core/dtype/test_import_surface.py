"""The public names of the dtype model and the module they present."""

import pytest

import strideweave as sw
import strideweave.carriers
import strideweave.carriers.dtype as public

CLASSES = (
    "BlockScaledDType",
    "CompoundDType",
    "DType",
    "DTypeCategory",
    "Level",
    "LevelExtent",
    "RepresentationRule",
    "RepresentationValidationContext",
    "SimpleDType",
    "SymbolicBits",
    "WholeExtent",
)
HELPERS = ("accepts_storage_dtype", "storage_zero", "validate_storage_dtype")

pytestmark = pytest.mark.rule("D-1")


def test_all_lists_exactly_the_fifteen_names() -> None:
    assert sorted(public.__all__) == sorted((*CLASSES, "Whole", *HELPERS))


@pytest.mark.parametrize("name", [*CLASSES, "Whole"])
def test_a_name_is_one_object_at_every_public_path(name: str) -> None:
    assert getattr(sw, name) is getattr(public, name)
    assert getattr(strideweave.carriers, name) is getattr(public, name)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_present_the_public_module(name: str) -> None:
    assert getattr(public, name).__module__ == "strideweave.carriers.dtype"


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_have_one_path(name: str) -> None:
    assert callable(getattr(public, name))
    assert not hasattr(strideweave.carriers, name)
