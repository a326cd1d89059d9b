"""The pytest plug-in ``strideweave``: reports what conformance tests did not check."""

import pytest

_PROPERTY = "strideweave-conformance"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Attach to each conformance test what its class leaves out."""
    describe = getattr(getattr(item, "cls", None), "conformance_summary", None)
    if describe is not None:
        item.user_properties.append((_PROPERTY, describe()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List per carrier what was not checked."""
    lines = {
        str(value): None
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY
    }
    if lines:
        terminalreporter.section("StrideWeave conformance")
        for line in lines:
            terminalreporter.line(line)
