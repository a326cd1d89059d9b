"""TransferRequest: made by the framework only."""

from typing import Any

import pytest

from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.carriers.extension import TransferRequest
from strideweave.carriers.extension.transfers import transfer_request

FLOAT32 = DType.Float32


@pytest.mark.rule("R-41", "M-11")
def test_a_request_names_both_ends_and_the_span(workshop: Any) -> None:
    source, destination = workshop.defined()(9, dtype=FLOAT32), workshop.defined()(4, dtype=FLOAT32)
    tensor = Tensor(source, 2, Layout(Shape(2, 2), Stride(1, 4)))
    request = transfer_request(tensor, destination)
    assert request.tensor is tensor and request.destination is destination
    assert request.source_class is type(source)
    assert request.destination_class is type(destination)
    assert request.dtype is FLOAT32 and request.layout is tensor.layout
    assert request.physical_span == tensor.layout.cosize == 6
    assert request.source is source
    for name in (*TransferRequest.__match_args__, "anything"):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(request, name, None)


@pytest.mark.rule("R-41")
def test_nobody_else_makes_a_request() -> None:
    with pytest.raises(TypeError, match="created by the framework"):
        TransferRequest()
