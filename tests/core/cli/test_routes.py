"""``strideweave routes``."""

from typing import Any

import pytest

PAIR = """
import strideweave as sw
from strideweave.carriers.extension import *

class Near(sw.Carrier): ...
class Far(sw.Carrier): ...

def storage(fallback):
    return StorageProvider(
        supports_dtype=lambda carrier, dtype: True,
        physical_size=lambda carrier: carrier.extent,
        allocate=lambda carrier, slots: setattr(carrier, "extent", slots),
        release=lambda carrier: None,
        read=lambda carrier, index: 0.0,
        write=lambda carrier, index, value: None,
        elementwise_fallback=fallback,
    )

route = TransferRoute(Near, Far, "near.to-far", TransferProvider(lambda request: None))
register_carrier_definition(Near, CarrierDefinition(storage(True), transfers=[route]))
register_carrier_definition(Far, CarrierDefinition(storage(False)))
"""


@pytest.fixture
def pair(shelf: Any) -> None:
    """Two carriers with a route from the one to the other; only Near permits the fallback."""
    module = shelf.carrier("Near", PAIR)
    shelf.carrier("Far", f"from {module} import Far\n")


@pytest.mark.rule("M-40")
def test_shows_every_ordered_pair(ask: Any, pair: None) -> None:
    answer = ask("routes")
    assert answer.status == 0
    assert answer.output == (
        "FROM  TO    ROUTE\n"
        "Far   Far   refused\n"
        "Far   Near  refused\n"
        "Near  Far   transfer_route 'near.to-far'\n"
        "Near  Near  elementwise\n"
    )


@pytest.mark.rule("M-40")
def test_one_side_can_be_chosen(ask: Any, pair: None) -> None:
    assert [line.split()[:2] for line in ask("routes", "--from", "Near").output.splitlines()] == [
        ["FROM", "TO"],
        ["Near", "Far"],
        ["Near", "Near"],
    ]
    output = ask("routes", "--to", "strideweave.testing:ArrayCarrier").output
    assert output.splitlines()[1:] == [
        "Far   ArrayCarrier  refused",
        "Near  ArrayCarrier  elementwise",
    ]


@pytest.mark.rule("M-40")
def test_one_pair_says_how_it_falls_back_and_how_gradients_return(ask: Any, pair: None) -> None:
    answer = ask("routes", "--from", "Near", "--to", "Far")
    assert answer.status == 0
    assert answer.output == (
        "Near -> Far\n"
        "  transfer_route 'near.to-far'\n"
        "  when it declines: refused\n"
        "  gradient: refused\n"
    )


@pytest.mark.rule("M-40")
def test_a_refused_pair_says_why(ask: Any, pair: None) -> None:
    answer = ask("routes", "--from", "Far", "--to", "Near")
    assert answer.status == 1
    assert answer.output == (
        "Far -> Near\n"
        "  refused\n"
        "  reason: no permitted route for the pair (Far, Near): elementwise copies are not "
        "permitted by Far; declare a TransferRoute for it, or set elementwise_fallback=True in its "
        "StorageProvider\n"
        "  gradient: transfer_route 'near.to-far'\n"
    )


ARRAY = "strideweave.testing:ArrayCarrier"


@pytest.mark.rule("M-40")
def test_the_move_of_a_tensor_is_explained(ask: Any, pair: None) -> None:
    words = ("--from", ARRAY, "--to", ARRAY, "--dtype", "Int32", "--layout", "(2,3):(4,1)")
    answer = ask("routes", *words)
    assert answer.status == 0
    assert answer.output == (
        "ArrayCarrier -> ArrayCarrier\n"
        "  elementwise by ElementwiseMoveOperation\n"
        "  destination: 7 slots\n"
        "  gradient: elementwise\n"
    )
    answer = ask("routes", "--from", ARRAY, "--to", "Far", "--dtype", "Float32")
    assert answer.status == 1
    assert "  refused\n  reason: no permitted route for the pair" in answer.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dtype", "Int32", "--from", ARRAY), "needs --from, --to and --dtype"),
        (("--shape", "4", "--from", ARRAY, "--to", ARRAY), "needs --from, --to and --dtype"),
        (
            ("--dtype", "Float64", "--from", ARRAY, "--to", ARRAY),
            "cannot build a Tensor of Float64 with 6 slots on ArrayCarrier: TypeError: ",
        ),
        (
            ("--dtype", "Int32", "--from", ARRAY, "--to", "Picky"),
            "cannot build a Tensor of Int32 with 6 slots on Picky: TypeError: Picky does not",
        ),
    ],
)
def test_a_move_that_cannot_be_built_says_why(
    words: tuple[str, ...], message: str, ask: Any, shelf: Any
) -> None:
    source = PAIR.replace("True,\n", "dtype.name == 'Bool',\n", 1).replace("Near", "Picky")
    shelf.carrier("Picky", source)
    answer = ask("routes", *words)
    assert (answer.status, answer.output) == (2, "")
    assert message in answer.errors


def test_registered_operations_are_named(ask: Any, shelf: Any) -> None:
    shelf.carrier(
        "Shelf",
        "import strideweave as sw\n"
        "from strideweave.carriers.move import register_move_operation\n"
        "class Shelf(sw.Carrier): ...\n"
        "class Lift(sw.MoveOperation): ...\n"
        "register_move_operation(Shelf, Shelf, Lift)\n",
    )
    assert ask("routes").output == (
        "Shelf -> Shelf\n  registered by Lift\n  gradient: registered by Lift\n"
    )


def test_without_carriers_it_says_what_to_do(ask: Any, shelf: Any) -> None:
    answer = ask("routes")
    assert (answer.status, answer.output) == (2, "")
    assert "see 'strideweave carriers', or name two classes as module:class" in answer.errors
