"""friendly and nn allocate on CPU unless told otherwise."""

import random

import pytest

from strideweave import CPU, DType, Generic, friendly


@pytest.mark.rule("N-50", "N-52", "N-54")
def test_factories_default_to_cpu() -> None:
    made = (
        friendly.zeros(2),
        friendly.ones(2, dtype=DType.Bool),
        friendly.full(2, value=3, dtype=DType.Int32),
        friendly.arange(2),
        friendly.rand(2),
        friendly.randn(2, rng=random.Random(0)),
        friendly.tensor([1.0, 2.0]),
    )
    for tensor in made:
        assert type(tensor.carrier) is CPU and tensor.version == 0
        assert tensor.carrier.size() == 2


@pytest.mark.rule("N-50", "N-52")
def test_class_and_prototype_of_cpu_and_a_prototype_of_generic() -> None:
    for carrier in (CPU, CPU(0, dtype=DType.Int32)):
        assert type(friendly.arange(3, carrier=carrier).carrier) is CPU
    elsewhere = friendly.full(2, 2, value=2, dtype=DType.Int32, carrier=Generic([0.0]))
    assert type(elsewhere.carrier) is Generic and elsewhere.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(TypeError):
        friendly.zeros(1, carrier=Generic)


@pytest.mark.rule("N-52")
def test_dtypes_that_cpu_does_not_store_are_its_error() -> None:
    with pytest.raises(ValueError, match="Float64"):
        friendly.zeros(2, dtype=DType.Float64)
