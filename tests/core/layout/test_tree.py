"""Node markers and trees."""

import copy
import pickle
from collections.abc import Callable

import pytest

from strideweave.layout import Node, Tree


@pytest.mark.rule("L-10")
def test_node_is_an_enum_of_three() -> None:
    assert [(node.name, node.value) for node in Node] == [("Leaf", 1), ("Push", 2), ("Pop", 3)]


@pytest.mark.rule("L-10")
def test_an_id_is_a_value_but_no_member() -> None:
    marker = Node.id(3)
    assert marker.id == 3
    assert repr(marker) == "Node.id(3)"
    assert marker == Node.id(3) != Node.id(4)
    assert len({marker, Node.id(3)}) == 1
    members: list[object] = [*Node]
    assert marker not in members
    with pytest.raises(AttributeError):
        marker.id = 4  # type: ignore[misc]


@pytest.mark.rule("L-10")
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (1.0, TypeError, "must be an integer, got float"),
        (True, TypeError, "must be an integer, got bool"),
        (None, TypeError, "must be an integer"),
        (-1, ValueError, "Node leaf id must be non-negative, got -1"),
    ],
)
def test_refused_ids(number: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Node.id(number)


@pytest.mark.rule("L-11")
def test_integers_become_leaves() -> None:
    assert Tree(1, 7, True) == Tree(Node.Leaf, Node.Leaf, Node.Leaf)
    assert Tree(Node.id(0)) != Tree(Node.Leaf)
    assert isinstance(Tree(1), tuple)
    assert Tree(1) == (Node.Leaf,)


@pytest.mark.rule("L-11")
@pytest.mark.parametrize("item", [[1], (1,), Node.Push, Node.Pop, None, "a", 1.0])
def test_refused_items(item: object) -> None:
    with pytest.raises(ValueError, match="Tree items must be"):
        Tree(1, item)


@pytest.mark.rule("L-11")
def test_trees_are_immutable() -> None:
    tree = Tree(1)
    with pytest.raises(AttributeError, match="immutable"):
        tree.anything = 1


@pytest.mark.rule("L-11")
def test_members() -> None:
    tree = Tree(1, Tree(Node.id(4), Tree(1)), Tree())
    assert (tree.size, tree.depth) == (3, 3)
    assert (Tree().size, Tree().depth) == (0, 1)
    leaf, push, pop = Node.Leaf, Node.Push, Node.Pop
    assert tree.recipe == [leaf, push, leaf, push, leaf, pop, pop, push, pop]
    assert Tree.get_recipe(tree) == tree.recipe
    assert Tree.bake_tree(tree.recipe) == Tree(1, Tree(1, Tree(1)), Tree())
    with pytest.raises(TypeError, match="tree must be a Tree"):
        Tree.get_recipe([1])  # type: ignore[arg-type]


@pytest.mark.rule("L-11")
def test_baking_fills_nested_lists() -> None:
    assert Tree(1, Tree(1, 1)).reshape("ABCD") == ["A", ["B", "C"]]
    assert Tree.bake(iter("AB"), [Node.Push, Node.Leaf, Node.Pop, Node.Leaf]) == [["A"], "B"]
    assert Tree().reshape([]) == []


@pytest.mark.rule("L-11")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Tree(1, 1).reshape("A"), "does not match recipe length"),
        (lambda: Tree.bake("A", [Node.Leaf, Node.Leaf]), "does not match recipe length"),
        (lambda: Tree.bake("A", [Node.Push, Node.Leaf]), "a Push has no Pop"),
        (lambda: Tree.bake("A", [Node.Leaf, Node.Pop]), "a Pop has no Push"),
        (lambda: Tree.bake_tree([1]), "recipe steps must be"),  # type: ignore[list-item]
    ],
)
def test_refused_recipes(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.rule("L-42", "G-18")
def test_trees_survive_copying_and_pickling() -> None:
    tree = Tree(1, Tree(Node.id(4)))
    for restored in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert restored == tree
        assert isinstance(restored, Tree)


@pytest.mark.rule("L-43")
def test_repr_evaluates_back() -> None:
    tree = Tree(1, Tree(Node.id(4), Tree()))
    assert repr(tree) == "Tree(Node.Leaf, Tree(Node.id(4), Tree()))"
    assert eval(repr(tree)) == tree
