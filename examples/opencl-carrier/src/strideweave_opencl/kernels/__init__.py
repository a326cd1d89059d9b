"""The built-in kernel patterns of OpenCLBuffer, one module per family of operations."""
