"""Residency policies: what a request brings to the primary tier, keeps there, and evicts after."""

from typing import TYPE_CHECKING, Literal, TypeAlias, final

from typing_extensions import Protocol, runtime_checkable

from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.carriers.tiled_evictable.plan import ResidencyPlan
from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.state import ResidencyState

Purpose: TypeAlias = Literal["operation", "projection", "scatter", "backward"]


@runtime_checkable
class ResidencyPolicy(Protocol):
    """Decides which tiles a request promotes, retains and evicts.

    It is asked once per carrier and request, on the thread that makes the request, before any
    tile moves. Its answer never changes results. A TileSet in an attribute ``pinned_tiles``
    names tiles that never make room for others.

    Examples:
        >>> from strideweave.carriers.tiled_evictable import ResidencyPlan, ResidencyPolicy
        >>> class KeepNothing:
        ...     def plan(self, required, purpose):
        ...         return ResidencyPlan(evict=required)
        >>> isinstance(KeepNothing(), ResidencyPolicy)
        True
    """

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        """Answer one request.

        Args:
            required: The tiles that the request reads or writes.
            purpose: ``operation``, ``projection``, ``scatter`` or ``backward``.

        Returns:
            Three disjoint sets of tiles, all inside the grid.
        """
        ...


@final
class LRUResidency:
    """Promotes what is required: the default, spelled out.

    Together with ``primary_capacity`` the least recently used tiles make room.

    Examples:
        >>> from strideweave.carriers.tiled_evictable import LRUResidency, TileSet
        >>> LRUResidency().plan(TileSet([(0,)]), "operation").promote
        TileSet(coordinates=((0,),))
    """

    __slots__ = ()

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        """Promote the required tiles, whatever the purpose.

        Args:
            required: The tiles of the request.
            purpose: Not used.

        Returns:
            A plan that promotes exactly those.
        """
        return ResidencyPlan(promote=required)


@final
class PinnedResidency:
    """Promotes what is required and some tiles besides, which never make room for others.

    Args:
        tiles: The tiles to keep; an explicit ``evict`` may still remove them.

    Raises:
        TypeError: ``tiles`` is neither a TileSet nor a TileSelection.

    Examples:
        >>> from strideweave.carriers.tiled_evictable import PinnedResidency, TileSet
        >>> policy = PinnedResidency(TileSet([(2,)]))
        >>> policy.plan(TileSet([(0,)]), "operation").promote
        TileSet(coordinates=((0,), (2,)))
    """

    __slots__ = ("_pinned_tiles",)

    def __init__(self, tiles: TileSet | TileSelection) -> None:
        self._pinned_tiles = as_tile_set(tiles, "tiles")

    @property
    def pinned_tiles(self) -> TileSet:
        """The tiles that are kept."""
        return self._pinned_tiles

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        """Promote the required and the pinned tiles, whatever the purpose.

        Args:
            required: The tiles of the request.
            purpose: Not used.

        Returns:
            A plan that promotes both.
        """
        return ResidencyPlan(
            promote=TileSet({*required.coordinates, *self._pinned_tiles.coordinates})
        )


def as_tile_set(tiles: object, name: str) -> TileSet:
    """Read an argument that names tiles.

    Raises:
        TypeError: It is neither a TileSet nor a TileSelection.
    """
    if isinstance(tiles, TileSelection):
        return tiles.tile_set
    if not isinstance(tiles, TileSet):
        kind = type(tiles).__qualname__
        raise TypeError(f"{name} must be a TileSet or a TileSelection, got {tiles!r} ({kind})")
    return tiles


def check_policy(policy: object) -> None:
    """Refuse what cannot be asked for a plan.

    Raises:
        TypeError: It has no callable ``plan``.
    """
    if policy is not None and not callable(getattr(policy, "plan", None)):
        raise TypeError(
            f"residency_policy must have a callable plan(required, purpose), got {policy!r}"
        )


def pinned_numbers(policy: object, grid: TileGrid) -> frozenset[int]:
    """Give the tiles that a policy never lets make room.

    Raises:
        ValueError: They do not fit the grid.
    """
    pinned = getattr(policy, "pinned_tiles", None)
    if not isinstance(pinned, TileSet):
        return frozenset()
    return frozenset(grid.bind(pinned, "pinned_tiles of the residency_policy"))


@final
class BoundPlan:
    """A policy's answer for one carrier, as tile numbers in ascending order."""

    __slots__ = ("evict", "promote", "required", "retain")

    def __init__(self, grid: TileGrid, required: list[int], plan: ResidencyPlan) -> None:
        self.required = sorted(required)
        self.promote = grid.bind(plan.promote, "promote of the ResidencyPlan")
        self.retain = grid.bind(plan.retain, "retain of the ResidencyPlan")
        self.evict = grid.bind(plan.evict, "evict of the ResidencyPlan")


def consult(
    state: "ResidencyState", required: list[int], purpose: Purpose, *, promotes: bool = True
) -> BoundPlan:
    """Ask the policy of a carrier about one request.

    Args:
        state: The carrier's tiles.
        required: The numbers of the tiles that the request reads or writes.
        purpose: What for.
        promotes: Whether the request promotes the required tiles when there is no policy.

    Returns:
        The checked answer.

    Raises:
        TypeError: The policy answers with something else than a ResidencyPlan.
        ValueError: A tile of the plan lies outside the grid.

    What the policy raises propagates.
    """
    grid, policy = state.grid, state.policy
    if policy is None:
        plan = BoundPlan(grid, required, ResidencyPlan())
        if promotes:
            plan.promote = plan.required
        return plan
    answer: object = policy.plan(grid.tile_set(required), purpose)
    if not isinstance(answer, ResidencyPlan):
        raise TypeError(
            f"{type(policy).__qualname__}.plan must return a ResidencyPlan, got {answer!r} "
            f"({type(answer).__qualname__})"
        )
    return BoundPlan(grid, required, answer)
