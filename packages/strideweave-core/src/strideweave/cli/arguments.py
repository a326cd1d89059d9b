"""Words of the command line that stand for values, as ``type=`` of an argument."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from ast import literal_eval

from strideweave.dtype import DType
from strideweave.dtype.registry import registry
from strideweave.layout.construction import canonical_layout
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape


def layout_argument(text: str) -> Layout:
    """Read a layout such as ``(2,3):(3,1)``.

    Raises:
        ArgumentTypeError: It is none.
    """
    try:
        return Layout.parse(text)
    except (RecursionError, ValueError) as error:
        raise ArgumentTypeError(
            f'{error}; write extents and strides, such as "(4,2):(1,4)"'
        ) from error


def shape_argument(text: str) -> Layout:
    """Read a shape such as ``(2,(3,4))`` and give its canonical layout.

    Raises:
        ArgumentTypeError: It is none.
    """
    try:
        return canonical_layout(Shape(literal_eval(text)))
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f'malformed shape {text!r}; write extents of at least 1, such as "(2,(3,4))"'
        ) from error


def size_argument(text: str) -> int:
    """Read a number of indices, or a layout, which stands for its cosize.

    Raises:
        ArgumentTypeError: It is neither.
    """
    return int(text) if text.isdecimal() else layout_argument(text).cosize


def dtype_argument(text: str) -> DType:
    """Look up a dtype by name.

    Raises:
        ArgumentTypeError: There is none.
    """
    found = registry.get(text)
    if found is None:
        names = ", ".join(dtype.name for dtype in registry.snapshot())
        raise ArgumentTypeError(f"no dtype is named {text!r}; there are: {names}")
    return found


def value_of(word: str) -> object:
    """Give the Python literal that a word is, else the dtype it names, else the word."""
    try:
        value: object = literal_eval(word)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return registry.get(word) or word
    return value


def option_argument(text: str) -> tuple[str, object]:
    """Read ``NAME=VALUE``.

    Raises:
        ArgumentTypeError: There is no name or no value.
    """
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals and value):
        raise ArgumentTypeError(f"write NAME=VALUE, got {text!r}")
    return name, value_of(value)


def add_tensor_arguments(parser: ArgumentParser, *, dtype_required: bool) -> None:
    """Declare ``dtypes`` and ``layouts``, from which Tensors are built."""
    parser.add_argument(
        "--dtype",
        dest="dtypes",
        type=dtype_argument,
        required=dtype_required,
        action="append",
        metavar="D",
        help="dtype of the Tensors; repeat it where they differ, the last one stands for the rest",
    )
    parser.add_argument(
        "--shape",
        dest="layouts",
        type=shape_argument,
        action="append",
        metavar="S",
        help='shape of the Tensors in canonical layout, by default "(2,3)"; repeats like --dtype',
    )
    parser.add_argument(
        "--layout",
        dest="layouts",
        type=layout_argument,
        action="append",
        metavar="L",
        help='layout of the Tensors, such as "(2,3):(3,1)"; takes a turn of --shape',
    )


def layouts_of(arguments: Namespace) -> list[Layout]:
    """Give the layouts of ``add_tensor_arguments``, at least one."""
    return arguments.layouts or [shape_argument("(2,3)")]
