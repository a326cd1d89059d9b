"""Compare the rules of the contract with the rules that tests name.

A test names rules with ``@pytest.mark.rule("L-12", "50/E-1")``. Examples numbered ``E-n`` exist in
several documents, so their names start with the number of the document. ``deferred.toml`` maps a
rule or a range (``"B-1..B-52"``) to the reason why it has no test yet.

Usage: python tools/rules.py [CONTRACT_FOLDER TESTS_FOLDER]
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
INDEX_ROW = re.compile(r"^\| `(?P<document>[\w-]+\.md)` \|.*\| (?P<prefixes>[^|]*) \|$", re.M)
PREFIX = re.compile(r"`([A-Z]{1,2})-n`")
DEFINITION = re.compile(
    r"\*\*([A-Z]{1,2}-\d+)\b"  # a paragraph or list entry
    r"|^\| *([A-Z]{1,2}-\d+) *\|"  # a row of a table
    r"|# (E-\d+)\b",  # a line of an example block
    re.M,
)
ENTRY = re.compile(r"^- \*\*([A-Z]{1,2}-\d+)\b", re.M)
NAME = re.compile(r"(?:\d+/)?[A-Z]{1,2}-\d+")


def contract_rules(contract: Path) -> dict[str, list[str]]:
    """Give the names of the rules of each document, in order of appearance."""
    index = (contract / "README.md").read_text()
    rules = {}
    for row in INDEX_ROW.finditer(index):
        prefixes = PREFIX.findall(row["prefixes"])
        text = (contract / row["document"]).read_text()
        found = ("".join(groups) for groups in DEFINITION.findall(text))
        own = (rule for rule in found if rule.split("-")[0] in prefixes)
        names = (f"{row['document'][:2]}/{r}" if r.startswith("E-") else r for r in own)
        rules[row["document"]] = list(dict.fromkeys(names))
    return rules


def repeated_numbers(contract: Path) -> Iterator[str]:
    """Complain about a number that two list entries of one document carry."""
    for path in sorted(contract.glob("*.md")):
        for rule, count in Counter(ENTRY.findall(path.read_text())).items():
            if count > 1:
                yield f"{path.name}: {count} entries are numbered {rule}"


def named_rules(tests: Path) -> Iterator[tuple[str, str]]:
    """Yield each rule that a marker names, with the place of the marker."""
    for path in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
                place = f"{path.relative_to(tests)}:{node.lineno}"
                for argument in node.args:
                    is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                    yield (ast.literal_eval(argument) if is_text else ast.unparse(argument), place)


def split(rule: str) -> tuple[str, int]:
    prefix, number = rule.rsplit("-", 1)
    return prefix, int(number)


def expand(entry: str, known: list[str]) -> list[str]:
    """Give the known rules that a rule name or a range stands for."""
    first, _, last = entry.partition("..")
    if not last:
        return [rule for rule in known if rule == entry]
    if not (NAME.fullmatch(first) and NAME.fullmatch(last)):
        return []
    (prefix, low), (last_prefix, high) = split(first), split(last)
    numbers = range(low, high + 1) if prefix == last_prefix else range(0)
    return [rule for rule in known if split(rule)[0] == prefix and split(rule)[1] in numbers]


def ranges(wanted: list[str], known: list[str]) -> list[str]:
    """Write rules as entries that deferred.toml accepts, consecutive ones as a range."""
    runs: list[list[str]] = []
    previous = ""
    for rule in sorted(known, key=split):
        if rule in wanted:
            if runs and runs[-1][-1] == previous and split(previous)[0] == split(rule)[0]:
                runs[-1].append(rule)
            else:
                runs.append([rule])
        previous = rule
    return [run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]


def deferred_rules(contract: Path, known: list[str]) -> tuple[set[str], list[str]]:
    """Read deferred.toml: the rules it covers, and complaints about its entries."""
    entries = tomllib.loads((contract / "deferred.toml").read_text())
    covered: set[str] = set()
    problems = []
    for entry, reason in entries.items():
        rules = expand(entry, known)
        if not rules:
            problems.append(f"deferred.toml: {entry!r} covers no rule")
        if not (isinstance(reason, str) and reason.strip()):
            problems.append(f"deferred.toml: {entry!r} needs a reason")
        covered.update(rules)
    return covered, problems


def report(contract: Path, tests: Path) -> tuple[list[str], list[str]]:
    """Give the table of documents and the list of problems."""
    rules = contract_rules(contract)
    known = [rule for names in rules.values() for rule in names]
    deferred, problems = deferred_rules(contract, known)
    problems.extend(repeated_numbers(contract))
    places: dict[str, str] = {}
    for rule, place in named_rules(tests):
        if rule not in known:
            problems.append(f"{place}: the marker names {rule!r}, which is no rule of the contract")
        places.setdefault(rule, place)
    for rule in known:
        if rule in places and rule in deferred:
            problems.append(f"{places[rule]}: names {rule}, which deferred.toml still lists")
    table = []
    for document, names in rules.items():
        missing = [rule for rule in names if rule not in places and rule not in deferred]
        tested = sum(rule in places for rule in names)
        waiting = sum(rule in deferred for rule in names)
        table.append(
            f"{document:<20} {len(names):>4} rules {tested:>4} tested {waiting:>4} deferred"
        )
        if missing:
            problems.append(f"{document}: no test names {', '.join(ranges(missing, names))}")
    return table, problems


def main(contract: str | Path = ROOT / "docs/contract", tests: str | Path = ROOT / "tests") -> int:
    table, problems = report(Path(contract), Path(tests))
    print("\n".join([*table, *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
