"""Modules: registration, traversal and paths."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Parameter

Module: Any = sw.Module  # its attributes are not declared


class Leaf(sw.Module):
    def forward(self, value: int, *, factor: int = 1) -> int:
        return value * factor


@pytest.fixture
def new(make: Callable[..., Any]) -> Callable[..., Parameter]:
    return lambda name=None: Parameter(make([1.0]), name=name)


def paths(module: sw.Module) -> list[str]:
    return [path for path, _ in module.get_named_parameters()]


@pytest.mark.rule("N-21")
def test_module_names_are_checked() -> None:
    module = Module(name="encoder")
    assert module.name == "encoder"
    for name, kind, message in (
        (3, TypeError, "must be a str or None"),
        ("", ValueError, "non-empty"),
        ("a.b", ValueError, r"must not contain '\.'"),
    ):
        with pytest.raises(kind, match=message):
            Module(name=name)
        with pytest.raises(kind, match=message):
            module.name = name
    module.name = None
    assert module.name is None


@pytest.mark.rule("N-22", "N-24", "Z-20")
def test_paths_use_own_names_before_attribute_names(new: Callable[..., Any]) -> None:
    root = Module(name="root")
    root.kernel_attribute = new("kernel")
    root.child = Module(name="encoder")
    root.child.weight = new()
    assert paths(root) == ["kernel", "encoder.weight"]
    assert root.parameters() == (root.kernel_attribute, root.child.weight)


@pytest.mark.rule("N-22", "N-24", "Z-21")
def test_shared_parameter_has_its_first_path(new: Callable[..., Any]) -> None:
    root = Module()
    root.a = root.b = new()
    assert paths(root) == ["a"]
    del root.a
    assert paths(root) == ["b"]
    with pytest.raises(AttributeError):
        del root.a


@pytest.mark.rule("N-22", "Z-22")
def test_reassignment_changes_the_registration(
    new: Callable[..., Any], make: Callable[..., Any]
) -> None:
    root = Module()
    root.x = new()
    assert paths(root) == ["x"] and root.modules() == (root,)
    root.x = child = Module()
    assert paths(root) == [] and root.modules() == (root, child)
    root.x = make([1.0])
    assert paths(root) == [] and root.modules() == (root,)


@pytest.mark.rule("N-22")
def test_order_is_insertion_order_and_reassignment_keeps_its_place(new: Callable[..., Any]) -> None:
    root = Module()
    root.a, root.b = new(), new()
    root.a = new()
    assert paths(root) == ["a", "b"]
    root.a = 3
    root.a = new()
    assert paths(root) == ["b", "a"]


@pytest.mark.rule("N-22")
def test_private_and_early_attributes_are_plain(new: Callable[..., Any]) -> None:
    class Early(sw.Module):
        def __init__(self, parameter: Parameter) -> None:
            self.early = parameter
            super().__init__(name="early")
            self._private = parameter
            self.public = parameter

    assert paths(Early(new())) == ["public"]


@pytest.mark.rule("N-23")
def test_calling_runs_forward() -> None:
    assert Leaf()(3, factor=2) == 6
    with pytest.raises(NotImplementedError, match="forward"):
        Module()(3)


@pytest.mark.rule("N-24")
def test_modules_are_depth_first_once_and_survive_cycles(new: Callable[..., Any]) -> None:
    root, left, right, shared = Module(), Module(), Module(), Module()
    root.left, root.right = left, right
    left.shared, right.shared = shared, shared
    shared.back = root
    shared.weight = new()
    right.weight = new()
    root.weight = new()
    assert root.modules() == (root, left, shared, right)
    assert paths(root) == ["weight", "left.shared.weight", "right.weight"]


@pytest.mark.rule("N-22", "G-17")
def test_a_module_that_was_never_initialized_is_named(new: Callable[..., Any]) -> None:
    class Hasty(sw.Module):
        def __init__(self) -> None:
            self.weight = new()

    root = Module()
    root.child = Hasty()
    for module in (Hasty(), root):
        with pytest.raises(
            RuntimeError, match=r"Hasty is not initialized.* super\(\)\.__init__\(\)"
        ):
            module.parameters()


@pytest.mark.rule("N-24")
def test_deep_trees_do_not_recurse() -> None:
    root = module = Module()
    for _ in range(5000):
        module.next = Module()
        module = module.next
    assert len(root.modules()) == 5001


def test_repr_shows_the_tree_with_dtypes_and_shapes(make: Callable[..., Any]) -> None:
    root = Module()
    root.inner = Module()
    root.inner.weight = Parameter(make([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(2,3):(1,2)"))
    root.leaf = Leaf()
    root.bias = Parameter(make([1, 2], dtype=sw.DType.Int32))
    assert repr(root) == (
        "Module(\n"
        "  bias: Int32 2\n"
        "  inner: Module(\n"
        "    weight: Float32 (2,3)\n"
        "  )\n"
        "  leaf: Leaf()\n"
        ")"
    )


def test_repr_of_a_cycle_ends() -> None:
    module = Module()
    module.itself = module
    assert repr(module) == "Module(\n  itself: ...\n)"


def test_repr_works_before_initialization() -> None:
    shown = []

    class Early(sw.Module):
        def __init__(self) -> None:
            shown.append(repr(self))
            super().__init__()

    Early()
    assert shown == [f"{Early.__qualname__}(not initialized)"]
