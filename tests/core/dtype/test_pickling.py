"""Pickles name a descriptor and its structure; the receiver's own object answers."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest

import strideweave as sw
from strideweave.carriers import dtype as public

D = sw.DType


@pytest.mark.rule("D-24")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_built_in_round_trips_to_itself(protocol: int) -> None:
    for descriptor in D.registered()[:21]:
        assert pickle.loads(pickle.dumps(descriptor, protocol)) is descriptor


@pytest.mark.rule("D-24")
def test_a_pickle_names_the_public_function_and_two_values() -> None:
    expected = (public._unpickle_dtype, ("NVFP4", D.NVFP4.structure()))
    assert D.NVFP4.__reduce__() == expected


@pytest.mark.rule("D-24")
def test_unpickling_faults() -> None:
    with pytest.raises(LookupError, match=r"'Zed' is not registered in this process"):
        public._unpickle_dtype("Zed", ())
    with pytest.raises(ValueError, match=r"'Float32'.*first differ at structure\(\)\[1\]\[0\]"):
        public._unpickle_dtype("Float32", D.Int32.structure())
    with pytest.raises(ValueError, match=r"first differ at structure\(\)\[3\]"):
        public._unpickle_dtype("Float32", D.Float64.structure())
    with pytest.raises(ValueError, match=r"first differ at structure\(\)\[4\]"):
        public._unpickle_dtype("Float32", D.Float32.structure()[:-1])


@pytest.mark.rule("D-24")
def test_an_extension_must_be_registered_before_it_is_unpickled(
    fresh_name: Callable[[], str],
) -> None:
    made = sw.SimpleDType(fresh_name(), bits=16, supertype=D.Floating)
    program = (
        "import pickle, strideweave as sw\n"
        f"data = {pickle.dumps(made)!r}\n"
        "try: pickle.loads(data)\n"
        "except LookupError as error: print(error)\n"
        f"made = sw.SimpleDType({made.name!r}, bits=16, supertype=sw.DType.Floating)\n"
        "print(pickle.loads(data) is made)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first.startswith(f"dtype '{made.name}' is not registered")
    assert second == "True"


@pytest.mark.rule("D-24", "D-13")
def test_an_unfinished_descriptor_cannot_be_pickled() -> None:
    unfinished = sw.SimpleDType.__new__(sw.SimpleDType)
    with pytest.raises(AttributeError):
        pickle.dumps(unfinished)


@pytest.mark.rule("D-32", "D-34", "D-35", "D-39")
@pytest.mark.parametrize(
    "value", [sw.Level(D.E8M0, 32), sw.Level(D.E8M0, sw.Whole), sw.SymbolicBits(4.5, 32)], ids=repr
)
def test_values_round_trip_by_value(value: object) -> None:
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert hash(again) == hash(value)
