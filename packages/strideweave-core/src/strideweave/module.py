"""Parameters and the modules that own them."""

from collections.abc import Iterator, Mapping
from reprlib import recursive_repr
from textwrap import indent
from typing import Any, NamedTuple, Self, overload

from strideweave.autograd.buffers import placed_copy
from strideweave.carriers.base import Carrier
from strideweave.carriers.chosen import allocated, is_carrier_class
from strideweave.carriers.move.entry import copy
from strideweave.layout import Layout, Shape, Stride
from strideweave.layout.construction import canonical_layout
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.tensor import Tensor, tensor_over

__all__ = ["LoadStateResult", "Module", "Parameter"]


class Parameter(Tensor):
    """A tensor that a Module registers and an optimiser updates.

    Args:
        source: A Tensor whose carrier, offset and layout are shared, or a Carrier.
        offset: The slot of the layout's index zero; only with a Carrier.
        layout: The placement; only with a Carrier.
        name: The parameter's segment in paths, instead of its attribute name.

    Raises:
        TypeError: ``source`` is neither, a Tensor comes with offset or layout, a Carrier without
            both, or ``name`` is no string.
        ValueError: ``name`` is empty or contains a dot, or the placement does not fit (as for
            Tensor).

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> weight = sw.Parameter(sw.friendly.ones(2, 3, carrier=ArrayCarrier), name="weight")
        >>> weight.name, weight.autograd_ctx, str(weight.layout)
        ('weight', None, '(2,3):(1,2)')
    """

    __slots__ = ("_name",)

    _name: str | None

    @overload
    def __init__(self, source: Tensor, *, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self, source: Carrier, offset: int, layout: Layout, *, name: str | None = None
    ) -> None: ...
    def __init__(
        self,
        source: Tensor | Carrier,
        offset: int | None = None,
        layout: Layout | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self._name = _checked_name(name, "Parameter")
        if isinstance(source, Tensor):
            if offset is not None or layout is not None:
                raise TypeError(
                    "Parameter: a Tensor brings its own offset and layout; pass Parameter(tensor) "
                    "or Parameter(carrier, offset, layout)"
                )
            source = source.detach()
            super().__init__(source.carrier, source.offset, source.layout)
        elif offset is None or layout is None:
            raise TypeError(
                "Parameter: pass a Tensor, or a Carrier with both offset and layout; got "
                f"{type(source).__qualname__} without {'offset' if offset is None else 'layout'}"
            )
        else:
            super().__init__(source, offset, layout)

    @property
    def name(self) -> str | None:
        """The segment used in paths, or None for the attribute name."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        self._name = _checked_name(name, "Parameter")


class LoadStateResult(NamedTuple):
    """What ``Module.load_state_dict`` did not load.

    Attributes:
        missing_keys: Parameter paths without a value, sorted.
        unexpected_keys: Keys without a parameter, sorted.
    """

    missing_keys: tuple[str, ...]
    unexpected_keys: tuple[str, ...]


class Module:
    """A tree of parameters and child modules with a ``forward``.

    Assigning a public attribute registers a Parameter as parameter and a Module as child; any
    other value removes an earlier registration of that name. Names that start with an underscore,
    and everything assigned before ``super().__init__()``, are plain attributes.

    Args:
        name: The module's segment in paths, instead of its attribute name.

    Raises:
        TypeError: ``name`` is no string.
        ValueError: ``name`` is empty or contains a dot.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> class Scale(sw.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = sw.Parameter(sw.friendly.ones(1, carrier=ArrayCarrier))
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> scale = Scale()
        >>> [path for path, _ in scale.get_named_parameters()]
        ['factor']
        >>> scale(sw.friendly.tensor([2.0, 3.0], carrier=ArrayCarrier)).tolist()
        [2.0, 3.0]
    """

    _name: str | None
    _own_parameters: dict[str, Parameter]
    _children: "dict[str, Module]"

    def __init__(self, *, name: str | None = None) -> None:
        self._name = _checked_name(name, type(self).__qualname__)
        self._own_parameters = {}
        self._children = {}

    @property
    def name(self) -> str | None:
        """The segment used in paths, or None for the attribute name."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        self._name = _checked_name(name, type(self).__qualname__)

    def __setattr__(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)
        if attribute.startswith("_") or attribute == "name" or "_children" not in self.__dict__:
            return
        if not isinstance(value, Parameter):
            self._own_parameters.pop(attribute, None)
        if not isinstance(value, Module):
            self._children.pop(attribute, None)
        if isinstance(value, Parameter):
            self._own_parameters[attribute] = value
        elif isinstance(value, Module):
            self._children[attribute] = value

    def __delattr__(self, attribute: str) -> None:
        object.__delattr__(self, attribute)
        if "_children" in self.__dict__:
            self._own_parameters.pop(attribute, None)
            self._children.pop(attribute, None)

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # each module has its own signature
        """Compute the module's output; subclasses implement it.

        Raises:
            NotImplementedError: The subclass does not.
        """
        raise NotImplementedError(f"{type(self).__qualname__} does not implement forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def modules(self) -> "tuple[Module, ...]":
        """Return this module and all below it, depth first, each once."""
        return tuple(module for _, module in self._walk())

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of this module, then those of its children, each once."""
        return tuple(parameter for _, parameter in self.get_named_parameters())

    def get_named_parameters(self) -> tuple[tuple[str, Parameter], ...]:
        """Return ``parameters()`` with their paths.

        Returns:
            Pairs of the first path that leads to a parameter, and the parameter. A path joins
            segments with dots; a segment is the object's own name when it has one, else its
            attribute name. The name of this module is no part of it.
        """
        named: dict[int, tuple[str, Parameter]] = {}
        for prefix, module in self._walk():
            for attribute, parameter in module._own_parameters.items():
                named.setdefault(id(parameter), (prefix + (parameter.name or attribute), parameter))
        return tuple(named.values())

    def state_dict(self) -> dict[str, Tensor]:
        """Copy the values of all parameters.

        Returns:
            A detached tensor per path of ``get_named_parameters()``, in that order: fresh storage
            of the parameter's exact carrier class, its dtype, the canonical layout of its shape.
            ``numpy.savez(file, **state)`` writes it to a file.

        Raises:
            ValueError: Two parameters have the same path.
        """
        return {
            path: _dense_copy(parameter) for path, parameter in self._parameters_by_path().items()
        }

    def load_state_dict(
        self, state: Mapping[str, Tensor], *, strict: bool = True
    ) -> LoadStateResult:
        """Write values into the parameters, in place, after checking all of them.

        Each written parameter's carrier version rises by one, so graphs recorded before become
        stale; ``.grad`` is left alone.

        Args:
            state: A tensor per path, of the parameter's dtype and shape, on any carrier.
            strict: Whether missing and unexpected paths are an error.

        Returns:
            The missing and the unexpected paths.

        Raises:
            TypeError: ``state`` is no mapping with string keys, a value is no Tensor or has another
                dtype.
            KeyError: ``strict``, and paths are missing or unexpected.
            ValueError: A shape differs, a parameter's layout aliases, or two parameters have the
                same path.
            RuntimeError: A parameter is not mutable, or a carrier is released.
        """
        _require_state(state)
        parameters = self._parameters_by_path()
        result = LoadStateResult(
            tuple(sorted(parameters.keys() - state.keys())),
            tuple(sorted(state.keys() - parameters.keys())),
        )
        if strict and (result.missing_keys or result.unexpected_keys):
            raise KeyError(
                f"load_state_dict: missing keys {list(result.missing_keys)}, unexpected keys "
                f"{list(result.unexpected_keys)}; pass strict=False to load the common ones"
            )
        loaded = {path: state[path] for path in parameters if path in state}
        for path, value in loaded.items():
            _require_loadable(path, parameters[path], value)
        written = {id(parameters[path].carrier) for path in loaded}
        for path, value in loaded.items():
            if id(value.carrier) in written:  # an earlier write must not show in a later one
                loaded[path] = _dense_copy(value)
        for path, value in loaded.items():
            parameters[path][...] = value
        return result

    @recursive_repr()
    def __repr__(self) -> str:
        name = type(self).__qualname__
        if "_children" not in self.__dict__:
            return f"{name}(not initialized)"
        parts = [
            f"{attribute}: {parameter.dtype().name} {parameter.shape}"
            for attribute, parameter in self._own_parameters.items()
        ]
        parts += [f"{attribute}: {child!r}" for attribute, child in self._children.items()]
        lines = [indent(part, "  ") for part in parts]
        return "\n".join([f"{name}(", *lines, ")"]) if parts else f"{name}()"

    def to(self, target: type[Carrier] | Carrier) -> Self:
        """Replace every parameter by a copy on other storage.

        A copy is a new leaf of the same name, dtype, layout and values, without a gradient.
        Modules that share a parameter, and parameters that share storage, go on sharing. The old
        parameters and their carriers stay as they are, so build optimisers afterwards.

        Args:
            target: A Carrier class whose constructor takes ``(slots, *, dtype, mutable)``, or an
                instance of any class to allocate like.

        Returns:
            This module.

        Raises:
            TypeError: ``target`` is something else, or does not store a parameter's dtype.
            NotImplementedError: No permitted route joins two classes.
            RuntimeError: A parameter's carrier is released, owned or evicted.

        A failure leaves every parameter in place.

        Examples:
            >>> import strideweave as sw
            >>> from strideweave.testing import ArrayCarrier
            >>> layer = sw.nn.Linear(2, 1).to(ArrayCarrier)
            >>> type(layer.weight.carrier).__name__, layer.weight.shape
            ('ArrayCarrier', Shape(1, 2))
        """
        if not isinstance(target, Carrier) and not is_carrier_class(target):
            raise TypeError(
                f"{type(self).__qualname__}.to: target must be a Carrier class, or a Carrier "
                f"instance to allocate like, got {target!r}"
            )
        copies = _copied_parameters(self.parameters(), target)
        for _, module in self._walk():
            for attribute, parameter in tuple(module._own_parameters.items()):
                setattr(module, attribute, copies[id(parameter)])
        return self

    def _walk(self) -> "Iterator[tuple[str, Module]]":
        """Yield each module below this one once, depth first, with its path and a final dot."""
        seen: set[int] = set()
        unvisited: list[tuple[str, Module]] = [("", self)]
        while unvisited:
            prefix, module = unvisited.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            _require_initialized(module)
            yield prefix, module
            children = [
                (f"{prefix}{child.__dict__.get('_name') or attribute}.", child)
                for attribute, child in module._children.items()
            ]
            unvisited.extend(reversed(children))

    def _parameters_by_path(self) -> dict[str, Parameter]:
        by_path: dict[str, Parameter] = {}
        for path, parameter in self.get_named_parameters():
            if path in by_path:
                raise ValueError(
                    f"{type(self).__qualname__}: two parameters have the path {path!r}; give one "
                    "of them, or its module, another name"
                )
            by_path[path] = parameter
        return by_path


def _require_initialized(module: Module) -> None:
    if "_children" not in module.__dict__:
        raise RuntimeError(
            f"{type(module).__qualname__} is not initialized: its __init__ must call "
            "super().__init__() before it assigns parameters and modules"
        )


def _dense_copy(tensor: Tensor) -> Tensor:
    layout = canonical_layout(tensor.shape)
    return placed_copy(tensor, tensor.carrier, layout, tensor.dtype())


def _copied_parameters(
    parameters: tuple[Parameter, ...], target: type[Carrier] | Carrier
) -> dict[int, Parameter]:
    """Copy parameters, those of one carrier together, and give the copies by the ids of all."""
    sharing: dict[int, list[Parameter]] = {}
    for parameter in parameters:
        sharing.setdefault(id(parameter.carrier), []).append(parameter)
    copies = {}
    for together in sharing.values():
        start = min(parameter.offset for parameter in together)
        end = max(parameter.offset + parameter.layout.cosize for parameter in together)
        carrier = _copied_span(together[0].carrier, start, end - start, target)
        for old in together:
            new = Parameter(carrier, old.offset - start, old.layout, name=old.name)
            copies[id(old)] = new
    return copies


def _copied_span(
    source: Carrier, start: int, slots: int, target: type[Carrier] | Carrier
) -> Carrier:
    span = tensor_over(source, start, Layout(Shape(slots), Stride(1)))
    with no_grad():
        return copy(span, allocated(target, slots, source.dtype())).carrier


def _checked_name(name: object, owner: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise TypeError(f"{owner}: name must be a str or None, got {type(name).__qualname__}")
    if not name:
        raise ValueError(f"{owner}: name must be a non-empty string; pass None for no name")
    if "." in name:
        raise ValueError(f"{owner}: name must not contain '.', which separates paths; got {name!r}")
    return name


def _require_state(state: object) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(
            f"load_state_dict: state must be a mapping of paths to Tensors, got "
            f"{type(state).__qualname__}"
        )
    for key in state:
        if not isinstance(key, str):
            raise TypeError(f"load_state_dict: keys must be str, got {key!r}")


def _require_loadable(path: str, parameter: Parameter, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"load_state_dict: {path} must be a Tensor, got {type(value).__qualname__}; "
            "strideweave.from_numpy makes one of an array"
        )
    if value.dtype() is not parameter.dtype():
        raise TypeError(
            f"load_state_dict: {path} has dtype {value.dtype().name}, the parameter "
            f"{parameter.dtype().name}"
        )
    if value.shape != parameter.shape:
        raise ValueError(
            f"load_state_dict: {path} has shape {value.shape!r}, the parameter {parameter.shape!r}"
        )
    for owner, tensor in (("value", value), ("parameter", parameter)):
        if tensor.carrier.is_released():
            raise RuntimeError(
                f"load_state_dict: the {type(tensor.carrier).__qualname__} carrier of the {owner} "
                f"{path} is released"
            )
    if not parameter.is_mutable():
        raise RuntimeError(
            f"load_state_dict: parameter {path} is not mutable on its "
            f"{type(parameter.carrier).__qualname__} carrier"
        )
    if not parameter.layout.is_injective:
        raise ValueError(
            f"load_state_dict: the layout {parameter.layout!r} of parameter {path} aliases; only "
            "an injective layout can be loaded"
        )
