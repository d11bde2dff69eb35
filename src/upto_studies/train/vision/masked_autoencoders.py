"""Masked autoencoders (He et al. 2022): transformers that predict patches they do not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from upto.core import InputError
from upto_studies.train.vision.stacked import StackedBlock, StackedLinear, StackedNorm

if TYPE_CHECKING:
    from collections.abc import Sequence


_FLAT = 1e-6
"""Added to the variance of a patch, which may be zero."""


class MaskedAutoencoders(nn.Module):
    """Members with their own weights and masks, as batched products.

    Parameters
    ----------
    seeds
        Seed of each member.
    side
        Side of an image in pixels.
    patch, masked, width, depth, decoder_depth, n_heads
        As in `VisionTraining`.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        *,
        side: int,
        patch: int,
        masked: float,
        width: int,
        depth: int,
        decoder_depth: int,
        n_heads: int,
    ) -> None:
        super().__init__()
        if side % patch:
            message = f"images of {side} pixels cannot be cut into patches of {patch}."
            raise InputError(message)
        self.patch, n_patches = patch, (side // patch) ** 2
        self.n_seen = n_patches - round(masked * n_patches)
        if not 0 < self.n_seen < n_patches:
            message = f"of {n_patches} patches {self.n_seen} would be seen: some must be, not all."
            raise InputError(message)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        n_members, n_values, narrow = len(seeds), 3 * patch * patch, width // 2

        def small(*shape: int) -> nn.Parameter:
            drawn = [torch.randn(shape, generator=each) for each in generators]
            return nn.Parameter(0.02 * torch.stack(drawn))

        self.embed = StackedLinear(generators, n_values, width)
        self.positions = small(1, n_patches, width)
        self.blocks = nn.ModuleList(StackedBlock(generators, width, n_heads) for _ in range(depth))
        self.norm = StackedNorm(n_members, width)
        self.narrow = StackedLinear(generators, width, narrow)
        self.hidden_token = small(1, 1, narrow)
        self.decoder_positions = small(1, n_patches, narrow)
        self.decoder_blocks = nn.ModuleList(
            StackedBlock(generators, narrow, n_heads) for _ in range(decoder_depth)
        )
        self.decoder_norm = StackedNorm(n_members, narrow)
        self.pixels = StackedLinear(generators, narrow, n_values)

    def losses(self, images: Any, _labels: Any, generators: Sequence[torch.Generator]) -> Any:
        """Return the squared error of hidden patches, each normalised, for every member.

        Parameters
        ----------
        images
            Members × images × side × side × channels.
        generators
            Random numbers of each member, for its masks.
        """
        patches = cut(images, self.patch)
        order = self._shuffled(patches, generators)
        made = self._decoded(self._encoded(patches, order[..., : self.n_seen]), order)
        errors = (made.float() - normalised(patches)).square().mean(dim=-1)
        return errors.gather(2, order[..., self.n_seen :]).mean(dim=(1, 2))

    def guess_errors(self, images: Any, generators: Sequence[torch.Generator]) -> Any:
        """Return the losses of a guess without a network: the mean of the patches that are seen.

        Normalised patches have mean 0 and variance 1, so this is about 1.
        """
        patches = cut(images, self.patch)
        order = self._shuffled(patches, generators)
        wanted = normalised(patches)
        index = order[..., None].expand(*order.shape, wanted.shape[-1])
        sorted_patches = wanted.gather(2, index)
        guess = sorted_patches[:, :, : self.n_seen].mean(dim=2, keepdim=True)
        return (sorted_patches[:, :, self.n_seen :] - guess).square().mean(dim=(1, 2, 3))

    def features(self, images: Any) -> Any:
        """Return members × images × width: the mean over all patches, none hidden."""
        n_members = len(self.positions)
        patches = cut(images[None].expand(n_members, *images.shape), self.patch)
        return self._encoded(patches, None).mean(dim=2)

    def _shuffled(self, patches: Any, generators: Sequence[torch.Generator]) -> Any:
        n_rows, n_patches = patches.shape[1:3]
        keys = [
            torch.rand((n_rows, n_patches), generator=each, device=patches.device)
            for each in generators
        ]
        return torch.stack(keys).argsort(dim=2)

    def _encoded(self, patches: Any, seen: Any) -> Any:
        tokens = self.embed(patches) + self.positions
        if seen is not None:
            index = seen[..., None].expand(*seen.shape, tokens.shape[-1])
            tokens = tokens.gather(2, index)
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)

    def _decoded(self, tokens: Any, order: Any) -> Any:
        known = self.narrow(tokens)
        n_hidden = order.shape[2] - self.n_seen
        hidden = self.hidden_token.to(known.dtype).expand(-1, known.shape[1], n_hidden, -1)
        shuffled = torch.cat([known, hidden], dim=2)
        back = order.argsort(dim=2)[..., None].expand(*order.shape, shuffled.shape[-1])
        found = shuffled.gather(2, back) + self.decoder_positions
        for block in self.decoder_blocks:
            found = block(found)
        return self.pixels(self.decoder_norm(found))


def cut(images: Any, patch: int) -> Any:
    """Cut images (… × side × side × channels) into … × patches × values."""
    *lead, side, _, n_channels = images.shape
    count = side // patch
    grid = images.reshape(*lead, count, patch, count, patch, n_channels)
    n_lead = len(lead)
    order = (*range(n_lead), *(n_lead + axis for axis in (0, 2, 1, 3, 4)))
    return grid.permute(order).reshape(*lead, count * count, patch * patch * n_channels)


def normalised(patches: Any) -> Any:
    """Return patches with mean 0 and variance 1 each, as the published MAE predicts them."""
    variance, mean = torch.var_mean(patches, dim=-1, keepdim=True)
    return (patches - mean) / (variance + _FLAT).sqrt()
