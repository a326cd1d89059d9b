"""DependentCarrier: the base of carriers that execute through the instances they compose."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from strideweave.carriers import capability_queries, construction
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_set import CapabilitySet
from strideweave.carriers.class_record import class_record
from strideweave.carriers.provider_notes import add_provider_note

if TYPE_CHECKING:
    from strideweave.operation.capability import OperationCapability
    from strideweave.operation.gradient import RecordedCall
    from strideweave.operation.policy import OperationPlan
    from strideweave.tensor.tensor import Tensor


class _FinalizingType(type):
    """Finalizes a definition-backed dependent carrier once its ``__init__`` has returned."""

    if not TYPE_CHECKING:  # checkers take what a call gives from __init__

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            instance = cls.__new__(cls, *arguments, **keywords)
            if not isinstance(instance, DependentCarrier):
                return instance
            try:
                type(instance).__init__(instance, *arguments, **keywords)
                if class_record(cls).definition is not None and not instance._is_finalized():
                    instance._finalize_dependent_capabilities()
            except BaseException as error:
                construction.abandon(instance, error)
                raise
            return instance


class DependentCarrier(Carrier, metaclass=_FinalizingType):
    """Base of carriers whose reach depends on the carrier instances they compose.

    A definition-free subclass implements ``_generate_operation_capabilities()`` and calls
    ``_finalize_dependent_capabilities()`` once, as the last step of its ``__init__``. A
    definition-backed one reports through ``CompositeProvider.capabilities`` and is finalized
    when its ``__init__`` has returned. The snapshot belongs to that instance and never changes.

    Differentiable subclasses implement ``_vjp_operand``, ``_vjp_gradient`` and
    ``_accumulate_gradient``; ``_differentiate`` is for those that need no dense stand-ins.

    Examples:
        >>> from strideweave import DependentCarrier, DType
        >>> class Wrapper(DependentCarrier):
        ...     def __init__(self, inner):
        ...         super().__init__()
        ...         self.inner = inner
        ...         self._finalize_dependent_capabilities()
        ...     def _generate_operation_capabilities(self):
        ...         return self.inner.operation_capabilities()
        ...     def size(self):
        ...         return self.inner.size()
        ...     def dtype(self):
        ...         return self.inner.dtype()
        ...     def get_value(self, index):
        ...         return self.inner[index]
    """

    __slots__ = ("_snapshot",)

    _is_dependent = True
    _snapshot: CapabilitySet

    def _generate_operation_capabilities(self) -> "Iterable[OperationCapability]":
        """Report the complete set of this instance; definition-free subclasses implement it.

        Returns:
            Every capability once, in any order.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} must implement _generate_operation_capabilities(): it has "
            "no CarrierDefinition whose composite provider would report its capabilities"
        )

    def _finalize_dependent_capabilities(self) -> None:
        """Take the capabilities once, and freeze them for this instance.

        Raises:
            RuntimeError: The instance is finalized already.
            TypeError: They are not iterable, or an entry is no OperationCapability.
            ValueError: A capability repeats.
        """
        if self._is_finalized():
            raise RuntimeError(
                f"the capabilities of this {type(self).__qualname__} are final already; finalize "
                "once, as the last step of construction"
            )
        try:
            self._snapshot = CapabilitySet(self._reported_capabilities())
        except BaseException as error:
            construction.abandon(self, error)
            raise

    def _reported_capabilities(self) -> "tuple[OperationCapability, ...]":
        definition = self._class_record.definition
        if definition is None:
            return capability_queries.checked_capabilities(
                self._generate_operation_capabilities(),
                f"{type(self).__qualname__}._generate_operation_capabilities",
            )
        assert definition.composite is not None  # registration requires it
        callback = "CompositeProvider.capabilities"
        try:
            return capability_queries.checked_capabilities(
                definition.composite.capabilities(self), f"{callback} of {type(self).__qualname__}"
            )
        except Exception as error:
            add_provider_note(error, type(self), callback)
            raise

    def _is_finalized(self) -> bool:
        return hasattr(self, "_snapshot")

    def _capability(self, plan: "OperationPlan") -> "OperationCapability | None":
        return self._capability_set().match(plan)

    def _capability_set(self) -> CapabilitySet:
        if not self._is_finalized():
            self._require_initialized()
            raise RuntimeError(
                f"the capabilities of this {type(self).__qualname__} are not final yet; call "
                "_finalize_dependent_capabilities() as the last step of its __init__"
            )
        return self._snapshot

    def _check_partner(self, partner: Carrier, operation: str) -> None:
        """Refuse the carrier of another operand that this one cannot compute with.

        Args:
            partner: A carrier of this exact class.
            operation: The operation, for messages.

        Raises:
            TypeError: What the two compose does not fit together.
        """

    def _differentiate(self, call: "RecordedCall") -> "tuple[Tensor | None, ...]":
        """Give the gradients of a recorded operation that this carrier dispatched.

        A carrier whose operands need not be dense at one time overrides this, and runs
        ``call.differentiate_block`` over one block after the other. Cotangent and operands are
        checked; graph building and profiling are off.

        Args:
            call: The operation with what arrived at its results.

        Returns:
            One gradient per Tensor operand, in the representation of its carrier, or None where
            none is wanted. By default the vjp runs over what the three other hooks give.
        """
        return call.differentiate()

    def _vjp_operand(self, tensor: "Tensor") -> "Tensor":
        """Give a dense stand-in for an operand, on the class that its gradient is computed on.

        Args:
            tensor: A saved operand on this carrier, whose values the gradient reads.

        Returns:
            A Tensor of the same shape with the same values.
        """
        self._refuse_gradient("_vjp_operand")

    def _vjp_gradient(self, gradient: "Tensor", operand: "Tensor") -> "Tensor":
        """Bring a computed gradient into this carrier's representation.

        Args:
            gradient: The gradient of the stand-in.
            operand: The operand on this carrier.

        Returns:
            The gradient as a Tensor that fits the operand.
        """
        self._refuse_gradient("_vjp_gradient")

    def _accumulate_gradient(self, total: "Tensor", gradient: "Tensor") -> "Tensor":
        """Add two gradients in this carrier's representation.

        Args:
            total: What was accumulated before.
            gradient: The next contribution.

        Returns:
            Their sum.
        """
        self._refuse_gradient("_accumulate_gradient")

    def _accumulate_reached(self, total: "Tensor", gradient: "Tensor") -> "Tensor | None":
        """Add two gradients only where the second one may differ from zero.

        Args:
            total: An existing gradient on this carrier; it stays as it is.
            gradient: The next contribution.

        Returns:
            A Tensor whose parts, as ``_step_tensor`` gives them, are the sums; None where there are
            no parts.
        """
        return None

    def _refuse_gradient(self, hook: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__qualname__} must implement {hook} to be differentiated"
        )
