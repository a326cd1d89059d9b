"""What needs the CPU carrier says which distribution to install."""

import sys
from collections.abc import Callable

import pytest

from strideweave import friendly, nn


@pytest.mark.rule("N-50", "N-32", "N-37", "C-1")
@pytest.mark.parametrize(
    "call",
    [
        lambda: friendly.zeros(2),
        lambda: friendly.tensor([1.0]),
        lambda: nn.Linear(2, 2),
        lambda: nn.Embedding(2, 2),
    ],
)
def test_absent_default_carrier_names_its_distribution(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]
) -> None:
    monkeypatch.setitem(sys.modules, "strideweave.carriers.cpu", None)
    with pytest.raises(ImportError, match=r"^strideweave\.CPU .*strideweave-compute;.* carrier="):
        call()
