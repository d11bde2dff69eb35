"""Train networks of images side by side, with the images on the device."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, choose_progress, random_stream
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import checked_device, checked_seeds
from upto_studies.train.checkpoints import TrainingCheckpoint, fingerprint
from upto_studies.train.images.steps import image_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto_studies.train.checkpoints import KeptState
    from upto_studies.train.vision.settings import VisionTraining

_MOMENTUM = 0.9
_BETAS = (0.9, 0.95)
_EVALUATED = 500
"""Images per member in one pass without gradients."""


def train_vision(
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    *,
    seeds: Sequence[int],
    training: VisionTraining,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> VisionRun:
    """Train one network per seed.

    Parameters
    ----------
    images
        Count × side × side × 3, as bytes.
    labels
        One per image, from 0; masked autoencoders do not use them.
    seeds
        One non-negative seed per member, which alone determines its weights, the order of its
        images, their shifts and its masks.
    training
        Training settings.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written every two minutes and at the end.
    resume
        Whether to continue from that file, if it exists.
    progress
        As in `upto.compare`.

    Raises
    ------
    InputError
        If the images are too few, a member diverges, or the checkpoint is damaged or belongs to
        another training.
    """
    run = VisionRun(images, labels, seeds=seeds, training=training, device=device)
    kept = TrainingCheckpoint(checkpoint, run.words())
    if resume and kept.exists():
        run.load(kept.read())
    label = f"training {len(run.seeds)} {training.kind}"
    with choose_progress(progress).task(label, training.epochs) as advance:
        advance(run.epoch)
        while run.epoch < training.epochs:
            run.train_epoch()
            advance(1)
            if kept.is_due() or run.epoch == training.epochs:
                kept.write(run.state(), run.epoch)
    return run


class VisionRun:
    """Networks in training or trained.

    Attributes
    ----------
    network
        `ResNets` or `MaskedAutoencoders`, all members.
    seeds
        Seed of each member.
    epoch
        Epochs done.
    losses
        Mean loss of every epoch and member.
    """

    def __init__(
        self,
        images: NDArray[np.uint8],
        labels: NDArray[np.uint8],
        *,
        seeds: Sequence[int],
        training: VisionTraining,
        device: str = "cpu",
    ) -> None:
        torch = load_torch()
        self.seeds, self.training = checked_seeds(seeds), training
        self.device = checked_device(device)
        if len(images) < training.batch_images:
            message = (
                f"{len(images)} images do not fill a step of {training.batch_images}: give more, "
                "or reduce batch_images."
            )
            raise InputError(message)
        if len(labels) != len(images):
            message = f"{len(images)} images have {len(labels)} labels: give one per image."
            raise InputError(message)
        self._data = fingerprint(images, labels)
        self._images = torch.as_tensor(images, device=self.device)
        self._labels = torch.as_tensor(labels, device=self.device).long()
        scaled = images.reshape(-1, images.shape[-1]).astype(np.float32) / 255
        self._mean = torch.as_tensor(scaled.mean(axis=0), device=self.device)
        self._scale = torch.as_tensor(scaled.std(axis=0) + 1e-3, device=self.device)
        self.network = _network(self.seeds, images, labels, training).to(self.device)
        self._optimiser = self._new_optimiser()
        self.n_steps = len(images) // training.batch_images
        self.epoch = 0
        self.losses: Float = np.empty((0, len(self.seeds)))

    def train_epoch(self) -> None:
        """Show every image once, but for those that do not fill a step.

        Raises
        ------
        InputError
            If a member diverges.
        """
        torch = load_torch()
        size, n_steps = self.training.batch_images, self.n_steps
        order = np.stack([self._order(seed) for seed in self.seeds])
        chosen = torch.as_tensor(order, device=self.device).view(len(self.seeds), n_steps, size)
        generators = self._generators("training", str(self.epoch))
        losses = torch.zeros((n_steps, len(self.seeds)), device=self.device)
        self.network.train()
        with float32_products(allow_tf32=True):
            for step in range(n_steps):
                losses[step] = self._step(chosen[:, step], generators, step)
        self.losses = np.concatenate([self.losses, host_array(losses).mean(axis=0)[None]])
        self.epoch += 1
        bad = ~np.isfinite(self.losses[-1])
        if bad.any():
            message = (
                f"{int(bad.sum())} of {len(bad)} members diverged in epoch {self.epoch}: lower the "
                "learning rate."
            )
            raise InputError(message)

    def features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return members × images × features; of MAEs the mean over patches."""
        return np.concatenate([host_array(part) for part in self._parts(images, "features")], 1)

    def accuracies(self, images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Float:
        """Return the share of images that each classifier names correctly."""
        parts = [host_array(part).argmax(axis=2) for part in self._parts(images, "logits")]
        found: Float = (np.concatenate(parts, axis=1) == labels).mean(axis=1)
        return found

    def errors(self, images: NDArray[np.uint8], *, of_guess: bool = False) -> Float:
        """Return the loss of each masked autoencoder, or that of the mean of the seen patches.

        Both are for the same masks.
        """
        torch = load_torch()
        generators, found, counts = self._generators("evaluation"), [], []
        self.network.eval()
        with torch.no_grad(), self._precision():
            for pixels in self._pixels(images):
                shown = pixels[None].expand(len(self.seeds), *pixels.shape)
                if of_guess:
                    errors = self.network.guess_errors(shown, generators)
                else:
                    errors = self.network.losses(shown, None, generators)
                found.append(host_array(errors))
                counts.append(len(pixels))
        average: Float = np.average(np.stack(found), axis=0, weights=counts)
        return average

    def words(self) -> dict[str, str]:
        """Describe the training, so that a checkpoint of another one is refused."""
        return {
            "training": repr(self.training),
            "seeds": repr(self.seeds),
            "data": self._data,
        }

    def state(self) -> dict[str, Any]:
        """Return the tensors from which the training continues."""
        return self._tensors() | {"losses": self.losses}

    def load(self, kept: KeptState) -> None:
        """Restore what `state` returned."""
        torch = load_torch()
        if kept.done > self.training.epochs:
            kept.refuse(f"{kept.done} of {self.training.epochs} epochs are done")
        with torch.no_grad():
            for name, values in self._tensors().items():
                kind = str(values.dtype).removeprefix("torch.")
                values.copy_(torch.as_tensor(kept.take(name, tuple(values.shape), kind)))
        self.losses = kept.take("losses", (kept.done, len(self.seeds)), np.float64)
        self.epoch = kept.done

    def _order(self, seed: int) -> NDArray[np.int64]:
        n_images, n_shown = len(self._images), self.n_steps * self.training.batch_images
        start = self.epoch * n_images
        return image_order(seed, n_images, start, start + n_shown)

    def _generators(self, *words: str) -> list[Any]:
        torch = load_torch()
        found = []
        for seed in self.seeds:
            generator = torch.Generator(self.device)
            generator.manual_seed(int(random_stream(seed, *words).integers(2**63)))
            found.append(generator)
        return found

    def _step(self, chosen: Any, generators: list[Any], step: int) -> Any:
        from upto_studies.train.vision.augmented import shifted

        done = self.epoch * self.n_steps + step
        rate = self.training.rate_at(done, self.training.epochs * self.n_steps)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        shown = shifted(self._images[chosen], generators, shift=self.training.shift)
        with self._precision():
            losses = self.network.losses(self._scaled(shown), self._labels[chosen], generators)
        self._optimiser.zero_grad(set_to_none=True)
        # Members share no weights, so the sum has the gradient of each.
        losses.sum().backward()
        self._optimiser.step()
        return losses.detach()

    def _scaled(self, images: Any) -> Any:
        return (images.float() / 255 - self._mean) / self._scale

    def _precision(self) -> AbstractContextManager[Any]:
        torch = load_torch()
        if self.device.type != "cuda" or not self.training.bfloat16:
            return nullcontext()
        context: AbstractContextManager[Any] = torch.autocast("cuda", dtype=torch.bfloat16)
        return context

    def _pixels(self, images: NDArray[np.uint8]) -> Iterator[Any]:
        torch = load_torch()
        for start in range(0, len(images), _EVALUATED):
            part = images[start : start + _EVALUATED]
            yield self._scaled(torch.as_tensor(part, device=self.device))

    def _parts(self, images: NDArray[np.uint8], what: str) -> Iterator[Any]:
        torch = load_torch()
        self.network.eval()
        with torch.no_grad():
            for pixels in self._pixels(images):
                yield getattr(self.network, what)(pixels).float()

    def _new_optimiser(self) -> Any:
        torch = load_torch()
        from upto_studies.train.vision.stacked import StackedLinear

        layers = (torch.nn.Conv2d, torch.nn.Linear, StackedLinear)
        decayed = [each.weight for each in self.network.modules() if isinstance(each, layers)]
        known = set(map(id, decayed))
        others = [each for each in self.network.parameters() if id(each) not in known]
        groups = [
            {"params": decayed, "weight_decay": self.training.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        if self.training.kind == "resnet18":
            return torch.optim.SGD(
                groups, lr=self.training.learning_rate, momentum=_MOMENTUM, nesterov=True
            )
        return torch.optim.AdamW(
            groups,
            lr=self.training.learning_rate,
            betas=_BETAS,
            fused=self.device.type == "cuda",
        )

    def _tensors(self) -> dict[str, Any]:
        """Return the state by name, not copies; the optimiser makes its own in its first step."""
        torch = load_torch()
        found = dict(self.network.state_dict())
        for name, parameter in self.network.named_parameters():
            state = self._optimiser.state[parameter]
            if self.training.kind == "resnet18":
                state.setdefault("momentum_buffer", torch.zeros_like(parameter))
            elif not state:
                where = self.device if self.device.type == "cuda" else "cpu"
                state["step"] = torch.zeros((), dtype=torch.float32, device=where)
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            found |= {f"{name}.{key}": values for key, values in state.items()}
        return found


def _network(
    seeds: tuple[int, ...],
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    training: VisionTraining,
) -> Any:
    if training.kind == "resnet18":
        from upto_studies.train.vision.resnets import ResNets

        return ResNets(seeds, width=training.width, n_classes=int(labels.max()) + 1)
    from upto_studies.train.vision.masked_autoencoders import MaskedAutoencoders

    return MaskedAutoencoders(
        seeds,
        side=images.shape[1],
        patch=training.patch,
        masked=training.masked,
        width=training.width,
        depth=training.depth,
        decoder_depth=training.decoder_depth,
        n_heads=training.n_heads,
    )
