"""``strideweave carriers``."""

from typing import Any

import pytest

GOOD = "import strideweave as sw\nclass Slab(sw.Carrier): ...\n"


@pytest.mark.rule("C-1")
def test_no_carrier_says_how_to_get_one(ask: Any, shelf: Any) -> None:
    answer = ask("carriers")
    assert answer.status == 0
    assert answer.output == (
        "no installed distribution advertises a carrier\n"
        "install one, such as strideweave-compute: python -m pip install strideweave-compute\n"
    )


@pytest.mark.rule("C-1")
def test_lists_distribution_version_entry_point_and_import(ask: Any, shelf: Any) -> None:
    module = shelf.carrier("Slab", GOOD)
    answer = ask("carriers")
    assert answer.status == 0
    assert answer.output == (
        "CARRIER  DISTRIBUTION     ENTRY POINT"
        f"{' ' * (len(module) + 5 - len('ENTRY POINT'))}  IMPORT\n"
        f"Slab     plugin-slab 2.0  {module}:Slab  ok\n"
    )


def test_a_broken_carrier_is_shown_beside_the_others(ask: Any, shelf: Any) -> None:
    shelf.carrier("Broken", "raise OSError('no such\\n  device')\n")
    shelf.carrier("Number", "Number = 1\n")
    shelf.carrier("Leaving", "raise SystemExit(3)\n")
    shelf.carrier("Slab", GOOD)
    answer = ask("carriers")
    rows = answer.output.splitlines()[1:]
    assert answer.status == 1
    assert [row.split()[0] for row in rows] == ["Broken", "Leaving", "Number", "Slab"]
    assert rows[0].endswith("  OSError: no such device")
    assert rows[1].endswith("  SystemExit: 3")
    assert "is no subclass of Carrier: 1" in rows[2]
    assert rows[3].endswith("  ok")


def test_two_targets_of_one_name_are_both_shown(ask: Any, shelf: Any) -> None:
    for number in (1, 2):
        group = f"[strideweave.carriers]\nSlab = slab{number}:Slab\n"
        shelf.distribution(f"plugin{number}", "1.0", group)
    answer = ask("carriers")
    assert answer.status == 1
    assert answer.output.count("advertised for several targets: slab1:Slab, slab2:Slab") == 2
