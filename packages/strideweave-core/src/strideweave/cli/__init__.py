"""The ``strideweave`` command: one module per subcommand, each with one ``COMMAND``."""
