"""``python -m strideweave`` is the ``strideweave`` command of this interpreter."""

from strideweave.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
