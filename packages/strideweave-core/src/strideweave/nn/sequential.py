"""Modules in a row."""

from collections.abc import Iterator
from operator import index
from typing import Any, final

from strideweave.module import Module


@final
class Sequential(Module):
    """Feeds each module the result of the one before.

    Args:
        *modules: Registered under the attributes ``"0"``, ``"1"``, ...
        name: The module's segment in paths.

    Raises:
        TypeError: An argument is not a Module.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> network = sw.nn.Sequential(sw.nn.ReLU(), sw.nn.Tanh())
        >>> len(network), type(network[-1]).__name__
        (2, 'Tanh')
        >>> network(sw.friendly.tensor([-1.0, 0.0], carrier=ArrayCarrier)).tolist()
        [0.0, 0.0]
    """

    def __init__(self, *modules: Module, name: str | None = None) -> None:
        super().__init__(name=name)
        for position, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(
                    f"Sequential: argument {position} must be a Module, "
                    f"got {type(module).__qualname__}"
                )
            setattr(self, str(position), module)

    def forward(self, x: Any) -> Any:  # whatever the first module takes and the last one gives
        """Run the modules in order.

        Args:
            x: The first module's input.

        Returns:
            The last module's output, or ``x`` itself when there is none.
        """
        for module in self:
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Module]:
        return iter(tuple(self._children.values()))

    def __getitem__(self, position: int) -> Module:
        modules = tuple(self._children.values())
        try:
            return modules[index(position)]
        except IndexError:
            raise IndexError(
                f"Sequential index {position} is out of range for {len(modules)} modules"
            ) from None
