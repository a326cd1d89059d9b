"""Records are frozen, slotted and compare by value, also when they are generic."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from strideweave import Unsupported
from strideweave._record import record

T = TypeVar("T")


@record
class Pair(Generic[T]):
    first: T
    second: int = 2
    note: object = dataclasses.field(default=None, repr=False, compare=False)


def test_builds_under_a_subscript() -> None:
    assert Pair[str]("a") == Pair("a")
    assert repr(Pair[str]("a")) == "Pair(first='a', second=2)"


def test_compares_and_hashes_the_compared_fields() -> None:
    assert Pair(1, note="x") == Pair(1, note="y")
    assert hash(Pair(1, note=[])) == hash(Pair(1))
    assert Pair(1) != Pair(1, 3)
    assert Pair(1).__eq__((1, 2)) is NotImplemented


@pytest.mark.rule("S-19")
@pytest.mark.parametrize("name", ["first", "undeclared", "__orig_class__"])
def test_refuses_every_assignment(name: str) -> None:
    pair = Pair(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"Pair.{name} is read-only"):
        setattr(pair, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"Pair.{name} is read-only"):
        delattr(pair, name)
    assert pair.first == 1


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_round_trips(again: Callable[[Any], Any]) -> None:
    assert again(Pair("a", 3)) == Pair("a", 3)


def test_replace_builds_another_record() -> None:
    assert dataclasses.replace(Pair("a"), second=5) == Pair("a", 5)


@record
class Node:
    child: list["Node"]


def test_repr_of_a_cycle_ends() -> None:
    node = Node([])
    node.child.append(node)
    assert repr(node) == "Node(child=[...])"


@pytest.mark.rule("S-19")
def test_public_records_are_frozen() -> None:
    rejection = Unsupported("not aligned")
    with pytest.raises(AttributeError, match=r"Unsupported.reason is read-only"):
        rejection.reason = "other"  # type: ignore[misc]  # the refusal under test
