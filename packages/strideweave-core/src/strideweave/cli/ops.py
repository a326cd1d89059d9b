"""``strideweave ops``: what operations there are, and what each one means."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from difflib import get_close_matches
from inspect import isfunction
from textwrap import wrap
from typing import Final

import strideweave.functional as functional
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import capabilities_for_carrier_class
from strideweave.cli.command import DONE, Command, CommandError, aligned, show
from strideweave.cli.documentation import paragraph, summary
from strideweave.cli.loading import importable, is_dependent
from strideweave.operation.definition import (
    OperationDefinition,
    find_definition,
    operation_definitions,
)
from strideweave.operation.explanation import plan_text
from strideweave.operation.policy import OperationPlan, resolvable_plans
from strideweave.operation.schema import NON_DIFFERENTIABLE, REQUIRED, OperandKind, OperationSchema

_TEXT_WIDTH: Final = 96
_KIND_NOTES: Final = {
    OperandKind.TENSOR: "",
    OperandKind.WEAK_SCALAR: ": number",
    OperandKind.STRUCTURAL: ": parameter",
}


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="one operation; all when omitted")


def _run(arguments: Namespace) -> int:
    carriers = importable()  # they may define operations of their own
    if arguments.name is None:
        show(_list())
    else:
        show(_details(definition_of(arguments.name), carriers))
    return DONE


def definition_of(name: str) -> OperationDefinition:
    """Look up an operation that the user named.

    Raises:
        CommandError: There is none.
    """
    found = find_definition(name)
    if found is None:
        if name in functional.__all__:
            raise CommandError(
                f"{name!r} is a public function made of operations and views, none of its own; "
                f"see help(strideweave.{name})"
            )
        names = [definition.name for definition in operation_definitions()]
        close = get_close_matches(name, names)
        hint = f"; close: {', '.join(close)}" if close else ""
        raise CommandError(
            f"no operation is registered as {name!r}{hint}; 'strideweave ops' lists all"
        )
    return found


def _list() -> list[str]:
    plans = [plan.operation for plan in resolvable_plans()]
    rows = [("OPERATION", "OPERANDS", "PLANS", "GRADIENT")]
    for definition in operation_definitions():
        count = plans.count(definition.name)
        rows.append(
            (
                definition.name,
                ", ".join(operand.name for operand in definition.schema.operands),
                str(count) if count else "own",
                "no" if definition.vjp is NON_DIFFERENTIABLE else "yes",
            )
        )
    return aligned(rows)


def _details(definition: OperationDefinition, carriers: dict[str, type[Carrier]]) -> Iterator[str]:
    function = getattr(functional, definition.name, None)
    plans = [plan for plan in resolvable_plans() if plan.operation == definition.name]
    yield definition.name
    if function is not None:
        yield from _wrapped(summary(function))
    yield "overloads"
    for schema in definition.overloads:
        yield f"  {_signature(definition, schema)}"
    yield "result"
    yield from _wrapped(_result_rule(definition, function, plans))
    yield "gradient"
    yield f"  {_gradient(definition)}"
    yield f"plans ({len(plans)})"
    yield from (f"  {plan_text(plan)}" for plan in plans)
    if not plans:
        yield "  outside the dtype policy: its own rule plans each call"
    yield "carriers"
    rows = [(name, _served(kind, definition.name, plans)) for name, kind in carriers.items()]
    yield from aligned(rows, "  ") if rows else ["  none is installed"]


def _wrapped(text: str) -> list[str]:
    return wrap(text, _TEXT_WIDTH, initial_indent="  ", subsequent_indent="  ")


def _signature(definition: OperationDefinition, schema: OperationSchema) -> str:
    required = len(schema.operands) - len(definition._optional)
    words = [
        operand.name
        + _KIND_NOTES[operand.kind]
        + ("" if position < required else f" = {definition._optional[position - required]!r}")
        for position, operand in enumerate(schema.operands)
    ]
    options = [
        option.name if option.default is REQUIRED else f"{option.name} = {option.default!r}"
        for option in schema.options
    ]
    return f"({', '.join([*words, *(['*', *options] if options else [])])})"


def _result_rule(
    definition: OperationDefinition, function: object, plans: list[OperationPlan]
) -> str:
    if function is not None:
        return paragraph(function, "Returns:")
    outputs = sorted({plan.output.name for plan in plans})
    if outputs:
        return f"a {' or '.join(outputs)} Tensor; no public function has this name"
    written = summary(definition.resolve) if isfunction(definition.resolve) else ""
    return written or "as its own rule says"


def _gradient(definition: OperationDefinition) -> str:
    if definition.vjp is NON_DIFFERENTIABLE:
        return "none"
    names = [operand.name for operand in definition.schema.operands if operand.differentiable]
    return f"of Float32 in {', '.join(names)}"


def _served(carrier_class: type[Carrier], operation: str, plans: list[OperationPlan]) -> str:
    if is_dependent(carrier_class):
        return "as the carriers below each instance do"
    count = len(capabilities_for_carrier_class(carrier_class, operation))
    if plans:
        return f"{count} of {len(plans)} plans" if count else "no"
    return f"{count} plans" if count else "no"


COMMAND = Command(
    name="ops",
    summary="list the operations, or describe one",
    details="List all operations, or print one's overloads, result rule, gradient, dtype plans,\n"
    "and the carriers that execute them.",
    examples=("strideweave ops", "strideweave ops clamp"),
    configure=_configure,
    run=_run,
)
