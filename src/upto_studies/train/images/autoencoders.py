"""Image autoencoders: encoder, bottleneck and decoder."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np
import torch
from torch import nn

from upto.core import InputError, random_stream, read_tensors, write_tensors
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, placed_param
from upto_studies.train.arguments import checked_device
from upto_studies.train.images.bottlenecks import make_bottleneck
from upto_studies.train.images.models import ImageModel
from upto_studies.train.images.networks import ImageDecoder, ImageEncoder
from upto_studies.train.images.pixels import checked_images

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from upto_studies.train.images.bottlenecks import Bottled

_BLOCK_IMAGES = 500
"""Images that are encoded or decoded together."""
_NUMBERS = ("seed", "n_pixels", "n_channels", "n_images", "width")


class ImageAutoencoder(nn.Module):
    """One member: an image model with its own parameters.

    Parameters
    ----------
    model
        Description of the model.
    seed
        Seed of its initial weights, the order of its images and its noise.
    n_pixels, n_channels
        Side length of its images, and number of channels.
    n_images
        Number of training images, used to estimate the total correlation.
    width
        Channels of the largest maps.
    """

    def __init__(
        self,
        model: ImageModel,
        *,
        seed: int,
        n_pixels: int,
        n_channels: int,
        n_images: int,
        width: int,
    ) -> None:
        super().__init__()
        self.model, self.seed, self.n_images, self.width = model, seed, n_images, width
        self.n_pixels, self.n_channels = n_pixels, n_channels
        # Weights come from this member's seed, without changing the global random state.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(random_stream(seed, "weights").integers(2**63)))
            self.bottleneck = make_bottleneck(
                model, n_values=n_channels * n_pixels**2, n_images=n_images
            )
            self.encoder = ImageEncoder(n_pixels, n_channels, self.bottleneck.n_hidden, width)
            self.decoder = ImageDecoder(n_pixels, n_channels, self.bottleneck.n_inputs, width)

    @property
    def device(self) -> Any:
        """Device of the parameters."""
        return self.decoder.constant.device

    def training_pass(
        self, pixels: Any, *, share: Any, generator: Any, bfloat16: bool, compiled: bool
    ) -> tuple[Any, Bottled]:
        """Return the logits of the images and the output of the bottleneck."""
        encode, draw = _compiled() if compiled else (_features, _drawn)
        features = encode(self.encoder, pixels, bfloat16=bfloat16)
        bottled = self.bottleneck(
            self.encoder.head(features.float()), share=share, generator=generator
        )
        features = self.decoder.style(bottled.inputs)
        return draw(self.decoder, features, bfloat16=bfloat16), bottled

    def decayed_parameters(self) -> list[Any]:
        """Return the weights, which have weight decay and clipped gradients."""
        return [values for name, values in self._networks() if not name.endswith("bias")]

    def plain_parameters(self) -> list[Any]:
        """Return the biases and the parameters of the bottleneck, which do not decay."""
        biases = [values for name, values in self._networks() if name.endswith("bias")]
        return biases + list(self.bottleneck.own_parameters())

    def named_tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield every parameter and buffer with its name."""
        yield from self.named_parameters()
        yield from self.named_buffers()

    def save(self, path: str | Path) -> None:
        """Write it to a safetensors file, without code."""
        arrays = {name: host_array(values.detach()) for name, values in self.named_tensors()}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        words = {
            "model": msgspec.json.encode(self.model).decode(),
            "numbers": msgspec.json.encode(numbers).decode(),
        }
        write_tensors(path, arrays, words)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Self:
        """Read a file written by `save`.

        Raises
        ------
        InputError
            If the file cannot be read, or is incomplete.
        """
        arrays, words = read_tensors(path)
        try:
            model = msgspec.json.decode(words["model"], type=ImageModel)
            numbers = msgspec.json.decode(words["numbers"], type=dict[str, int])
            member = cls(model, **numbers)
        except (KeyError, TypeError, ValueError, RuntimeError, ArithmeticError):
            message = (
                f"{path} does not contain an image autoencoder: write one with its method save."
            )
            raise InputError(message) from None
        wanted = {name: tuple(values.shape) for name, values in member.named_tensors()}
        if {name: array.shape for name, array in arrays.items()} != wanted:
            message = f"{path} is damaged: its arrays are not those of {model.title}."
            raise InputError(message)
        with torch.no_grad():
            for name, values in member.named_tensors():
                values.copy_(torch.as_tensor(arrays[name]))
        member.to(checked_device(device))
        return member

    def latents(self, images: Any) -> NDArray[Any]:
        """Return the latents to score: means, or code indices.

        Products are in float32, whatever the precision of the training.

        Parameters
        ----------
        images
            Count × side × side × channels, as bytes; an array or a tensor.

        Raises
        ------
        InputError
            If they do not have the shape of the training images.
        """
        given = self._checked(images)
        with self._exact():
            parts = [host_array(self._scored(pixels)) for pixels in self._blocks(given)]
        return np.concatenate(parts)

    def decode(self, latents: Any) -> NDArray[np.float32]:
        """Return the images of latents: count × side × side × channels, from 0 to 1.

        Raises
        ------
        InputError
            If they do not have the width of its latents, are not finite, or are not valid codes.
        """
        given = np.asarray(latents)
        n_latents = self.bottleneck.n_latents
        if given.ndim != 2 or given.shape[1] != n_latents or len(given) == 0:
            shape = " × ".join(map(str, given.shape)) or "1"
            message = f"the latents have shape {shape}: give 1 or more rows of {n_latents}."
            raise InputError(message)
        n_bad = 0 if given.dtype.kind in "iu" else int((~np.isfinite(given)).any(axis=1).sum())
        if n_bad:
            message = f"{n_bad} of {len(given)} latents are not finite: remove them."
            raise InputError(message)
        placed = placed_param(given, self.device)
        if not self.bottleneck.is_discrete:
            placed = placed.to(torch.float32)
        with self._exact():
            parts = [
                host_array(self.decoder(self.bottleneck.inputs(block)).sigmoid())
                for block in placed.split(_BLOCK_IMAGES)
            ]
        return np.ascontiguousarray(np.moveaxis(np.concatenate(parts), 1, -1))

    def psnr(self, images: Any) -> NDArray[np.float64]:
        """Return the PSNR of each reconstruction, in decibels; infinite if exact.

        Raises
        ------
        InputError
            If they do not have the shape of the training images.
        """
        given, found = self._checked(images), []
        with self._exact():
            for pixels in self._blocks(given):
                made = self.decoder(self.bottleneck.inputs(self._scored(pixels))).sigmoid()
                found.append(host_array((made - pixels).square().mean((1, 2, 3))))
        with np.errstate(divide="ignore"):
            return -10 * np.log10(np.concatenate(found).astype(np.float64))

    def _scored(self, pixels: Any) -> Any:
        return self.bottleneck.latents(self.encoder(pixels))

    def _checked(self, images: Any) -> Any:
        given = checked_images(images)
        if given.shape[1] != self.n_pixels or given.shape[3] != self.n_channels:
            shape = " × ".join(map(str, given.shape[1:]))
            message = (
                f"the images have shape {shape}, but this model was trained on {self.n_pixels} × "
                f"{self.n_pixels} × {self.n_channels}: resize them."
            )
            raise InputError(message)
        return given

    def _blocks(self, images: Any) -> Iterator[Any]:
        for start in range(0, len(images), _BLOCK_IMAGES):
            block = placed_param(images[start : start + _BLOCK_IMAGES], self.device)
            yield block.to(self.device).permute(0, 3, 1, 2).to(torch.float32) / 255

    @contextmanager
    def _exact(self) -> Iterator[None]:
        """Run without gradients and with all products in float32."""
        with (
            torch.no_grad(),
            torch.autocast(self.device.type, enabled=False),
            float32_products(allow_tf32=False),
        ):
            yield

    def _networks(self) -> Iterator[tuple[str, Any]]:
        yield from self.encoder.named_parameters()
        yield from self.decoder.named_parameters()


def _features(encoder: ImageEncoder, pixels: Any, *, bfloat16: bool) -> Any:
    with torch.autocast(pixels.device.type, torch.bfloat16, bfloat16, cache_enabled=False):
        return encoder.features(pixels)


def _drawn(decoder: ImageDecoder, features: Any, *, bfloat16: bool) -> Any:
    with torch.autocast(features.device.type, torch.bfloat16, bfloat16, cache_enabled=False):
        return decoder.drawn(features)


@cache
def _compiled() -> tuple[Any, Any]:
    """Return both passes compiled, once for all members and only on request.

    Torch takes seconds to load its compiler.
    """
    return torch.compile(_features), torch.compile(_drawn)
