"""What someone gets who installs strideweave-core and nothing else."""

from typing import Protocol

import pytest


class Environment(Protocol):
    def evaluate(self, program: str) -> object: ...


ADD_ON_THE_ARRAY_CARRIER = """
import json, sys
import strideweave as sw
from strideweave.testing import ArrayCarrier

tensor = sw.friendly.tensor([1.0, 2.0, 3.0, 4.0], carrier=ArrayCarrier)
total = sw.reduce_sum(tensor + 1.0, "a -> 1")
print(json.dumps([total[0], "numpy" in sys.modules]))
"""


def test_installs_typing_extensions_only(core_only: Environment) -> None:
    names = core_only.evaluate(
        "import json; from importlib.metadata import distributions\n"
        "print(json.dumps(sorted(d.name for d in distributions())))"
    )
    assert names == ["strideweave-core", "typing_extensions"]


def test_computes_without_numpy(core_only: Environment) -> None:
    assert core_only.evaluate(ADD_ON_THE_ARRAY_CARRIER) == [14.0, False]


@pytest.mark.rule("C-1", "G-17")
@pytest.mark.parametrize("module", ["strideweave", "strideweave.carriers"])
@pytest.mark.parametrize(
    ("name", "distribution"), [("CPU", "strideweave-compute"), ("Generic", "strideweave-storage")]
)
def test_a_name_of_an_absent_layer_names_the_distribution(
    core_only: Environment, module: str, name: str, distribution: str
) -> None:
    program = f"""
import importlib, json
module = importlib.import_module({module!r})
messages = []
for attempt in (lambda: module.{name}, lambda: exec("from {module} import {name}")):
    try:
        attempt()
    except ImportError as error:
        messages.append([type(error).__name__, str(error)])
print(json.dumps([messages, {name!r} in dir(module), {name!r} in module.__all__]))
"""
    message = (
        f"{module}.{name} is provided by the distribution '{distribution}', which is not "
        f"installed: python -m pip install {distribution}"
    )
    expected = ["ModuleNotFoundError", message]
    assert core_only.evaluate(program) == [[expected, expected], False, False]


@pytest.mark.rule("C-86")
def test_the_conformance_kit_says_what_it_needs(core_only: Environment) -> None:
    program = """
import json
from strideweave.testing import *
try:
    from strideweave.testing import CarrierConformance
except ImportError as error:
    print(json.dumps([str(error), ArrayCarrier.__name__]))
"""
    assert core_only.evaluate(program) == [
        "strideweave.testing.CarrierConformance needs pytest and hypothesis, and hypothesis is not "
        "installed: python -m pip install 'strideweave-core[testing]'",
        "ArrayCarrier",
    ]


def test_star_import_needs_no_other_layer(core_only: Environment) -> None:
    program = "from strideweave import *\nimport json; print(json.dumps(Layout.__name__))"
    assert core_only.evaluate(program) == "Layout"


def test_an_unknown_name_is_an_attribute_error(core_only: Environment) -> None:
    program = """
import json, strideweave
try:
    strideweave.view
except AttributeError as error:
    print(json.dumps(str(error)))
"""
    assert core_only.evaluate(program) == "module 'strideweave' has no attribute 'view'"


@pytest.mark.rule("G-15")
def test_importing_opens_nothing_and_starts_nothing(core_only: Environment) -> None:
    program = """
import json, sys, threading
events = []
def record(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc", ".so")):
        events.append(f"open {arguments[0]}")
    if event.startswith(("socket.", "subprocess.", "os.system", "os.fork", "_thread.")):
        events.append(event)
sys.addaudithook(record)
import strideweave
loaded = sorted({"numpy", "importlib.metadata", "asyncio"} & {*sys.modules})
print(json.dumps([events, loaded, threading.active_count()]))
"""
    assert core_only.evaluate(program) == [[], [], 1]


@pytest.mark.rule("G-15")
def test_importing_loads_neither_modules_nor_the_profiler(core_only: Environment) -> None:
    program = """
import json, sys
import strideweave
rooms = ("friendly", "module", "nn", "profiling")
before = [room for room in rooms if f"strideweave.{room}" in sys.modules]
listed = [room for room in rooms if room in dir(strideweave)]
print(json.dumps([before, listed, [getattr(strideweave, room).__name__ for room in rooms]]))
"""
    rooms = ["friendly", "module", "nn", "profiling"]
    assert core_only.evaluate(program) == [[], rooms, [f"strideweave.{room}" for room in rooms]]
