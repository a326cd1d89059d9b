"""One session per package and per check; the default run is everything a change must pass.

Each run builds the wheels once. A layer is tested and type-checked with only its own wheel and
those below it. Another Python: ``nox --force-python 3.13``, with that interpreter on ``PATH``.
"""

import atexit
import os
import platform
import shutil
import time
from pathlib import Path
from xml.etree import ElementTree

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = [
    "lint",
    "layers",
    "rules",
    "typing",
    "packaging",
    "docs",
    "tiered",
    "storage",
    "compute",
    "metal",
    "opencl",
    "integration",
    "core",
]

ROOT = Path(__file__).parent
DIST = ROOT / "dist"
RESULTS = ROOT / ".nox" / "results"
LAYERS = {"core": [], "storage": ["core"], "compute": ["core", "storage"], "tiered": ["core"]}
TEST_TOOLS = ["pytest>=9", "pytest-xdist>=3.6", "hypothesis>=6.100"]
TYPE_TOOLS = ["mypy>=1.15"]
SECOND_OPINION = "pyright[nodejs]>=1.1.400"
TYPED_BY_NUMPY = {"storage", "compute"}
NUMPY_STUBS = "numpy<2.5"  # the last ones for the oldest Python; later stubs differ in overloads
EXAMPLE_DATA = "scikit-learn>=1.3"  # ships the data that examples/digits.py trains on
PEER_OUT_OF_CORE = "dask[array]>=2024.8"  # does what tiles do, in examples and benchmarks
OPENCL_EXAMPLE = ROOT / "examples" / "opencl-carrier"
METAL_DEVICE = "STRIDEWEAVE_METAL_DEVICE"
STARTED = time.monotonic()


def install_wheels(session: nox.Session, layers: list[str], *tools: str) -> None:
    wheels = [str(next(DIST.glob(f"strideweave_{name}-*.whl"))) for name in layers]
    session.install(*wheels, *tools)
    session.install("--force-reinstall", "--no-deps", *wheels)  # same version, new content


def run_pytest(session: nox.Session, *arguments: str) -> None:
    report = RESULTS / f"{session.name}.xml"
    report.unlink(missing_ok=True)
    reports.append(report)
    session.run("pytest", f"--junitxml={report}", *arguments, *session.posargs)


reports: list[Path] = []


@atexit.register
def print_closing_line() -> None:
    """Add up pytest's counts: nox prints its own summary after the last session's closing line."""
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for report in reports:
        if not report.exists():  # pytest ended before it could write one
            total["tests"] += 1
            total["errors"] += 1
            continue
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            for key in total:
                total[key] += int(suite.get(key, "0"))
    if not reports:
        return
    bad = {"failed": total["failures"], "errors": total["errors"], "skipped": total["skipped"]}
    counts = [f"{total['tests'] - sum(bad.values())} passed"]
    counts += [f"{number} {word}" for word, number in bad.items() if number]
    closing = f"{', '.join(counts)} in {time.monotonic() - STARTED:.2f}s"
    print(f"{f' {closing} ':=^80}", flush=True)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the five wheels into dist/ and check what they contain."""
    session.install("hatchling>=1.26")
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in [ROOT, *(ROOT / f"packages/strideweave-{name}" for name in LAYERS)]:
        with session.chdir(folder):
            session.run("python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(DIST))
    session.run("python", "tools/check_wheels.py", str(DIST))


def add_layer(layer: str) -> None:
    @nox.session(name=layer, requires=["wheels"])
    def check(session: nox.Session) -> None:
        install_wheels(session, [*LAYERS[layer], layer], *TEST_TOOLS, *TYPE_TOOLS)
        with session.chdir(ROOT / f"packages/strideweave-{layer}"):
            run_pytest(session, "-n2", f"../../tests/{layer}")
            if layer in TYPED_BY_NUMPY:
                session.install(NUMPY_STUBS)
            session.run("mypy")

    check.__doc__ = f"Test and type-check strideweave-{layer} over its own wheels."


for _layer in LAYERS:
    add_layer(_layer)


def install_torch(session: nox.Session) -> None:
    """Install PyTorch where pip's find-links offer a CPU build, and require it then.

    The build on the package index brings several gigabytes of CUDA libraries along.
    """
    tag = "cp{}{}".format(*str(session.python or platform.python_version()).split("."))
    folders = map(Path, os.environ.get("PIP_FIND_LINKS", "").split())
    builds = [str(path) for folder in folders for path in folder.glob(f"torch-*+cpu-{tag}-*.whl")]
    if builds:
        session.install(max(builds))
        session.env["STRIDEWEAVE_REQUIRE_TORCH"] = "1"


def install_mlx(session: nox.Session) -> str:
    """Install MLX, and give the device that Metal takes: MLX's CPU if nothing else is chosen."""
    session.install(f"{next(DIST.glob('strideweave_compute-*.whl'))}[metal]")
    session.env[METAL_DEVICE] = device = os.environ.get(METAL_DEVICE, "cpu")
    return device


@nox.session(requires=["wheels"])
def metal(session: nox.Session) -> None:
    """Test Metal on MLX's CPU device, or on an Apple GPU where the environment chooses it."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, *TYPE_TOOLS, EXAMPLE_DATA)
    choice = "not slow" if install_mlx(session) == "gpu" else "not slow and not metal"
    documents = ("tests/docs/test_docstrings.py", "tests/docs/test_markdown.py")
    run_pytest(session, "-n2", "-m", choice, "-k", "not docs or metal", "tests/metal", *documents)
    session.install(NUMPY_STUBS)
    with session.chdir(ROOT / "packages/strideweave-compute"):
        session.run("mypy", "src", "../../tests/metal")


@nox.session(requires=["wheels"])
def integration(session: nox.Session) -> None:
    """Run the tests that need all layers together, with PyTorch as a peer where there is one."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, EXAMPLE_DATA)
    install_torch(session)
    # Host arithmetic takes NumPy where it is installed; core's own session runs it without.
    again = (f"tests/core/{room}" for room in ("tensor", "autograd", "nn"))
    run_pytest(session, "-n2", "tests/integration", *again)


@nox.session(requires=["wheels"])
def opencl(session: nox.Session) -> None:
    """Test and type-check the example of somebody else's carrier, as a wheel beside the layers."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, *TYPE_TOOLS, NUMPY_STUBS, EXAMPLE_DATA)
    session.install("hatchling>=1.26")
    built = Path(session.create_tmp()).resolve()
    with session.chdir(OPENCL_EXAMPLE):
        session.run("python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(built))
        wheel = str(next(built.glob("strideweave_opencl-*.whl")))
        session.install(f"{wheel}[pocl]")
        session.install("--force-reinstall", "--no-deps", wheel)  # same version, new content
        session.run("mypy")
        run_pytest(session, "-n2", "--dist=worksteal")  # one check compiles most of the kernels


@nox.session(requires=["wheels"])
def typing(session: nox.Session) -> None:
    """Check the programs that a type checker must accept and reject."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, *TYPE_TOOLS, SECOND_OPINION)
    run_pytest(session, "tests/typing")


@nox.session(requires=["wheels"])
def packaging(session: nox.Session) -> None:
    """Install the wheels and folders in the combinations that users meet."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, "hatchling>=1.26", "uv>=0.5")
    run_pytest(session, "tests/packaging")


@nox.session(requires=["wheels"])
def docs(session: nox.Session) -> None:
    """Run the examples of all docstrings and of the Markdown files."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS)
    run_pytest(session, "tests/docs")


@nox.session(requires=["wheels"])
def layers(session: nox.Session) -> None:
    """Check that imports only point down, over wheels: editable installs hide the upper layers."""
    install_wheels(session, list(LAYERS), "import-linter>=2.1")
    session.run("lint-imports")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint, sizes and the types of everything together."""
    session.install(
        "ruff", *TYPE_TOOLS, *TEST_TOOLS, "nox", "numpy>=1.26", "typing-extensions>=4.12"
    )
    for command in ("ruff format --check .", "ruff check .", "python tools/size_budget.py", "mypy"):
        session.run(*command.split())


@nox.session
def rules(session: nox.Session) -> None:
    """List the rules of docs/contract that no test names."""
    session.run("python", "tools/rules.py", *session.posargs)


def install_editable(session: nox.Session, *tools: str) -> None:
    session.install(
        *(argument for name in LAYERS for argument in ("-e", f"packages/strideweave-{name}")),
        *tools,
    )


@nox.session
def demo(session: nox.Session) -> None:
    """Train a digit classifier and print what it reached."""
    install_editable(session, EXAMPLE_DATA)
    session.run("python", "examples/digits.py", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """Run the examples of tensors that are larger than fast memory; needs 10 GB of disk."""
    install_editable(session, EXAMPLE_DATA, PEER_OUT_OF_CORE)
    session.run("python", "examples/experts.py")
    session.run("python", "examples/out_of_core_matmul.py", *session.posargs)


@nox.session(requires=["wheels"])
def slow(session: nox.Session) -> None:
    """Run slow tests, and the property tests with many more cases."""
    install_wheels(session, list(LAYERS), *TEST_TOOLS, EXAMPLE_DATA)
    install_mlx(session)
    folders = (f"tests/{name}" for name in (*LAYERS, "metal", "integration"))
    patience = ("-o", "faulthandler_timeout=1200")
    choice = ("-m", "slow or hypothesis", "--hypothesis-profile=slow")
    run_pytest(session, "-n2", *patience, *choice, *folders)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Measure each claim against NumPy, or PyTorch where there is one, in the same process."""
    install_editable(session, PEER_OUT_OF_CORE)
    install_torch(session)
    for program in sorted((ROOT / "benchmarks").glob("*.py")):
        session.run("python", str(program.relative_to(ROOT)), *session.posargs)
