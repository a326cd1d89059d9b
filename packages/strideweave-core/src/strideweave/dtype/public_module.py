"""The module path under which every dtype class presents itself."""

from typing import Final

PUBLIC_MODULE: Final = "strideweave.carriers.dtype"
"""The ``__module__`` of the public dtype classes; pickles name it wherever the code lives."""
