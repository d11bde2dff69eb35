"""Encoder and style-modulated decoder of Hsu et al. 2023, for square images of any size.

Both halve or double the image four times, in twelve convolutions. Results do not depend on the
memory layout; images have channels last, as matrix units require.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from upto.core import InputError

N_HALVINGS = 4
_KERNELS = (3, 3, 4)
_STRIDES = (1, 1, 2)
_LEAK = 0.2
_NORM_FLOOR = 1e-6
_N_FEATURES = 256
"""Width of the dense layers on either side of the bottleneck."""


def normalised(maps: Any) -> Any:
    """Return each channel of each image with mean zero and unit variance, in float32."""
    single = maps.float()
    variance, mean = torch.var_mean(single, dim=(2, 3), correction=0, keepdim=True)
    return (single - mean) * torch.rsqrt(variance + _NORM_FLOOR)


class Narrowing(nn.Module):
    """Convolution, channel norm with a learned scale and shift, and rectifier."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(n_in, n_out, kernel, stride, padding=1, bias=False)
        self.weight = nn.Parameter(torch.ones(n_out, 1, 1))
        self.bias = nn.Parameter(torch.zeros(n_out, 1, 1))

    def forward(self, maps: Any) -> Any:
        """Return the next maps."""
        maps = self.convolution(maps)
        moved = normalised(maps) * self.weight + self.bias
        return functional.leaky_relu(moved, _LEAK).to(maps.dtype)


class Widening(nn.Module):
    """Transposed convolution, rectifier, and norm scaled and shifted by the code."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.ConvTranspose2d(n_in, n_out, kernel, stride, padding=1, bias=False)
        self.style = nn.Linear(_N_FEATURES, 2 * n_out)

    def forward(self, maps: Any, features: Any) -> Any:
        """Return the next maps."""
        maps = functional.leaky_relu(self.convolution(maps), _LEAK)
        scale, shift = functional.relu(self.style(features))[:, :, None, None].chunk(2, dim=1)
        return (normalised(maps) * scale + shift).to(maps.dtype)


class ImageEncoder(nn.Module):
    """Encoder from images to the inputs of a bottleneck.

    Parameters
    ----------
    n_pixels, n_channels
        Side length of an image, and number of channels.
    n_hidden
        Number of outputs.
    width
        Channels of the first convolutions; those at a half, a quarter and an eighth of the side
        have twice, four and eight times as many.
    """

    def __init__(self, n_pixels: int, n_channels: int, n_hidden: int, width: int) -> None:
        super().__init__()
        bottom = bottom_pixels(n_pixels)
        widths = _widths(width)
        self.blocks = nn.ModuleList(
            Narrowing(n_in, n_out, kernel, stride)
            for (n_in, n_out), kernel, stride in zip(
                pairwise((n_channels, *widths)),
                _KERNELS * N_HALVINGS,
                _STRIDES * N_HALVINGS,
                strict=True,
            )
        )
        self.first = nn.Linear(widths[-1] * bottom**2, _N_FEATURES)
        self.second = nn.Linear(_N_FEATURES, _N_FEATURES)
        self.head = nn.Linear(_N_FEATURES, n_hidden)

    def features(self, images: Any) -> Any:
        """Return the inputs of the head for images with channels first."""
        for block in self.blocks:
            images = block(images)
        features = functional.relu(self.first(images.flatten(1)))
        return functional.relu(self.second(features))

    def forward(self, images: Any) -> Any:
        """Return the encoder outputs of images: count × channels × side × side."""
        return self.head(self.features(images))


class ImageDecoder(nn.Module):
    """Decoder from bottleneck outputs to image logits; see `ImageEncoder`."""

    def __init__(self, n_pixels: int, n_channels: int, n_inputs: int, width: int) -> None:
        super().__init__()
        bottom = bottom_pixels(n_pixels)
        widths = _widths(width)[::-1]
        self.first = nn.Linear(n_inputs, _N_FEATURES)
        self.second = nn.Linear(_N_FEATURES, _N_FEATURES)
        self.constant = nn.Parameter(torch.full((widths[0], bottom, bottom), 0.1))
        self.blocks = nn.ModuleList(
            Widening(n_in, n_out, kernel, stride)
            for (n_in, n_out), kernel, stride in zip(
                pairwise((widths[0], *widths)),
                _KERNELS * N_HALVINGS,
                _STRIDES * N_HALVINGS,
                strict=True,
            )
        )
        self.last = nn.Conv2d(widths[-1], n_channels, 3, padding=1, bias=False)

    def style(self, inputs: Any) -> Any:
        """Return the features that scale and shift every layer."""
        return functional.relu(self.second(functional.relu(self.first(inputs))))

    def drawn(self, features: Any) -> Any:
        """Return the image logits of these features."""
        maps = self.constant.expand(len(features), -1, -1, -1)
        for block in self.blocks:
            maps = block(maps, features)
        return self.last(maps)

    def forward(self, inputs: Any) -> Any:
        """Return the logits of images: count × channels × side × side."""
        return self.drawn(self.style(inputs))


def bottom_pixels(n_pixels: int) -> int:
    """Return the side of the smallest maps.

    Raises
    ------
    InputError
        If an image cannot be halved often enough.
    """
    if n_pixels % 2**N_HALVINGS or n_pixels < 2 ** (N_HALVINGS + 1):
        message = (
            f"images of {n_pixels} pixels a side cannot be halved {N_HALVINGS} times to 2 or more: "
            f"take a multiple of {2**N_HALVINGS} from {2 ** (N_HALVINGS + 1)} up."
        )
        raise InputError(message)
    return n_pixels >> N_HALVINGS


def _widths(width: int) -> list[int]:
    return [width * 2**halving for halving in range(N_HALVINGS) for _ in _KERNELS]
