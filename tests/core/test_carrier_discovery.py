"""Carriers that installed distributions advertise."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strideweave import Carrier
from strideweave.carriers import InstalledCarrier, carrier_names, installed, load_carrier

PLUGIN = "import strideweave\nclass Slab(strideweave.Carrier): ...\nclass Unrelated: ...\n"
Advertise = Callable[[str, str], None]


@pytest.fixture
def advertise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Advertise]:
    """Install one distribution that advertises a carrier under a name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slab_plugin.py").write_text(PLUGIN)
    count = 0

    def install(name: str, target: str) -> None:
        nonlocal count
        count += 1
        metadata = tmp_path / f"plugin{count}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: plugin{count}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[strideweave.carriers]\n{name} = {target}\n")

    yield install
    sys.modules.pop("slab_plugin", None)


@pytest.mark.rule("C-1")
def test_names_are_sorted_and_nothing_is_imported(advertise: Advertise) -> None:
    before = set(carrier_names())
    advertise("Slab", "slab_plugin:Slab")
    advertise("Another", "absent_module:Another")
    assert carrier_names() == tuple(sorted(before | {"Another", "Slab"}))
    assert "slab_plugin" not in sys.modules


@pytest.mark.rule("C-1")
def test_loads_the_advertised_class(advertise: Advertise) -> None:
    advertise("Slab", "slab_plugin:Slab")
    advertise("Slab", "slab_plugin:Slab")
    loaded = load_carrier("Slab")
    assert loaded.__qualname__ == "Slab"
    assert issubclass(loaded, Carrier)
    assert loaded is load_carrier("Slab")


def test_an_unknown_name_is_a_lookup_error(advertise: Advertise) -> None:
    advertise("Slab", "slab_plugin:Slab")
    with pytest.raises(LookupError, match=r"advertises a carrier 'Slub'; known: .*Slab"):
        load_carrier("Slub")


def test_several_targets_are_a_lookup_error(advertise: Advertise) -> None:
    advertise("Slab", "slab_plugin:Slab")
    advertise("Slab", "other_plugin:Slab")
    with pytest.raises(LookupError, match="several targets: other_plugin:Slab, slab_plugin:Slab"):
        load_carrier("Slab")


@pytest.mark.parametrize("name", ["Unrelated", "strideweave"])
def test_another_target_is_a_type_error(name: str, advertise: Advertise) -> None:
    advertise(name, f"slab_plugin:{name}")
    with pytest.raises(TypeError, match=f"slab_plugin:{name}, which is no subclass of Carrier"):
        load_carrier(name)


@pytest.mark.parametrize("target", ["a b c", "slab-plugin", "slab_plugin:", ":Slab"])
def test_a_malformed_target_is_a_type_error(target: str, advertise: Advertise) -> None:
    advertise("Slab", target)
    with pytest.raises(TypeError, match=f"as {target}, which is not written module:attribute"):
        load_carrier("Slab")


@pytest.mark.rule("C-1")
def test_installed_carriers_say_where_they_come_from(advertise: Advertise) -> None:
    before = installed()
    advertise("Slab", "slab_plugin:Slab")
    advertise("Slab", "slab_plugin:Slab")
    advertise("Another", "absent_module:Another")
    assert {*installed()} - {*before} == {
        InstalledCarrier("Another", "absent_module:Another", "plugin3", "1.0"),
        InstalledCarrier("Slab", "slab_plugin:Slab", "plugin1", "1.0"),
        InstalledCarrier("Slab", "slab_plugin:Slab", "plugin2", "1.0"),
    }
    assert list(installed()) == sorted(
        installed(), key=lambda entry: (entry.name, entry.target, entry.distribution)
    )
    assert not {"slab_plugin", "absent_module"} & {*sys.modules}


def test_a_failing_import_passes_through(advertise: Advertise) -> None:
    advertise("Another", "absent_module:Another")
    with pytest.raises(ModuleNotFoundError, match="absent_module"):
        load_carrier("Another")
