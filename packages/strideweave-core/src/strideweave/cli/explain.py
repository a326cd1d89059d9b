"""``strideweave explain``: how a call would be dispatched, without executing it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from inspect import signature

import strideweave.functional as functional
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import capabilities_for_carrier_class
from strideweave.cli.arguments import (
    add_tensor_arguments,
    layouts_of,
    option_argument,
    value_of,
)
from strideweave.cli.command import DONE, NO, Command, CommandError, aligned, show
from strideweave.cli.instances import new_tensor
from strideweave.cli.loading import carrier_class_of, importable, is_dependent, one_line
from strideweave.cli.ops import definition_of
from strideweave.dtype import DType
from strideweave.layout.layout import Layout
from strideweave.operation.definition import OperationDefinition
from strideweave.operation.explanation import DispatchExplanation, explain
from strideweave.operation.schema import OperandKind
from strideweave.tensor.tensor import Tensor

TENSOR = "tensor"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("operation", metavar="OP", help="an operation that 'strideweave ops' lists")
    parser.add_argument(
        "operands",
        metavar="OPERAND",
        nargs="*",
        help="'tensor', a Python literal or a reduce command; by default the Tensors it takes",
    )
    parser.add_argument(
        "--carrier", required=True, metavar="C", help="an installed carrier, or module:class"
    )
    add_tensor_arguments(parser, dtype_required=True)
    parser.add_argument(
        "--option",
        dest="options",
        type=option_argument,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the operation; VALUE is a Python literal or a dtype",
    )


def _run(arguments: Namespace) -> int:
    carrier_class = carrier_class_of(arguments.carrier)
    importable()  # other carriers' modules may define operations and register kernel packs
    definition = definition_of(arguments.operation)
    _check_executes(carrier_class)
    words = arguments.operands or _default_words(definition)
    operands = _operands(words, carrier_class, arguments.dtypes, layouts_of(arguments))
    explanation = _explained(definition, operands, dict(arguments.options))
    show(_report(explanation, carrier_class, operands))
    return NO if explanation.winner is None else DONE


def _check_executes(carrier_class: type[Carrier]) -> None:
    name = carrier_class.__qualname__
    if is_dependent(carrier_class):
        raise CommandError(
            f"{name} executes through the carriers that each instance is built over; call "
            "strideweave.explain with a Tensor on an instance"
        )
    if not capabilities_for_carrier_class(carrier_class):
        raise CommandError(
            f"{name} executes no operation, it only stores; 'strideweave routes --from {name}' "
            "shows where its values can go"
        )


def _default_words(definition: OperationDefinition) -> list[str]:
    operands = definition.schema.operands
    taken = operands[: len(operands) - len(definition._optional)]
    if all(operand.kind is OperandKind.TENSOR for operand in taken):
        if _described(definition) is None:
            return [TENSOR] * len(taken)
        raise CommandError(
            f"{definition.name} takes a Tensor and a reduce command, such as: strideweave explain "
            f'{definition.name} {TENSOR} "a b -> a"'
        )
    forms = " ".join(
        TENSOR if operand.kind is OperandKind.TENSOR else operand.name.upper() for operand in taken
    )
    raise CommandError(
        f"{definition.name} takes more than Tensors; give all operands: strideweave explain "
        f"{definition.name} {forms}"
    )


def _described(definition: OperationDefinition) -> Callable[..., Tensor] | None:
    """Give the public function of an operation that is lowered by a description, else None."""
    function: Callable[..., Tensor] | None = getattr(functional, definition.name, None)
    if function is None or "description" not in signature(function).parameters:
        return None
    return function


def _operands(
    words: Sequence[str],
    carrier_class: type[Carrier],
    dtypes: Sequence[DType],
    layouts: Sequence[Layout],
) -> list[object]:
    operands: list[object] = []
    tensors = 0
    for word in words:
        if word != TENSOR:
            operands.append(value_of(word))
            continue
        dtype = dtypes[min(tensors, len(dtypes) - 1)]
        layout = layouts[min(tensors, len(layouts) - 1)]
        operands.append(new_tensor(carrier_class, dtype, layout))
        tensors += 1
    return operands


def _explained(
    definition: OperationDefinition, operands: list[object], options: dict[str, object]
) -> DispatchExplanation:
    described = _described(definition)
    try:
        return explain(definition if described is None else described, *operands, **options)
    except Exception as error:  # also what a pattern of somebody's carrier raises
        raise CommandError(f"the call is refused: {one_line(error)}") from error


def _report(
    explanation: DispatchExplanation, carrier_class: type[Carrier], operands: Sequence[object]
) -> Iterator[str]:
    shown = [
        f"{operand.dtype().name} {operand.layout}" if isinstance(operand, Tensor) else repr(operand)
        for operand in operands
    ]
    capability = "none" if explanation.capability is None else "advertised"
    winner = "none" if explanation.winner is None else explanation.winner.kernel_id
    yield from aligned(
        [
            ("carrier", carrier_class.__qualname__),
            ("operands", ", ".join(shown)),
            ("capability", capability),
            ("winner", winner),
        ]
    )
    yield ""
    yield str(explanation)


COMMAND = Command(
    name="explain",
    summary="say how a carrier would execute a call",
    details="Print the dtype plan of a call, its results, the carrier's capability, and its\n"
    "kernels in the order in which they are asked, with their reasons. Nothing is\n"
    "executed. The exit status is 1 if the carrier does not execute the call.",
    examples=(
        "strideweave explain add --carrier CPU --dtype Float32",
        'strideweave explain matmul --carrier CPU --dtype Int32 --shape "(2,3)" --shape "(4,3)"',
        'strideweave explain relu --carrier acme_ram:AcmeRam --dtype Float32 --layout "4:2"',
        "strideweave explain clamp tensor 0.0 1.0 --carrier CPU --dtype Float32",
        'strideweave explain reduce_sum tensor "a b -> a" --carrier CPU --dtype Float32 '
        "--option accumulator_dtype=Float64",
    ),
    configure=_configure,
    run=_run,
)
