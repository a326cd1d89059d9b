"""The conformance kit over FileBacked, whose memory is read and written as a file."""

import struct
from typing import Any, Final

from strideweave import DType, FileBacked, Generic, SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance, Peer

FORMATS: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "?"}


class TestFileBacked(CarrierConformance[FileBacked]):
    carrier_class = FileBacked
    abilities = frozenset({Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN})
    peers = (
        Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype)),
        Peer(Generic, lambda size, dtype: Generic([], dtype=dtype).allocate_like(size)),
        Peer(FileBacked, lambda size, dtype: FileBacked(dtype=dtype).allocate_like(size)),
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> FileBacked:
        return FileBacked(dtype=dtype).allocate_like(size, mutable=mutable)

    def raw_read(self, carrier: FileBacked, slot: int) -> object:
        code = FORMATS[carrier.dtype()]
        with carrier.path.open("rb") as file:
            file.seek(slot * struct.calcsize(code))
            return struct.unpack(code, file.read(struct.calcsize(code)))[0]

    def raw_write(self, carrier: FileBacked, slot: int, value: Any) -> None:
        code = FORMATS[carrier.dtype()]
        with carrier.path.open("r+b") as file:
            file.seek(slot * struct.calcsize(code))
            file.write(struct.pack(code, value))
