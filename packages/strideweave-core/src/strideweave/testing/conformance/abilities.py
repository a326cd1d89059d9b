"""What a carrier can do beyond keeping values."""

from enum import Enum
from typing import final


@final
class Ability(Enum):
    """An ability that an author declares: its checks run or fail, and never skip."""

    COMPUTES = "computes"
    """Executes operations: every advertised capability agrees with the pure-Python reference."""

    SPANS = "spans"
    """Offers bulk access: ``read_span``, ``write_span`` or both."""

    TRANSFERS_OUT = "transfers out"
    """Tensors can be moved and copied from it to every peer."""

    TRANSFERS_IN = "transfers in"
    """Tensors can be moved and copied into it from every peer."""

    ASYNCHRONOUS_TRANSFERS = "asynchronous transfers"
    """A transfer route answers submission with a completion that ends later."""

    ASYNCHRONOUS_KERNELS = "asynchronous kernels"
    """A kernel answers submission with a completion that ends later."""

    FACETS = "facets"
    """Its definition has facets."""
