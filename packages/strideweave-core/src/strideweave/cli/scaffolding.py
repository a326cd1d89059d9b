"""A new distribution with one carrier, made of the templates in ``scaffold/``."""

import keyword
import re
import shutil
import sys
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Final, final

from strideweave._record import record
from strideweave.carriers import extension
from strideweave.carriers.discovery import installed
from strideweave.cli.command import CommandError

FILES: Final = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "src/{package}/__init__.py": "__init__.py",
    "src/{package}/carrier.py": "carrier.py",
    "src/{package}/patterns.py": "patterns.py",
    "src/{package}/py.typed": "py.typed",
    "tests/test_conformance.py": "test_conformance.py",
    "tests/test_patterns.py": "test_patterns.py",
}
"""The template of each file of the distribution."""

# Packages that the written tests, or StrideWeave where they are installed, would import instead.
_TAKEN_PACKAGES: Final = {
    "tests": "the tests of the distribution",
    "numpy": "a library that StrideWeave uses",
    "mlx": "a library that StrideWeave uses",
}
_PACKAGE: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# What the written modules import; their class must have another name.
_TAKEN_CLASSES: Final = frozenset(
    {"Ability", "Any", "CarrierConformance", "Final", "ResolvedInvocation", *extension.__all__}
)


@final
@record
class Names:
    """What a new distribution is called.

    Attributes:
        package: Import package, and the folder of the distribution.
        distribution: Distribution.
        carrier: Carrier class, which is also the advertised name.
    """

    package: str
    distribution: str
    carrier: str


def names_from(name: str) -> Names:
    """Derive the names of a distribution.

    Args:
        name: What the user asked for; ``-`` counts as ``_``.

    Raises:
        CommandError: It is no name of a package, or taken.
    """
    package = name.replace("-", "_")
    if not _PACKAGE.fullmatch(package):
        raise CommandError(
            f"NAME must be lower-case words joined by '_', such as acme_ram, got {name!r}"
        )
    if keyword.iskeyword(package) or package in sys.stdlib_module_names:
        raise CommandError(f"{package!r} is a name of Python itself; choose another one")
    if package.partition("_")[0] == "strideweave":
        raise CommandError(f"{package!r} reads as a part of StrideWeave; choose a name of your own")
    if package in _TAKEN_PACKAGES:
        owner = _TAKEN_PACKAGES[package]
        raise CommandError(f"{package!r} is taken by {owner}; choose another name")
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:  # a mere folder has no origin
        raise CommandError(f"a module {package!r} is installed already; choose another name")
    carrier = "".join(word[:1].upper() + word[1:] for word in package.split("_"))
    if carrier in _TAKEN_CLASSES:
        raise CommandError(
            f"the class would be called {carrier}, which its modules import; choose another name"
        )
    for entry in installed():
        if entry.name == carrier and not entry.target.startswith(f"{package}:"):
            raise CommandError(
                f"{entry.distribution} {entry.version} already advertises a carrier {carrier}; "
                "choose another name"
            )
    return Names(package, package.replace("_", "-"), carrier)


def write_distribution(names: Names, parent: Path) -> tuple[str, ...]:
    """Write all files into a new folder.

    Args:
        names: What it is called.
        parent: Existing folder, in which the new one is called like the package.

    Returns:
        The files, relative to the new folder.

    Raises:
        CommandError: The folder exists, or cannot be written; nothing is left behind.
    """
    contents = {
        path.format(package=names.package): _filled(template, names)
        for path, template in FILES.items()
    }
    folder = parent / names.package
    try:
        folder.mkdir()
    except FileExistsError:
        raise CommandError(f"{folder} exists; nothing was written") from None
    except OSError as error:
        raise CommandError(f"cannot make {folder}: {error.strerror}") from error
    try:
        for path, content in contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise CommandError(f"cannot write into {folder}: {error.strerror}") from error
    return tuple(contents)


def _filled(template: str, names: Names) -> str:
    source = files("strideweave.cli").joinpath("scaffold", f"{template}.template")
    return Template(source.read_text(encoding="utf-8")).substitute(
        package=names.package,
        distribution=names.distribution,
        carrier=names.carrier,
        version=version("strideweave-core"),
    )
