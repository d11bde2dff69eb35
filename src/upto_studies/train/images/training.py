"""Train several image autoencoders at once, in parallel on a GPU that keeps the images."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, choose_progress
from upto.engines.device_rows import host_array, load_torch, placed_param
from upto_studies.train.arguments import checked_device, checked_seeds
from upto_studies.train.checkpoints import TrainingCheckpoint, fingerprint
from upto_studies.train.images.pixels import checked_images, refuse_unlit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto_studies.train.checkpoints import KeptState
    from upto_studies.train.images.autoencoders import ImageAutoencoder
    from upto_studies.train.images.models import ImageModel
    from upto_studies.train.images.settings import ImageTraining

LEG_SECONDS = 10.0
"""Approximate maximum duration of a leg without captured steps, lost on Ctrl-C."""
_LOOKED_AT = 1000
"""Number of images in the fingerprint of a set."""


def train_images(
    models: Sequence[ImageModel],
    images: Any,
    *,
    seeds: Sequence[int],
    training: ImageTraining,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> list[ImageAutoencoder]:
    """Train one autoencoder per model and seed.

    Parameters
    ----------
    models
        Model of each member.
    images
        Count × side × side × channels, as bytes; an array, or a tensor, possibly on the device.
    seeds
        One non-negative seed per member, which alone determines its weights, the order of its
        images and its noise.
    training
        Training settings.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written periodically, at the end, and on interruption by Ctrl-C.
    resume
        Whether to continue from that file, if it exists.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Raises
    ------
    InputError
        If the images are invalid, a member diverges, or the checkpoint is damaged or belongs to
        another training.

    Examples
    --------
    >>> import numpy as np
    >>> from upto_studies.train.images import ImageModel, ImageTraining, train_images
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
    with choose_progress(progress).task(label, training.steps) as advance:
        advance(trainer.done)
        trainer.train_to(training.steps, advance)
    trainer.keep()
    return trainer.members


class ImageTrainer:
    """A training in progress, for inspecting members in between; see `train_images`.

    Attributes
    ----------
    members
        The autoencoders in their current state.
    done
        Steps done.
    losses
        Loss of every step and member since this object was created.
    steps_per_second
        Speed of the last steps, over all members together, without preparation.
    training, device
        Training settings and device.
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
        from upto_studies.train.images.autoencoders import ImageAutoencoder
        from upto_studies.train.images.steps import LEG_STEPS, MemberSteps

        if resume and checkpoint is None:
            message = "there is no checkpoint to resume from: pass it too."
            raise InputError(message)
        given = checked_seeds(seeds)
        chosen = _checked_models(models, len(given))
        if len(set(zip(chosen, given, strict=True))) < len(given):
            message = (
                f"some of {len(given)} members are identical: give equal models different seeds."
            )
            raise InputError(message)
        self.training, self.device = training, checked_device(device)
        shown = checked_images(images)
        if len(shown) < training.batch_images:
            message = (
                f"{len(shown)} images do not fill a step of {training.batch_images}: give more, or "
                "reduce batch_images."
            )
            raise InputError(message)
        self._images = placed_param(shown, self.device).to(self.device)
        refuse_unlit(self._images)
        n_images, n_pixels, _, n_channels = self._images.shape
        self.members = [
            ImageAutoencoder(
                model,
                seed=seed,
                n_pixels=n_pixels,
                n_channels=n_channels,
                n_images=n_images,
                width=training.width,
            ).to(self.device, memory_format=torch.channels_last)
            for model, seed in zip(chosen, given, strict=True)
        ]
        self._steps = [MemberSteps(each, self._images, training) for each in self.members]
        self._leg_steps = LEG_STEPS if self.device.type == "cuda" else 1
        self._is_torn = False
        self.done = 0
        self.losses: NDArray[np.float32] = np.empty((0, len(given)), dtype=np.float32)
        self.steps_per_second = 0.0
        self._whole: tuple[dict[str, Any], int] | None = None
        self._checkpoint = TrainingCheckpoint(checkpoint, self._words(), unit="step")
        if resume and self._checkpoint.exists():
            self._load(self._checkpoint.read())

    def train_to(self, step: int, advance: Callable[[int], None] | None = None) -> None:
        """Train every member up to step `step`.

        Raises
        ------
        InputError
            If the training has fewer steps, a member diverges, or an earlier call was interrupted.
        """
        if not 0 <= step <= self.training.steps:
            message = f"a training of {self.training.steps} steps cannot be taken to step {step}."
            raise InputError(message)
        if self._is_torn:
            message = (
                f"this training was interrupted after step {self.done}: create it again, with "
                "resume=True if it has a checkpoint."
            )
            raise InputError(message)
        try:
            while self.done < step:
                n_steps = min(self._leg_steps, step - self.done)
                # A leg works in place, so an interrupted one cannot be continued.
                self._is_torn = True
                self._train_leg(n_steps)
                self._is_torn = False
                self._whole = None if self._checkpoint.path is None else self._state()
                if self._checkpoint.is_due():
                    self.keep()
                if advance is not None:
                    advance(n_steps)
        except KeyboardInterrupt:
            self.keep()
            raise

    def keep(self) -> None:
        """Write the state after the last complete leg to the checkpoint, if there is one."""
        if self._whole is not None:
            self._checkpoint.write(*self._whole)

    def _train_leg(self, n_steps: int) -> None:
        torch = load_torch()
        for each in self._steps:
            each.prepare_leg(self.done, n_steps)
        self._wait()
        begun = time.monotonic()
        for _ in range(n_steps):
            for each in self._steps:
                each.take()
        self._wait()
        seconds = time.monotonic() - begun
        self.steps_per_second = n_steps * len(self._steps) / max(seconds, 1e-9)
        if self.device.type != "cuda":
            # A step may take seconds here, so legs are kept short.
            wanted = int(n_steps * LEG_SECONDS / max(seconds, 1e-9))
            self._leg_steps = max(1, min(wanted, len(self._steps[0].order)))
        self.done += n_steps
        losses = host_array(torch.stack([each.losses[:n_steps] for each in self._steps], dim=1))
        self.losses = np.concatenate([self.losses, losses])
        bad = ~np.isfinite(losses[-1])
        if bad.any():
            member = self.members[int(bad.argmax())]
            message = (
                f"{int(bad.sum())} of {len(bad)} members diverged before step {self.done}, first "
                f"{member.model.title} with seed {member.seed}: lower the learning "
                "rate."
            )
            raise InputError(message)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            load_torch().cuda.synchronize(self.device)

    def _words(self) -> dict[str, str]:
        some = host_array(self._images[:: max(1, len(self._images) // _LOOKED_AT)])
        return {
            "models": repr([each.model for each in self.members]),
            "seeds": repr([each.seed for each in self.members]),
            "training": repr(self.training),
            "images": f"{len(self._images)}, {fingerprint(some)}",
        }

    def _state(self) -> tuple[dict[str, Any], int]:
        """Return a copy of the training state, and the number of steps done."""
        arrays: dict[str, Any] = {}
        for number, each in enumerate(self._steps):
            own = {name: values.detach().clone() for name, values in each.tensors().items()}
            own["noise"] = each.noise.get_state().clone()
            arrays |= {f"{number}.{name}": values for name, values in own.items()}
        return arrays, self.done

    def _load(self, kept: KeptState) -> None:
        torch = load_torch()
        if kept.done > self.training.steps:
            kept.refuse(f"{kept.done} of {self.training.steps} steps are done")
        with torch.no_grad():
            for number, each in enumerate(self._steps):
                for name, values in each.tensors().items():
                    kind = str(values.dtype).removeprefix("torch.")
                    found = kept.take(f"{number}.{name}", tuple(values.shape), kind)
                    values.copy_(torch.as_tensor(found))
                state = kept.take(f"{number}.noise", (None,), np.uint8)
                if len(state) != len(each.noise.get_state()):
                    message = (
                        f"{kept.path} belongs to a training on another kind of device than "
                        f"{self.device.type}: resume it there, or start without resume."
                    )
                    raise InputError(message)
                each.noise.set_state(torch.as_tensor(state))
        self.done = kept.done


def _checked_models(models: Any, n_seeds: int) -> list[ImageModel]:
    """Return models as a list, one per seed."""
    from upto_studies.train.images.models import ImageModel

    given = [models] if isinstance(models, str) else models
    if isinstance(given, ImageModel) or not all(isinstance(each, ImageModel) for each in given):
        message = "models must be a list of ImageModel(kind=..., n_latents=...), one per seed."
        raise InputError(message)
    if len(given) != n_seeds:
        message = f"there are {len(given)} models and {n_seeds} seeds: give one seed per model."
        raise InputError(message)
    return list(given)
