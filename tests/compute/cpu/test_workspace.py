"""Memory that kernels lend each other."""

import numpy as np
import pytest

from strideweave.carriers.cpu.kernels import workspace as module
from strideweave.carriers.cpu.kernels.workspace import workspace

FLOAT32 = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_kept", [])


def test_the_next_kernel_gets_the_same_memory() -> None:
    with workspace(1000, FLOAT32) as first:
        assert first.shape == (1000,) and first.dtype == FLOAT32
        first[...] = 7.0
    with workspace(500, np.dtype(np.int32)) as second:
        assert np.shares_memory(first, second)
        assert second.shape == (500,) and second.dtype == np.int32


def test_kernels_at_the_same_time_get_memory_of_their_own() -> None:
    with workspace(10, FLOAT32) as first, workspace(10, FLOAT32) as second:
        with workspace(10, FLOAT32) as third:
            assert not np.shares_memory(first, second)
            assert not np.shares_memory(first, third) and not np.shares_memory(second, third)
    assert len(module._kept) == module._MOST_KEPT


def test_large_memory_is_not_kept() -> None:
    with workspace(module._BYTES // 4 + 1, FLOAT32) as large:
        assert large.shape == (module._BYTES // 4 + 1,)
    assert module._kept == []
    with workspace(module._BYTES // 4, FLOAT32) as largest:
        assert largest.shape == (module._BYTES // 4,)
    assert len(module._kept) == 1


def test_memory_of_a_kernel_that_fails_is_not_kept() -> None:
    with pytest.raises(ArithmeticError), workspace(10, FLOAT32):
        raise ArithmeticError("another thread may still write")
    assert module._kept == []
