"""Train several autoencoders of images at once: on a GPU, which keeps the images, side by side."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, SilentProgress
from upto.engines.feeding import host_array, load_torch
from upto.train.checkpoints import TrainingCheckpoint, fingerprint
from upto.train.checks import checked_device, checked_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.train.checkpoints import KeptState
    from upto.train.images.autoencoders import ImageAutoencoder
    from upto.train.images.models import ImageModel
    from upto.train.images.settings import ImageTraining

_LOOKED_AT = 1000
"""How many images tell one set from another."""


def train_images(
    models: Sequence[ImageModel],
    images: Any,
    *,
    seeds: Sequence[int],
    training: ImageTraining,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> list[ImageAutoencoder]:
    """Train one autoencoder for each model and seed.

    Parameters
    ----------
    models
        What each member is.
    images
        Count × side × side × channels, of bytes; an array, or a tensor that may lie on the device.
    seeds
        One for each member, from 0 up. A member's weights, the order of its images and its noise
        come from it alone.
    training
        How they are trained.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        A file to keep the state in, now and then, when training is done, and when it is interrupted
        by Ctrl-C.
    resume
        Whether to go on from that file, if there is one.
    progress
        What steps are reported to.

    Raises
    ------
    InputError
        If the images are not what they should be, a member diverges, or the checkpoint is damaged
        or of another training.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.train.images import ImageModel, ImageTraining, train_images
    >>> images = np.random.default_rng(0).integers(256, size=(16, 32, 32, 1), dtype=np.uint8)
    >>> training = ImageTraining(steps=2, batch_images=8, width=2)
    >>> members = train_images(
    ...     [ImageModel(kind="ae", n_latents=3)] * 2, images, seeds=[0, 1], training=training
    ... )
    >>> members[1].latents(images).shape
    (16, 3)
    """
    trainer = ImageTrainer(
        models,
        images,
        seeds=seeds,
        training=training,
        device=device,
        checkpoint=checkpoint,
        resume=resume,
    )
    label = f"training {len(trainer.members)} autoencoders"
    with (progress or SilentProgress()).task(label, training.steps) as advance:
        advance(trainer.done)
        trainer.train_to(training.steps, advance)
    trainer.keep()
    return trainer.members


class ImageTrainer:
    """A training under way, for those who look at members in between; see `train_images`.

    Attributes
    ----------
    members
        The autoencoders, as far as they are trained.
    done
        Steps behind them.
    losses
        The loss of every step and member since this object was made.
    steps_per_second
        Steps of all members together in the last second, without the preparations.
    """

    def __init__(
        self,
        models: Sequence[ImageModel],
        images: Any,
        *,
        seeds: Sequence[int],
        training: ImageTraining,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        torch = load_torch()
        from upto.train.images.autoencoders import ImageAutoencoder
        from upto.train.images.steps import MemberSteps

        if resume and checkpoint is None:
            message = "there is nothing to resume from: name the checkpoint too."
            raise InputError(message)
        given = checked_seeds(seeds)
        if len(models) != len(given):
            message = f"{len(models)} models have {len(given)} seeds: give one for each."
            raise InputError(message)
        if len(set(zip(models, given, strict=True))) < len(given):
            message = f"{len(given)} members are not all different: give equal models other seeds."
            raise InputError(message)
        self.training, self.device = training, checked_device(device)
        self.images = torch.as_tensor(checked_images(images, training)).to(self.device)
        n_images, n_pixels, _, n_channels = self.images.shape
        self.members = [
            ImageAutoencoder(
                model,
                seed=seed,
                n_pixels=n_pixels,
                n_channels=n_channels,
                n_images=n_images,
                width=training.width,
            ).to(self.device, memory_format=torch.channels_last)
            for model, seed in zip(models, given, strict=True)
        ]
        self.steps = [MemberSteps(each, self.images, training) for each in self.members]
        self.done = 0
        self.losses: NDArray[np.float32] = np.empty((0, len(given)), dtype=np.float32)
        self.steps_per_second = 0.0
        self._whole: tuple[dict[str, Any], int] | None = None
        self.kept = TrainingCheckpoint(checkpoint, self._words(), unit="step")
        if resume and self.kept.exists():
            self._load(self.kept.read())

    def train_to(self, step: int, advance: Callable[[int], None] | None = None) -> None:
        """Train every member until `step` steps are behind it."""
        from upto.train.images.steps import LEG_STEPS

        if not 0 <= step <= self.training.steps:
            message = f"a training of {self.training.steps} steps cannot be taken to step {step}."
            raise InputError(message)
        try:
            while self.done < step:
                n_steps = min(LEG_STEPS, step - self.done)
                self._train_leg(n_steps)
                # A leg works in place, so one that is interrupted leaves nothing to go on from.
                self._whole = None if self.kept.path is None else self._state()
                if self.kept.is_due():
                    self.keep()
                if advance is not None:
                    advance(n_steps)
        except KeyboardInterrupt:
            self.keep()
            raise

    def keep(self) -> None:
        """Write the state after the last whole leg to the checkpoint, if there is one."""
        if self._whole is not None:
            self.kept.write(*self._whole)

    def _train_leg(self, n_steps: int) -> None:
        torch = load_torch()
        for each in self.steps:
            each.prepare_leg(self.done, n_steps)
        self._wait()
        begun = time.monotonic()
        for _ in range(n_steps):
            for each in self.steps:
                each.take()
        self._wait()
        self.steps_per_second = n_steps * len(self.steps) / (time.monotonic() - begun)
        self.done += n_steps
        losses = host_array(torch.stack([each.losses[:n_steps] for each in self.steps], dim=1))
        self.losses = np.concatenate([self.losses, losses])
        bad = ~np.isfinite(losses[-1])
        if bad.any():
            member = self.members[int(bad.argmax())]
            message = (
                f"{int(bad.sum())} of {len(bad)} members diverged before step {self.done}, the "
                f"first of them {member.model.title} with seed {member.seed}: lower the learning "
                "rate."
            )
            raise InputError(message)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            load_torch().cuda.synchronize(self.device)

    def _words(self) -> dict[str, str]:
        some = host_array(self.images[:: max(1, len(self.images) // _LOOKED_AT)])
        return {
            "models": repr([each.model for each in self.members]),
            "seeds": repr([each.seed for each in self.members]),
            "training": repr(self.training),
            "images": f"{len(self.images)}, {fingerprint(some)}",
        }

    def _state(self) -> tuple[dict[str, Any], int]:
        """Return a copy of everything the rest of the training depends on, and the steps done."""
        arrays: dict[str, Any] = {}
        for number, each in enumerate(self.steps):
            own = {name: values.detach().clone() for name, values in each.tensors().items()}
            own["noise"] = each.noise.get_state().clone()
            arrays |= {f"{number}.{name}": values for name, values in own.items()}
        return arrays, self.done

    def _load(self, kept: KeptState) -> None:
        torch = load_torch()
        if kept.done > self.training.steps:
            kept.refuse(f"{kept.done} of {self.training.steps} steps are behind it")
        with torch.no_grad():
            for number, each in enumerate(self.steps):
                for name, values in each.tensors().items():
                    kind = str(values.dtype).removeprefix("torch.")
                    found = kept.take(f"{number}.{name}", tuple(values.shape), kind)
                    values.copy_(torch.as_tensor(found))
                state = kept.take(f"{number}.noise", (None,), np.uint8)
                each.noise.set_state(torch.as_tensor(state))
        self.done = kept.done


def checked_images(images: Any, training: ImageTraining) -> Any:
    """Return images as bytes in order of count, side, side and channels; a tensor stays one."""
    torch = load_torch()
    given = images if torch.is_tensor(images) else np.ascontiguousarray(images)
    if given.ndim != 4 or given.shape[1] != given.shape[2] or given.shape[3] < 1:
        shape = " × ".join(map(str, given.shape))
        message = f"the images are {shape}, not count × side × side × channels."
        raise InputError(message)
    if given.dtype not in (np.uint8, torch.uint8):
        message = f"the images are of type {given.dtype}: give them as bytes from 0 to 255."
        raise InputError(message)
    if len(given) < training.batch_images:
        message = (
            f"{len(given)} images do not fill a step of {training.batch_images}: give more, or "
            "make steps smaller."
        )
        raise InputError(message)
    return given
