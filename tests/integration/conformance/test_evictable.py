"""The conformance kit over Evictables that compute on CPU and evict to files."""

import ctypes
from typing import Any, Final

from strideweave import CPU, DType, Evictable, FileBacked, SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance, Peer

CELLS: Final[dict[DType, Any]] = {
    DType.Float32: ctypes.c_float,
    DType.Int32: ctypes.c_int32,
    DType.Bool: ctypes.c_bool,
}


def cell(carrier: Evictable, slot: int) -> Any:
    assert isinstance(carrier.primary, CPU)
    if carrier.primary.pointer() == 0:
        raise RuntimeError("there is no memory")
    kind = CELLS[carrier.dtype()]
    return kind.from_address(carrier.primary.pointer() + slot * ctypes.sizeof(kind))


class TestEvictable(CarrierConformance[Evictable]):
    carrier_class = Evictable
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN}
    )
    allows_empty = False
    peers = (
        Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype)),
        Peer(CPU, lambda size, dtype: CPU(size, dtype=dtype)),
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Evictable:
        return Evictable(CPU(size, dtype=dtype, mutable=mutable), FileBacked(dtype=dtype))

    def raw_read(self, carrier: Evictable, slot: int) -> object:
        return cell(carrier, slot).value

    def raw_write(self, carrier: Evictable, slot: int, value: Any) -> None:
        cell(carrier, slot).value = value
