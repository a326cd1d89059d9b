"""The exclusive hold that a request has on its two carriers."""

from types import TracebackType
from typing import final

from strideweave.carriers.base import Carrier


@final
class Claims:
    """Ownership of the carriers of one request, and owner access to them as a context manager.

    A carrier to which the calling thread has owner access already belongs to a composite that
    moves between its own tiers: the composite's claim serves, and stays the composite's.

    Args:
        *carriers: Live carriers that nobody else owns.

    Raises:
        RuntimeError: A carrier is released or owned; no claim remains.
    """

    __slots__ = ("_tokens", "is_borrowed")

    def __init__(self, *carriers: Carrier) -> None:
        self.is_borrowed = False
        self._tokens: list[tuple[Carrier, int]] = []
        try:
            for carrier in carriers:
                if carrier._has_owner_access():
                    self.is_borrowed = True
                else:
                    self._tokens.append((carrier, carrier._claim_ownership()))
        except BaseException:
            self.relinquish()
            raise

    def __enter__(self) -> None:
        for position, (carrier, token) in enumerate(self._tokens):
            try:
                carrier._begin_owner_access(token)
            except BaseException:
                self._end_access(self._tokens[:position])
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end_access(self._tokens)

    def relinquish(self) -> None:
        """Give back every claim.

        Raises:
            RuntimeError: A claim could not be given back; the others were.
        """
        failures = []
        while self._tokens:
            carrier, token = self._tokens.pop()
            try:
                carrier._relinquish_ownership(token)
            except RuntimeError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def _end_access(self, tokens: list[tuple[Carrier, int]]) -> None:
        for carrier, token in tokens:
            carrier._end_owner_access(token)
