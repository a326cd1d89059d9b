"""Carriers and the contracts of carrier authors. Only strideweave-core ships this file."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)  # editable layers live in other folders
