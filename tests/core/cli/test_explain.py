"""``strideweave explain``."""

from typing import Any

import pytest

ARRAY = "strideweave.testing:ArrayCarrier"
DECLINING = """
import strideweave as sw
from strideweave.carriers.extension import *
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.operation import operation_definition

class Picky(sw.Carrier):
    ...

def allocate(carrier, slots):
    carrier.cells = [0.0] * slots

def prepare(invocation, interface):
    (operand,) = invocation.operands
    if operand.layout.index((1, 0)) != 1:
        return Unsupported("the first stride is not 1")
    return PreparedKernel(interface, lambda: None)

RELU = sw.OperationCapability.from_plan(resolve_operation_plan("relu", sw.DType.Float32))
relu = operation_definition("relu")
patterns = [
    KernelPattern(relu, [RELU], "picky.fast", prepare, preference=2),
    KernelPattern(relu, [RELU], "picky.never", lambda *_: Unsupported("never")),
]
storage = StorageProvider(
    supports_dtype=lambda carrier, dtype: dtype in (sw.DType.Float32, sw.DType.Int32),
    physical_size=lambda carrier: len(carrier.cells),
    allocate=allocate,
    release=lambda carrier: allocate(carrier, 0),
    read=lambda carrier, index: carrier.cells[index],
    write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
)
kernels = KernelProvider(KernelExecutionInterface("1"), patterns)
register_carrier_definition(Picky, CarrierDefinition(storage, kernels))
"""


@pytest.mark.rule("O-83")
def test_shows_capability_candidates_and_winner(ask: Any, shelf: Any) -> None:
    shelf.carrier("Picky", DECLINING)
    answer = ask("explain", "relu", "--carrier", "Picky", "--dtype", "Float32")
    assert answer.status == 0
    assert answer.output.startswith(
        "carrier     Picky\n"
        "operands    Float32 (2,3):(1,2)\n"
        "capability  advertised\n"
        "winner      picky.fast\n"
        "\n"
        "relu\n"
        "  plan: (Float32 as Float32) -> Float32, binary32\n"
        "  result: Float32 (2,3):(1,2)\n"
        "  runs: picky.fast (preference 2)\n"
        "  not asked: picky.never (preference 0)\n"
    )


@pytest.mark.rule("O-83")
def test_when_all_candidates_decline_the_status_is_1(ask: Any, shelf: Any) -> None:
    shelf.carrier("Picky", DECLINING)
    words = ("--carrier", "Picky", "--dtype", "Float32", "--layout", "(2,3):(3,1)")
    answer = ask("explain", "relu", *words)
    assert answer.status == 1
    assert "winner      none\n" in answer.output
    assert (
        "  declined (the first stride is not 1): picky.fast (preference 2)\n"
        "  declined (never): picky.never (preference 0)\n"
    ) in answer.output


@pytest.mark.rule("O-83")
def test_a_plan_without_capability_says_why(ask: Any, shelf: Any) -> None:
    shelf.carrier("Picky", DECLINING)
    answer = ask("explain", "relu", "--carrier", "Picky", "--dtype", "Int32")
    assert answer.status == 1
    assert "capability  none\n" in answer.output
    assert "  refused: Picky executes 'relu', but not (Int32 as Int32)" in answer.output


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ("add", "--dtype", "Float32", "--dtype", "Int32"),
            ("operands    Float32 (2,3):(1,2), Int32 (2,3):(1,2)", "  result: Float32 (2,3):(1,2)"),
        ),
        (
            ("matmul", "--dtype", "Int32", "--shape", "(2,3)", "--layout", "(4,3):(3,1)"),
            ("operands    Int32 (2,3):(1,2), Int32 (4,3):(3,1)", "  result: Int32 (2,4):(1,2)"),
        ),
        (
            ("clamp", "tensor", "-1.5", "1", "--dtype", "Float32", "--shape", "4"),
            ("operands    Float32 4:1, -1.5, 1",),
        ),
        (
            ("reduce_sum", "tensor", "a b -> a", "--dtype", "Float32"),
            ("operands    Float32 (2,3):(1,2), 'a b -> a'", "  result: Float32 2:1"),
        ),
        (
            ("matmul", "--dtype", "Float32", "--option", "accumulator_dtype=Float64"),
            ("  plan: (Float32 as Float32, Float32 as Float32) -> Float32, binary32, "
             "floating in Float64",),
        ),
        (
            ("pad", "tensor", "((1, 0), (0, 2))", "--dtype", "Bool"),
            ("operands    Bool (2,3):(1,2), ((1, 0), (0, 2))", "  result: Bool (3,5):(1,3)"),
        ),
    ],
)  # fmt: skip
def test_operands(words: tuple[str, ...], lines: tuple[str, ...], ask: Any, shelf: Any) -> None:
    answer = ask("explain", *words, "--carrier", ARRAY)
    assert answer.status == 0
    assert [line for line in lines if line not in answer.output.splitlines()] == []


STORING = "import strideweave as sw\nclass Slab(sw.Carrier): ...\n"
COMPOSED = "import strideweave as sw\nclass Over(sw.DependentCarrier): ...\n"


@pytest.mark.parametrize(
    ("operation", "carrier", "dtype", "message"),
    [
        ("relu", "Slub", "Float32", "advertises a carrier 'Slub'; known: Over, Slab; "),
        ("relu", "absent:Slab", "Float32", "cannot import the carrier 'absent:Slab': ModuleNot"),
        ("relu", "math:pi", "Float32", "math:pi is no subclass of Carrier: 3.14"),
        ("relu", "Slab", "Float32", "Slab executes no operation, it only stores; 'strideweave"),
        ("relu", "Over", "Float32", "carriers that each instance is built over; call strideweave."),
        ("reluu", ARRAY, "Float32", "no operation is registered as 'reluu'; close: relu"),
        ("relu", ARRAY, "Float", "no dtype is named 'Float'; there are: Any, Floating"),
        (
            "relu",
            ARRAY,
            "Float64",
            "cannot build a Tensor of Float64 with 6 slots on ArrayCarrier: ",
        ),
        ("relu", ARRAY, "Bool", "the call is refused: NotImplementedError: relu operand 0"),
        ("pad", ARRAY, "Bool", "give all operands: strideweave explain pad tensor PADDING"),
        ("argmax", ARRAY, "Float32", 'such as: strideweave explain argmax tensor "a b -> a"'),
    ],
)
def test_refusals_say_what_to_do(
    operation: str, carrier: str, dtype: str, message: str, ask: Any, shelf: Any
) -> None:
    shelf.carrier("Slab", STORING)
    shelf.carrier("Over", COMPOSED)
    answer = ask("explain", operation, "--carrier", carrier, "--dtype", dtype)
    assert (answer.status, answer.output) == (2, "")
    assert message in answer.errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shape", "(2,0)"), "malformed shape '(2,0)'; write extents of at least 1"),
        (("--shape", "two"), "malformed shape 'two'"),
        (("--layout", "(2,3)"), "malformed layout '(2,3)'"),
        (("--option", "accumulator_dtype"), "write NAME=VALUE, got 'accumulator_dtype'"),
        (("--option", "speed=3"), "unknown option 'speed'"),
    ],
)
def test_malformed_arguments_are_named(words: tuple[str, ...], message: str, ask: Any) -> None:
    answer = ask("explain", "relu", "--carrier", ARRAY, "--dtype", "Float32", *words)
    assert (answer.status, answer.output) == (2, "")
    assert message in answer.errors
