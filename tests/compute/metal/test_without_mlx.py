"""Metal where MLX is not used: everything works that needs no storage of it."""

from collections.abc import Callable

import pytest

Program = Callable[..., str]

FORBIDDEN = """
    import sys

    class Forbidden:
        def find_spec(self, name, path=None, target=None):
            assert name.split(".")[0] != "mlx", "MLX was looked for"

    sys.meta_path.insert(0, Forbidden())
"""


@pytest.mark.rule("MT-2", "MT-52", "MT-30", "O-43")
def test_nothing_but_construction_looks_for_mlx(run_program: Program) -> None:
    printed = run_program(
        FORBIDDEN
        + """
    import strideweave as sw
    from strideweave import CPU, DType, Metal
    from strideweave.carriers.move import dispatch_move
    from strideweave.carriers.operation_capability import (
        capabilities_for_carrier_class, supports_operation_plan
    )
    from strideweave.carriers.operation_policy import resolve_operation_plan

    print(len(capabilities_for_carrier_class(Metal)))
    print(supports_operation_plan(Metal, resolve_operation_plan("exp", DType.Float32)))
    print(dispatch_move(CPU, Metal).__name__, sw.MetalToCpuMoveOperation.__name__)
    print(Metal._supports_storage_dtype(None, DType.Int32))
    for size, dtype in (("4.0", DType.Float32), (-4, DType.Float32), (4, DType.Float64)):
        try:
            Metal(size, dtype=dtype)
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
    tensor = sw.from_numpy(__import__("numpy").ones(3, "float32"))
    print(sw.add(tensor, tensor).tolist(), "mlx" in sys.modules)
    """
    )
    assert printed.split("\n") == [
        "108",
        "True",
        "CpuToMetalMoveOperation MetalToCpuMoveOperation",
        "True",
        "TypeError",
        "ValueError",
        "ValueError",
        "[2.0, 2.0, 2.0] False",
        "",
    ]


@pytest.mark.rule("MT-2", "MT-3")
def test_construction_without_mlx_says_what_to_install(run_program: Program) -> None:
    program = """
    import importlib.util, sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "mlx":
                raise ModuleNotFoundError(name)

    find_spec = importlib.util.find_spec
    importlib.util.find_spec = lambda name: None if name == "mlx" else find_spec(name)
    sys.meta_path.insert(0, Missing())
    import strideweave as sw
    try:
        sw.Metal(4)
    except RuntimeError as error:
        print(error)
    print(sw.CPU(4).size(), "mlx" in sys.modules)
    """
    message, rest = run_program(program, STRIDEWEAVE_METAL_DEVICE="cpu").strip().split("\n")
    assert "'mlx'" in message and "pip install 'strideweave-compute[metal]'" in message
    assert rest == "4 False"
