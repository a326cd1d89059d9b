"""The checks of a TiledEvictable's constructor arguments, in the order of the contract."""

from typing import Any

from strideweave.carriers import Carrier, DependentCarrier
from strideweave.carriers.dtype import DType
from strideweave.carriers.tiled_evictable.geometry import TileGrid, checked_extents, tile_grid
from strideweave.carriers.tiled_evictable.policy import check_policy, pinned_numbers
from strideweave.carriers.tiled_evictable.state import ResidencyState


def checked_state(
    primary: object,
    secondary: object,
    grid_shape: object,
    tile_shape: object,
    residency_policy: Any,
    primary_capacity: object,
) -> ResidencyState:
    """Check all arguments, and give the state of a carrier without values.

    Raises:
        TypeError: An argument has the wrong type, or the tiers do not fit together.
        ValueError: A shape, a tier's size, the capacity or pinned tiles do not fit.
        RuntimeError: A tier is released or owned.
    """
    tiers = _checked_tiers(primary, secondary)
    grid = _checked_grid(grid_shape, tile_shape)
    dtype = tiers[0].dtype()
    for role, tier in zip(("primary", "secondary"), tiers, strict=True):
        _check_tier(role, tier, grid, dtype)
    check_policy(residency_policy)
    capacity = _checked_capacity(primary_capacity)
    pinned = pinned_numbers(residency_policy, grid)
    if capacity is not None and len(pinned) > capacity:
        raise ValueError(
            f"the residency_policy pins {len(pinned)} tiles, more than primary_capacity {capacity}"
        )
    return ResidencyState(*tiers, grid, residency_policy, capacity, pinned)


def _checked_tiers(primary: object, secondary: object) -> tuple[Carrier, Carrier]:
    tiers = []
    for role, tier in (("primary", primary), ("secondary", secondary)):
        if not isinstance(tier, Carrier):
            raise TypeError(
                f"{role} must be a Carrier instance, got {tier!r} ({type(tier).__qualname__})"
            )
        tiers.append(tier)
    for role, tier in zip(("primary", "secondary"), tiers, strict=True):
        if isinstance(tier, DependentCarrier):
            raise TypeError(
                f"{role} must be an independent carrier, got a {type(tier).__qualname__}, which "
                "composes others itself"
            )
    if primary is secondary:
        raise ValueError("primary and secondary must be two carriers, got the same one twice")
    for role, tier in zip(("primary", "secondary"), tiers, strict=True):
        if tier.is_released():
            raise RuntimeError(f"the {role} {type(tier).__qualname__} is released")
    for role, tier in zip(("primary", "secondary"), tiers, strict=True):
        if tier.is_owned():
            raise RuntimeError(
                f"the {role} {type(tier).__qualname__} is already owned by another carrier or a "
                "pending move"
            )
    first, second = tiers
    if first.dtype() is not second.dtype():
        raise TypeError(
            f"both tiers must have the identical dtype, got {first.dtype()!r} and "
            f"{second.dtype()!r}"
        )
    return first, second


def _checked_grid(grid_shape: object, tile_shape: object) -> TileGrid:
    grid = checked_extents(grid_shape, "grid_shape")
    tile = checked_extents(tile_shape, "tile_shape")
    if len(grid) != len(tile):
        raise ValueError(
            f"grid_shape and tile_shape must have one rank, got {len(grid)} in {grid} and "
            f"{len(tile)} in {tile}"
        )
    return tile_grid(grid, tile)


def _check_tier(role: str, tier: Carrier, grid: TileGrid, dtype: DType) -> None:
    name = type(tier).__qualname__
    if tier.size() not in (0, grid.extent):
        raise ValueError(
            f"the {role} {name} must be empty or hold the {grid.extent} values of the logical "
            f"shape {grid.logical_shape}, got {tier.size()} slots"
        )
    if not tier.supports_storage_dtype(dtype):
        raise TypeError(f"the {role} {name} cannot store the dtype {dtype!r}")


def _checked_capacity(capacity: object) -> int | None:
    if capacity is None:
        return None
    if type(capacity) is not int:
        kind = type(capacity).__qualname__
        raise TypeError(f"primary_capacity must be an int or None, got {capacity!r} ({kind})")
    if capacity < 1:
        raise ValueError(f"primary_capacity must be at least 1, got {capacity}")
    return capacity
