"""Parts of docstrings in Google sections."""

from inspect import getdoc


def summary(documented: object) -> str:
    """Give the first line of a docstring."""
    return (getdoc(documented) or "").partition("\n")[0]


def paragraph(documented: object, section: str) -> str:
    """Give the text of a section on one line, empty where there is none."""
    _, _, rest = (getdoc(documented) or "").partition(f"\n{section}\n")
    return " ".join(rest.partition("\n\n")[0].split())
