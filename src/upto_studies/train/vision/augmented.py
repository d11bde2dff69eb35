"""Random shifts and mirror images, on the device of the images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


def shifted(images: Any, generators: Sequence[torch.Generator], *, shift: int) -> Any:
    """Return images shifted at random, reflected at their edges, half of them mirrored.

    Parameters
    ----------
    images
        Members × images × side × side × channels.
    generators
        Random numbers of each member, so that members do not depend on their neighbours.
    shift
        Largest shift in pixels.
    """
    n_members, n_images, side, _, n_channels = images.shape
    draws = [torch.rand((n_images, 3), generator=each, device=images.device) for each in generators]
    down, right, mirror = torch.stack(draws).view(-1, 3).unbind(dim=1)
    across = torch.arange(side, device=images.device)
    order = torch.where(mirror[:, None] < 0.5, across, across.flip(0))
    rows, columns = (
        _reflected(places + (moved * (2 * shift + 1)).long()[:, None] - shift, side)
        for places, moved in ((across, down), (order, right))
    )
    flat = images.reshape(n_members * n_images, side, side, n_channels)
    number = torch.arange(len(flat), device=images.device)
    found = flat[number[:, None, None], rows[:, :, None], columns[:, None, :]]
    return found.view(images.shape)


def _reflected(places: Any, side: int) -> Any:
    """Return places beyond an edge as far on its inner side: empty edges would be easy patches."""
    return (side - 1) - ((side - 1) - places.abs()).abs()
