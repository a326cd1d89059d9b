"""Fail when functions or files of the packages outgrow the size budget.

Docstrings do not count. Usage: python tools/size_budget.py
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parent.parent
MEDIAN_LINES, NINETY_PERCENT_LINES, FUNCTION_LINES, FILE_LINES = 10, 35, 60, 800
EXCEPTIONS: dict[str, str] = {}  # "file.py::function": the reason why it may be longer


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of each function in one file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                text = node.body[0]
                lines -= (text.end_lineno or text.lineno) - text.lineno + 1
            yield f"{path.name}::{node.name}", lines


def main() -> int:
    files = sorted(ROOT.glob("packages/*/src/**/*.py"))
    sizes = [entry for path in files for entry in functions(path)]
    lengths = [lines for _, lines in sizes]
    problems = [
        f"{name}: {lines} lines, at most {FUNCTION_LINES}"
        for name, lines in sizes
        if lines > FUNCTION_LINES and name not in EXCEPTIONS
    ]
    for path in files:
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES:
            problems.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {FILE_LINES}")
    middle, ninety_percent = median(lengths), quantiles(lengths, n=10)[-1]
    if middle > MEDIAN_LINES:
        problems.append(f"the median function has {middle} lines, at most {MEDIAN_LINES}")
    if ninety_percent > NINETY_PERCENT_LINES:
        problems.append(f"p90 of functions is {ninety_percent}, at most {NINETY_PERCENT_LINES}")
    print("\n".join(problems) or f"{len(sizes)} functions: median {middle}, p90 {ninety_percent}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
