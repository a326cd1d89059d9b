"""The overload table, row by row, and the dtypes that each row refuses."""

import itertools
from collections.abc import Iterator

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import (
    OperandRole,
    OperationPlan,
    registered_operations,
    resolve_operation_plan,
)

D = sw.DType
LETTERS: dict[str, sw.SimpleDType] = {"F": D.Float32, "I": D.Int32, "B": D.Bool}
WEAK = {"i": 3, "n": -1, "w": 2**31, "f": 0.5}
"""Weak scalars: a natural, a negative, an integer outside Int32, a float."""

# names : operands -> conversions compute accumulation(accumulator) output, one line per plan
TABLE = """
add sub elementwise_mul mul : II -> II int32_exact_checked - I
add sub elementwise_mul mul : FF FI IF -> FF binary32 - F
mul : Ii In -> II int32_exact_checked - I
mul : If Fi Fn Fw Ff -> FF binary32 - F
div pow : FF FI IF II -> FF binary32 - F
pow : Ii -> II int32_exact_checked - I
pow : In Iw If Fi Fn Fw Ff -> FF binary32 - F
pow : iF nF wF fF iI nI wI fI -> FF binary32 - F
maximum minimum rem : FF -> FF binary32 - F
eq ne lt le : II -> II int32_exact - B
eq ne lt le : FF FI IF -> FF binary32 - B
logical_not : F -> F binary32 - B
relu : F -> F binary32 - F
relu : I -> I int32_exact - I
elu exp gelu leaky_relu sigmoid silu softplus tanh : F I -> F binary32 - F
abs ceil cos erf exp2 floor log log2 neg recip round rsqrt sign sin sqrt : F -> F binary32 - F
reduce_sum : F -> F binary32 floating(F) F
reduce_sum : I -> I int32_exact_checked exact_integer I
reduce_prod : F -> F binary32 sequential_binary32_product F
reduce_max : F -> F binary32 maximum F
reduce_min : F -> F binary32 minimum F
argmax : F -> F binary32 argmax I
argmin : F -> F binary32 argmin I
cumsum : F -> F binary32 sequential_binary32 F
matmul _batched_matmul : II -> II int32_exact exact_integer I
matmul _batched_matmul : FF FI IF -> FF binary32 floating(F) F
conv_general : FF -> FF binary32 floating(F) F
gather : FI -> FI binary32 - F
scatter : FIF -> FIF binary32 - F
scatter_add : FIF -> FIF binary32 sequential_binary32 F
select : BFF -> BFF binary32 - F
clamp : FFF FFi FFn FFw FFf FiF FnF FwF FfF Fif Fnn Fwi Fff -> FFF binary32 - F
_sort_values _topk_values : F -> F binary32 - F
_sort_indices _topk_indices : F -> F binary32 - I
logical_and logical_or logical_xor : BB -> BB int32_exact - B
_cast_float32 : F I B -> F binary32 - F
_cast_int32 : F -> F int32_exact_checked - I
_cast_int32 : I B -> I int32_exact_checked - I
_cast_bool : F -> F binary32 - B
_cast_bool : I -> I int32_exact - B
_cast_bool : B -> B int32_exact - B
concat : FF -> FF binary32 - F
concat : II -> II int32_exact - I
concat : BB -> BB int32_exact - B
pad flip : F -> F binary32 - F
pad flip : I -> I int32_exact - I
pad flip : B -> B int32_exact - B
"""
DECLARED_DOMAINS = """
maximum minimum rem eq ne lt le logical_not abs ceil cos erf exp2 floor log log2 neg recip round
rsqrt sign sin sqrt reduce_prod reduce_max reduce_min argmax argmin cumsum conv_general gather
scatter scatter_add select clamp _sort_values _topk_values _sort_indices _topk_indices logical_and
logical_or logical_xor _cast_float32 _cast_int32 _cast_bool concat pad flip
""".split()


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield one (operation, operand letters, expected words) per plan of the table."""
    for line in TABLE.strip().splitlines():
        left, right = line.split(" -> ")
        names, sources = left.split(" : ")
        for name, source in itertools.product(names.split(), sources.split()):
            yield name, source, right.split()


ROWS = list(rows())
ACCEPTED = {(name, source) for name, source, _ in ROWS}


def operands(letters: str) -> list[object]:
    return [LETTERS[letter] if letter in LETTERS else WEAK[letter] for letter in letters]


def shown(plan: OperationPlan) -> list[str]:
    letter = {dtype: name for name, dtype in LETTERS.items()}
    accumulation = "-" if plan.accumulation is None else plan.accumulation.value
    if plan.accumulator_dtype is not None:
        accumulation += f"({letter[plan.accumulator_dtype]})"
    converted = "".join(letter[operand.convert_to] for operand in plan.operands)
    return [converted, plan.compute.value, accumulation, letter[plan.output]]


@pytest.mark.rule("O-7", "O-13")
@pytest.mark.parametrize(("name", "source", "expected"), ROWS)
def test_each_row_plans_as_listed(name: str, source: str, expected: list[str]) -> None:
    plan = resolve_operation_plan(name, *operands(source))
    assert plan.operation == name
    assert shown(plan) == expected
    for letter, operand in zip(source, plan.operands, strict=True):
        tensor = letter in LETTERS
        assert operand.role is (OperandRole.TENSOR if tensor else OperandRole.WEAK_SCALAR)
        assert operand.dtype is (LETTERS[letter] if tensor else None)


def test_the_table_names_exactly_the_registered_operations() -> None:
    assert {name for name, _, _ in ROWS} == {spec.name for spec in registered_operations()}


@pytest.mark.rule("O-12")
def test_every_other_combination_of_storage_dtypes_is_refused() -> None:
    refused = 0
    for spec in registered_operations():
        for arity in {len(overload.roles) for overload in spec.overloads}:
            for letters in map("".join, itertools.product("FIB", repeat=arity)):
                if (spec.name, letters) in ACCEPTED:
                    continue
                refused += 1
                with pytest.raises((TypeError, NotImplementedError), match=spec.name):
                    resolve_operation_plan(spec.name, *operands(letters))
    assert refused > 200


@pytest.mark.rule("O-12")
@pytest.mark.parametrize("name", sorted({name for name, _, _ in ROWS}))
def test_bool_is_an_unimplemented_dtype_where_its_row_does_not_list_it(name: str) -> None:
    for source in {source for row, source, _ in ROWS if row == name}:
        for position, letter in enumerate(source):
            listed = any(
                other[position] == "B"
                for row, other, _ in ROWS
                if row == name and len(other) == len(source)
            )
            if letter not in LETTERS or listed:
                continue
            changed = source[:position] + "B" + source[position + 1 :]
            with pytest.raises(NotImplementedError, match=rf"operand {position} .*'Bool'"):
                resolve_operation_plan(name, *operands(changed))


@pytest.mark.rule("O-10")
def test_which_rows_declare_domains() -> None:
    declared = {
        spec.name
        for spec in registered_operations()
        if all(overload.tensor_domains is not None for overload in spec.overloads)
    }
    undeclared = {
        spec.name
        for spec in registered_operations()
        if all(overload.tensor_domains is None for overload in spec.overloads)
    }
    assert declared == set(DECLARED_DOMAINS)
    assert declared | undeclared == {spec.name for spec in registered_operations()}


@pytest.mark.rule("O-10")
@pytest.mark.parametrize(
    ("name", "signatures"),
    [
        ("mul", ["TT", "TW"]),
        ("pow", ["TT", "TW", "WT"]),
        ("clamp", ["TTT", "TTW", "TWT", "TWW"]),
    ],
)
def test_overloads_in_declaration_order(name: str, signatures: list[str]) -> None:
    (spec,) = (spec for spec in registered_operations() if spec.name == name)
    letters = {OperandRole.TENSOR: "T", OperandRole.WEAK_SCALAR: "W"}
    found = ["".join(letters[role] for role in overload.roles) for overload in spec.overloads]
    assert found == signatures


@pytest.mark.rule("O-7")
def test_the_registry_is_sorted_and_excludes_representation_only_names() -> None:
    names = [spec.name for spec in registered_operations()]
    assert names == sorted(names)
    assert names[0].startswith("_")
    assert registered_operations() == registered_operations()
    unregistered = "view permute rearrange reshape squeeze unsqueeze broadcast_to as_strided move"
    assert not set(unregistered.split()).intersection(names)
    assert all(spec.public is not spec.name.startswith("_") for spec in registered_operations())


def test_the_rule_of_a_spec_plans_without_the_registry() -> None:
    (relu,) = (spec for spec in registered_operations() if spec.name == "relu")
    assert relu.rule(D.Int32) == resolve_operation_plan("relu", D.Int32)
