"""Equality and hashing of records that serve as keys of hot dictionaries."""

from strideweave.dtype import DType


class RecordKey:
    """Field equality that starts with identity, and a hash computed at most once per record.

    A record assigns both methods in its own body, which keeps the dataclass machinery from writing
    others. Descriptors among the fields count by identity even if their class defines equality.
    """

    __slots__ = ("_hash",)

    _hash: int
    __match_args__: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash(_fields(self))
            object.__setattr__(self, "_hash", value)
            return value


def _fields(record: object) -> tuple[object, ...]:
    names: tuple[str, ...] = type(record).__match_args__  # type: ignore[attr-defined]  # a RecordKey
    values = (getattr(record, name) for name in names)
    return tuple(id(value) if isinstance(value, DType) else value for value in values)
