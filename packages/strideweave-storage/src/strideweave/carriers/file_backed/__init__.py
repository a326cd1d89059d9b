"""The carrier of temporary files."""

from strideweave.carriers.file_backed.carrier import FileBacked

__all__ = ["FileBacked"]
