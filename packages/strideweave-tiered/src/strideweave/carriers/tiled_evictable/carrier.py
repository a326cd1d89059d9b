"""TiledEvictable: a full tensor as a grid of tiles, each in one of two tiers."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, final

from strideweave.carriers import Carrier, DependentCarrier, reject_carrier_subclass
from strideweave.carriers.dtype import DType
from strideweave.carriers.extension import CarrierDefinition, register_carrier_definition
from strideweave.carriers.move import AwaitMove
from strideweave.carriers.tiled_evictable import (
    backward,
    direct,
    gradients,
    projection,
    replacement,
    scattering,
    views,
)
from strideweave.carriers.tiled_evictable.construction import checked_state
from strideweave.carriers.tiled_evictable.facet import TiledResidencyFacet
from strideweave.carriers.tiled_evictable.factories import (
    allocated_like,
    filled_like_values,
    one_slot,
)
from strideweave.carriers.tiled_evictable.policy import ResidencyPolicy
from strideweave.carriers.tiled_evictable.residency import AwaitResidency
from strideweave.carriers.tiled_evictable.seeding import fill_from_seed
from strideweave.carriers.tiled_evictable.state import TileState, lock
from strideweave.carriers.tiled_evictable.stats import ResidencyStats
from strideweave.carriers.tiled_evictable.storage import clear, storage_provider
from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet
from strideweave.carriers.tiled_evictable.transition import release_all
from strideweave.operation import Operation
from strideweave.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.operation.gradient import RecordedCall


@final
class TiledEvictable(DependentCarrier):
    """One full tensor as a grid of equally shaped tiles, each in a fast or in a large tier.

    Every tile moves on its own between the primary tier, which computes, and the secondary tier,
    which backs it. Slots count the full logical shape first-mode-fastest, wherever their tiles
    are. A full Tensor takes part in ``add``, ``elementwise_mul``, ``mul``, ``relu``,
    ``reduce_sum`` and ``matmul``; ``project`` copies chosen tiles into an ordinary compact Tensor,
    and ``scatter`` and ``update`` store compact Tensors in chosen tiles. All of it is
    differentiable.

    Args:
        primary: The tier that computes. It is empty, or full: then its values become the tiles.
        secondary: The tier that backs it, of the same dtype; likewise, if the primary is empty.
            Without any values every tile is invalid.
        grid_shape: Tiles per axis.
        tile_shape: Extents of each tile.
        residency_policy: Decides what requests promote, retain and evict.
        primary_capacity: How many tiles may be primary at one time; operations then stream.

    Raises:
        TypeError: An argument has the wrong type, or the tiers do not fit together.
        ValueError: A shape, a tier's size, the capacity or pinned tiles do not fit.
        RuntimeError: A tier is released or owned.

    Both tiers are owned until ``release``. A failure leaves them as they were.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> seed = ArrayCarrier(4, dtype=sw.DType.Float32).new_like([1.0, -2.0, 3.0, -4.0])
        >>> store = ArrayCarrier(0, dtype=sw.DType.Float32)
        >>> carrier = sw.TiledEvictable(seed, store, grid_shape=(2,), tile_shape=(2,))
        >>> tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(4), sw.Stride(1)))
        >>> carrier.evict(sw.TileSet([(1,)]))
        >>> carrier.tile_state((1,)).location, carrier[3]
        ('secondary', -4.0)
        >>> sw.relu(tensor).tolist()
        [1.0, 0.0, 3.0, 0.0]
    """

    def __init__(
        self,
        primary: Carrier,
        secondary: Carrier,
        grid_shape: Iterable[int],
        tile_shape: Iterable[int],
        *,
        residency_policy: ResidencyPolicy | None = None,
        primary_capacity: int | None = None,
    ) -> None:
        state = checked_state(
            primary, secondary, grid_shape, tile_shape, residency_policy, primary_capacity
        )
        self._state = state
        self._is_complete = False
        mutable = primary.is_mutable()
        state.claim_tiers()
        try:
            super().__init__(state.grid.extent, dtype=state.dtype, mutable=mutable)
            if primary.size():
                fill_from_seed(state, primary, "primary")
            elif secondary.size():
                fill_from_seed(state, secondary, "secondary")
            self._finalize_dependent_capabilities()
        except BaseException:
            release_all(clear(state))
            state.relinquish_tiers()
            raise
        self._is_complete = True

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    # Configuration and snapshots

    @property
    def primary(self) -> Carrier:
        """The tier that computes, as it was given."""
        return self._state.primary

    @property
    def secondary(self) -> Carrier:
        """The tier that backs it, as it was given."""
        return self._state.secondary

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Tiles per axis."""
        return self._state.grid.grid_shape

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Extents of each tile."""
        return self._state.grid.tile_shape

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """Extents of the full tensor."""
        return self._state.grid.logical_shape

    @property
    def residency_policy(self) -> ResidencyPolicy | None:
        """The residency policy, or None."""
        return self._state.policy

    @property
    def primary_capacity(self) -> int | None:
        """How many tiles may be primary, or None for any number."""
        return self._state.capacity

    @property
    def primary_tiles(self) -> TileSet:
        """The tiles in the primary tier now."""
        with lock:
            numbers = self._state.numbers("primary")
        return self._state.grid.tile_set(numbers)

    @property
    def secondary_tiles(self) -> TileSet:
        """The tiles in the secondary tier now."""
        with lock:
            numbers = self._state.numbers("secondary")
        return self._state.grid.tile_set(numbers)

    @property
    def valid_tiles(self) -> TileSet:
        """The tiles that have values now, implicit ones included."""
        with lock:
            numbers = self._state.numbers("primary", "secondary", "implicit")
        return self._state.grid.tile_set(numbers)

    @property
    def dirty_tiles(self) -> TileSet:
        """The primary tiles that have changed since they entered the primary tier."""
        with lock:
            numbers = [tile.number for tile in self._state.tiles if tile.dirty]
        return self._state.grid.tile_set(numbers)

    def tile_state(self, coordinate: Iterable[int]) -> TileState:
        """Tell where one tile is; also after release.

        Args:
            coordinate: The tile.

        Returns:
            Its location, whether it has values, and whether it is dirty.

        Raises:
            TypeError: The coordinate is no iterable of ints.
            ValueError: It lies outside the grid.
        """
        grid = self._state.grid
        (number,) = grid.bind(TileSet([coordinate]), "coordinate")
        with lock:
            tile = self._state.tiles[number]
            return TileState(tile.location, tile.location != "invalid", tile.dirty)

    def residency_stats(self) -> ResidencyStats:
        """Tell what residency has cost so far; also after release.

        Returns:
            The counters since construction.
        """
        with lock:
            return self._state.counters.snapshot()

    # Factories

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "TiledEvictable":
        """Build a fresh carrier of this configuration that holds the values.

        Works on a released one too.

        Args:
            values: One value per slot of the full logical shape; iterated once.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0. Its tiles are primary and clean, tiles of zeros
            implicit; beyond the capacity the first ones are secondary.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            ValueError: There are too few or too many values.
            OverflowError: An integer is out of the dtype's range.
        """
        return filled_like_values(self, values, mutable=mutable, dtype=dtype)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "TiledEvictable":
        """Build a fresh carrier of this configuration without storage.

        Works on a released one too.

        Args:
            size: The slots of the full logical shape, exactly.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Whether the tiles are invalid, instead of implicit zeros.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not exactly an int, or ``empty`` not a bool.
            ValueError: ``size`` is another one.
        """
        return allocated_like(self, size, mutable=mutable, dtype=dtype, empty=empty)

    # Residency

    def promote_async(self, tiles: TileSet | TileSelection) -> AwaitResidency:
        """Start bringing tiles to the primary tier; all of them get there, or none.

        Tiles that are there already stay. With a capacity the least recently used tiles make
        room. No version changes.

        Args:
            tiles: Which tiles.

        Returns:
            A handle whose ``wait()`` gives None; finished when there is nothing to do.

        Raises:
            RuntimeError: The carrier is released, or a tile is pending, pinned or invalid.
            TypeError: ``tiles`` is neither a TileSet nor a TileSelection.
            ValueError: A tile lies outside the grid.
            NotImplementedError: Tiles cannot move between the tiers.
            MemoryError: The tiles do not fit the capacity beside what is pinned.
        """
        return self.require_facet(TiledResidencyFacet).promote_async(self, tiles)

    def promote(self, tiles: TileSet | TileSelection) -> None:
        """Bring tiles to the primary tier, as ``promote_async`` does, and wait for them.

        Args:
            tiles: Which tiles.

        Raises:
            Exception: As for ``promote_async``, or what a transfer raised; then all tiles are
                where they were.
        """
        self.require_facet(TiledResidencyFacet).promote(self, tiles)

    def evict_async(self, tiles: TileSet | TileSelection) -> AwaitResidency:
        """Start bringing tiles out of the primary tier; all of them leave, or none.

        Tiles that are elsewhere stay there. A clean tile whose values the secondary tier has
        leaves without a transfer. No version changes.

        Args:
            tiles: Which tiles.

        Returns:
            A handle whose ``wait()`` gives None; finished when there is nothing to do.

        Raises:
            RuntimeError: The carrier is released, or a tile is pending or pinned.
            TypeError: ``tiles`` is neither a TileSet nor a TileSelection.
            ValueError: A tile lies outside the grid.
            NotImplementedError: Tiles cannot move between the tiers.
        """
        return self.require_facet(TiledResidencyFacet).evict_async(self, tiles)

    def evict(self, tiles: TileSet | TileSelection) -> None:
        """Bring tiles out of the primary tier, as ``evict_async`` does, and wait for them.

        Args:
            tiles: Which tiles.

        Raises:
            Exception: As for ``evict_async``, or what a transfer raised; then all tiles are where
                they were, with their values.
        """
        self.require_facet(TiledResidencyFacet).evict(self, tiles)

    # Compact tensors

    def project(
        self, tensor: Tensor, selection: TileSelection, destination: Carrier | None = None
    ) -> "projection.AwaitProjection":
        """Start copying chosen tiles into one compact Tensor.

        Args:
            tensor: A full Tensor over this carrier, whose tiles are this carrier's.
            selection: The tiles, as an ordered product of axes.
            destination: A carrier of the primary's exact class that takes the values, or None for
                a fresh one.

        Returns:
            A handle whose ``wait()`` gives a Tensor in the flat dense first-mode-fastest layout of
            the selected tiles, side by side in the order of the selection.

        Raises:
            TypeError: An argument has the wrong type, carrier, class or dtype.
            ValueError: The Tensor is not a full one, a tile lies outside the grid, or the
                destination is too small.
            RuntimeError: A carrier is released, owned or immutable, or a tile pending, pinned or
                invalid.
            NotImplementedError: Tiles cannot move between the tiers.
            MemoryError: The tiles do not fit the capacity beside what is pinned.
        """
        return projection.project(self, tensor, selection, destination)

    def scatter(
        self,
        compact: Tensor,
        template: Tensor,
        selection: TileSelection,
        *,
        reduction: str = "replace",
    ) -> AwaitMove[Tensor]:
        """Start making a new full Tensor whose chosen tiles come from a compact one.

        Args:
            compact: A Tensor on the primary's exact class, as ``project`` gives them.
            template: A full Tensor over this carrier; it stays as it is.
            selection: The tiles, as an ordered product of axes.
            reduction: ``"replace"`` takes the values of ``compact``, ``"add"`` their sums with
                those of the template.

        Returns:
            A handle whose ``wait()`` gives a Tensor in the template's layout over a new carrier of
            this configuration. Its chosen tiles are primary and dirty, all others invalid.

        Raises:
            TypeError: An argument has the wrong type, carrier, class or dtype.
            ValueError: ``reduction`` is another word, the template is not a full Tensor, a tile
                lies outside the grid, or ``compact`` has another layout.
            RuntimeError: A carrier is released or owned, or a tile pending, pinned or invalid.
            NotImplementedError: Tiles cannot move between the tiers.
            MemoryError: The tiles do not fit the capacity beside what is pinned.
        """
        return scattering.scatter(self, compact, template, selection, reduction)

    def update(
        self, compact: Tensor, selection: TileSelection, *, reduction: str = "replace"
    ) -> None:
        """Store the values of a compact Tensor in chosen tiles of this carrier.

        Afterwards these tiles are primary and dirty, and the version has advanced once. Nothing is
        recorded for gradients.

        Args:
            compact: A Tensor on the primary's exact class, in the canonical layout of this
                carrier's slots.
            selection: The tiles, as an ordered product of axes.
            reduction: ``"replace"`` stores the values, ``"add"`` adds them to those of valid tiles.

        Raises:
            RuntimeError: This carrier is released or not mutable; else as for ``scatter``.
            Exception: As for ``scatter``; then nothing has changed.
        """
        scattering.update(self, compact, selection, reduction)

    # Execution and differentiation

    def dispatch_op(self, operation_name: str) -> Operation:
        """Give a fresh operation of that name, which executes on the primary's class.

        Args:
            operation_name: ``"add"``, ``"elementwise_mul"``, ``"mul"``, ``"relu"``,
                ``"reduce_sum"`` or ``"matmul"``.

        Returns:
            An Operation that was never dispatched before.

        Raises:
            TypeError: ``operation_name`` is not a str.
            RuntimeError: The carrier is released.
            UnsupportedOperationPlan: It is another operation.
            NotImplementedError: No operation has that name.
        """
        if isinstance(operation_name, str):
            self._require_executable(operation_name)
            direct.refuse_others(self, operation_name)
        return super().dispatch_op(operation_name)

    _instead_of_moving = (
        "TiledEvictable takes and gives values tile by tile; use its methods update, scatter and "
        "project, or numpy.asarray, which reads all of them"
    )
    _instead_of_mixing = (
        "wrap the other operand as a TiledEvictable of one tile, or project the tiles into a "
        "compact Tensor"
    )

    def _one_slot(self, value: Any, dtype: DType) -> "TiledEvictable":
        return one_slot(self, value, dtype)

    def _execution_remedy(self) -> str:
        return direct.execution_remedy(self)

    def _require_executable(self, operation: str) -> None:
        if self._released:
            self._require_initialized()
            raise RuntimeError("TiledEvictable is released")

    def _refuse_released(self, action: str) -> NoReturn:
        self._require_initialized()
        raise RuntimeError(f"TiledEvictable is released and cannot be {action}")

    def _differentiate(self, call: "RecordedCall") -> tuple[Tensor | None, ...]:
        return backward.differentiate(call)

    def _vjp_operand(self, tensor: Tensor) -> Tensor:
        return direct.dense_stand_in(tensor)

    def _vjp_gradient(self, gradient: Tensor, operand: Tensor) -> Tensor:
        return gradients.tiled_gradient(gradient, operand)

    def _accumulate_gradient(self, total: Tensor, gradient: Tensor) -> Tensor:
        return gradients.tiled_sum(self, total, gradient)

    def _accumulate_reached(self, total: Tensor, gradient: Tensor) -> Tensor | None:
        return gradients.reached_sum(total, gradient)

    def _read_tensor(self, tensor: Tensor) -> "memoryview[Any] | None":
        return views.read_view(self, tensor)

    def _write_tensor(self, tensor: Tensor, values: "memoryview[Any]") -> bool:
        return views.write_view(self, tensor, values)

    def _store_tensor(self, tensor: Tensor, values: Tensor) -> bool:
        return replacement.store_tensor(self, tensor, values)

    def _step_tensor(
        self, tensor: Tensor, gradient: Tensor, step: Callable[[int, Tensor, Tensor], None]
    ) -> bool:
        return replacement.step_tiles(self, tensor, gradient, step)


register_carrier_definition(
    TiledEvictable,
    CarrierDefinition(
        storage_provider(),
        composite=direct.composite_provider(),
        facets=(TiledResidencyFacet(),),
    ),
)
