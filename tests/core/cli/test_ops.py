"""``strideweave ops``."""

from typing import Any

import pytest

from strideweave.operation import operation_definitions

ARRAY = "strideweave.testing:ArrayCarrier"
OWN_OPERATION = """
import strideweave as sw
from strideweave.operation import operation_definition
from strideweave.carriers.extension import *

relu = operation_definition("relu")
def resolve(call):
    "The operand's dtype and layout."
    return relu.resolve(call)
sw.define_operation("{module}.twin", relu.schema, resolve, vjp=sw.NON_DIFFERENTIABLE)
class Slab(sw.Carrier): ...
"""


def test_lists_every_operation_once_and_in_order(ask: Any, shelf: Any) -> None:
    answer = ask("ops")
    header, *rows = answer.output.splitlines()
    assert (answer.status, header.split()) == (0, ["OPERATION", "OPERANDS", "PLANS", "GRADIENT"])
    assert [row.split()[0] for row in rows] == [
        definition.name for definition in operation_definitions()
    ]


@pytest.mark.parametrize(
    "row", ["clamp tensor, lower, upper 4 yes", "eq lhs, rhs 4 no", "relu tensor 2 yes"]
)
def test_a_row_tells_operands_plans_and_gradient(row: str, ask: Any, shelf: Any) -> None:
    assert row in [" ".join(line.split()) for line in ask("ops").output.splitlines()]


@pytest.mark.rule("C-85")
def test_describes_an_operation_and_who_serves_it(ask: Any, shelf: Any) -> None:
    shelf.carrier("ArrayCarrier", "from strideweave.testing import ArrayCarrier\n")
    shelf.carrier("Slab", "import strideweave as sw\nclass Slab(sw.Carrier): ...\n")
    shelf.carrier("Over", "import strideweave as sw\nclass Over(sw.DependentCarrier): ...\n")
    answer = ask("ops", "relu")
    assert answer.status == 0
    assert answer.output == (
        "relu\n"
        "  Keep positive elements; all others, NaN included, become +0.\n"
        "overloads\n"
        "  (tensor)\n"
        "result\n"
        "  A new Tensor of that shape and dtype: Int32 stays Int32.\n"
        "gradient\n"
        "  of Float32 in tensor\n"
        "plans (2)\n"
        "  (Float32 as Float32) -> Float32, binary32\n"
        "  (Int32 as Int32) -> Int32, int32_exact\n"
        "carriers\n"
        "  ArrayCarrier  2 of 2 plans\n"
        "  Over          as the carriers below each instance do\n"
        "  Slab          no\n"
    )


def test_operands_show_their_kinds_and_defaults(ask: Any, shelf: Any) -> None:
    output = ask("ops", "mul").output
    assert "  (lhs, rhs)\n  (tensor, scalar: number)\n" in output
    assert "  (tensor, padding: parameter, value: parameter = 0)\n" in ask("ops", "pad").output
    assert "  (lhs, rhs, *, accumulator_dtype = None)\n" in ask("ops", "matmul").output


def test_an_operation_without_gradient_says_so(ask: Any, shelf: Any) -> None:
    assert "gradient\n  none\n" in ask("ops", "argmax").output


def test_an_operation_without_public_function_says_so(ask: Any, shelf: Any) -> None:
    output = ask("ops", "_sort_values").output
    assert "  a Float32 Tensor; no public function has this name\n" in output


def test_operations_of_installed_carriers_are_known(ask: Any, shelf: Any) -> None:
    shelf.carrier("Slab", OWN_OPERATION.format(module="cli_ops"))
    answer = ask("ops", "cli_ops.twin")
    assert answer.status == 0
    assert "result\n  The operand's dtype and layout.\n" in answer.output
    assert "plans (0)\n  outside the dtype policy: its own rule plans each call\n" in answer.output
    assert "cli_ops.twin tensor own no" in " ".join(ask("ops").output.split())


@pytest.mark.parametrize("command", ["ops", "explain"])
@pytest.mark.parametrize("name", ["einsum", "softmax", "gt", "mean", "permute"])
def test_a_function_of_other_operations_is_said_to_be_one(
    command: str, name: str, ask: Any, shelf: Any
) -> None:
    carrier = () if command == "ops" else ("--carrier", ARRAY, "--dtype", "Float32")
    answer = ask(command, name, *carrier)
    assert answer.status == 2
    assert answer.errors == (
        f"strideweave {command}: {name!r} is a public function made of operations and views, "
        f"none of its own; see help(strideweave.{name})\n"
    )


def test_an_unknown_operation_names_close_ones(ask: Any, shelf: Any) -> None:
    answer = ask("ops", "matmull")
    assert answer.status == 2
    assert answer.errors == (
        "strideweave ops: no operation is registered as 'matmull'; close: matmul, mul; "
        "'strideweave ops' lists all\n"
    )
