"""The conformance kit over CPU, whose memory is reached by its address."""

import ctypes
from typing import Any, Final

from strideweave import CPU, DType, FileBacked, Generic, SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance, Peer

CELLS: Final[dict[DType, Any]] = {
    DType.Float32: ctypes.c_float,
    DType.Int32: ctypes.c_int32,
    DType.Bool: ctypes.c_bool,
}


def cell(carrier: CPU, slot: int) -> Any:
    if carrier.pointer() == 0:
        raise RuntimeError("there is no memory")
    kind = CELLS[carrier.dtype()]
    return kind.from_address(carrier.pointer() + slot * ctypes.sizeof(kind))


class TestCPU(CarrierConformance[CPU]):
    carrier_class = CPU
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN}
    )
    peers = (
        Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype)),
        Peer(CPU, lambda size, dtype: CPU(size, dtype=dtype)),
        Peer(Generic, lambda size, dtype: Generic([], dtype=dtype).allocate_like(size)),
        Peer(FileBacked, lambda size, dtype: FileBacked(dtype=dtype).allocate_like(size)),
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> CPU:
        return CPU(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: CPU, slot: int) -> object:
        return cell(carrier, slot).value

    def raw_write(self, carrier: CPU, slot: int, value: Any) -> None:
        cell(carrier, slot).value = value
