"""The extra that brings MLX, on the systems that have it."""

from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest


@pytest.mark.rule("MT-1")
def test_the_extra_brings_mlx_and_nothing_else_does(wheels: dict[str, Path]) -> None:
    with ZipFile(wheels["compute"]) as archive:
        (name,) = (entry for entry in archive.namelist() if entry.endswith("/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    assert metadata.get_all("Provides-Extra") == ["metal"]
    required = [entry for entry in metadata.get_all("Requires-Dist", []) if "mlx" in entry]
    on_mac, on_linux = sorted(required, key=lambda entry: "[cpu]" in entry)
    assert on_mac.startswith("mlx>=") and "darwin" in on_mac and "arm64" in on_mac
    assert on_linux.startswith("mlx[cpu]>=") and "linux" in on_linux
    assert all("extra == 'metal'" in entry for entry in required)
