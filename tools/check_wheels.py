"""Fail unless the built wheels can share one import namespace.

Usage: python tools/check_wheels.py DIST
"""

import re
import sys
from collections import defaultdict
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

SHARED = ("strideweave/__init__.py", "strideweave/carriers/__init__.py")
CARRIER_FILE = re.compile(r"strideweave/carriers/(\w+)/.+")
CORE, UMBRELLA = "strideweave-core", "strideweave"


def read_wheel(path: Path) -> tuple[str, str, list[str], list[str]]:
    """Give name, version, requirements and code paths of one wheel."""
    with ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        metadata_path = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(metadata_path))
    code = [name for name in names if ".dist-info/" not in name]
    return metadata["Name"], metadata["Version"], metadata.get_all("Requires-Dist", []), code


def foreign_paths(distribution: str, code: list[str]) -> list[str]:
    """List the complaints about where one distribution puts its files."""
    if distribution == UMBRELLA:
        return [f"{distribution}: ships {path}; it must ship metadata only" for path in code]
    if distribution == CORE:
        return [f"{CORE}: lacks {path}" for path in SHARED if path not in code]
    problems = []
    for path in code:
        match = CARRIER_FILE.fullmatch(path)
        if match is None:
            problems.append(f"{distribution}: {path} is outside strideweave/carriers/NAME/")
            continue
        for needed in ("__init__.py", "py.typed"):
            if f"strideweave/carriers/{match[1]}/{needed}" not in code:
                problems.append(f"{distribution}: carriers/{match[1]} lacks {needed}")
    return sorted(set(problems))


def problems_of(wheels: list[Path]) -> list[str]:
    """List every complaint about the wheels, taken together."""
    problems: list[str] = []
    owners: dict[str, list[str]] = defaultdict(list)
    versions: dict[str, str] = {}
    for wheel in wheels:
        name, version, requirements, code = read_wheel(wheel)
        versions[name] = version
        problems += foreign_paths(name, code)
        for path in code:
            owners[path].append(name)
        for requirement in requirements:
            if requirement.startswith("strideweave-") and not requirement.endswith(f"=={version}"):
                problems.append(f"{name}: {requirement} does not pin =={version}")
    problems += [f"{path} is in {' and '.join(n)}" for path, n in owners.items() if len(n) > 1]
    if len(set(versions.values())) != 1:
        problems.append(f"the versions differ: {versions}")
    return problems


def main(folder: str) -> int:
    wheels = sorted(Path(folder).glob("*.whl"))
    if not wheels:
        print(f"no wheel in {folder}")
        return 1
    problems = problems_of(wheels)
    print("\n".join(problems) or f"{len(wheels)} wheels share no path and pin one version")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
