"""Train autoencoders of rendered images in groups, and store their latents in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from upto.core import FactorGrid, InputError, read_tensors, write_tensors
from upto_studies.scenes import (
    dsprites_grid,
    render_dsprites,
    render_room,
    render_studio,
    room_grid,
    studio_grid,
)
from upto_studies.train.images.models import ImageModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from upto.core import Progress
    from upto_studies.train.images.settings import ImageTraining
    from upto_studies.train.images.training import ImageTrainer

_REDRAWN = 2000
"""Number of evaluated images that are reconstructed to measure the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSet:
    """A set of rendered images, and the published set whose factor grid it shares.

    `white` is the largest pixel value.
    """

    title: str
    published: str | None
    grid: Callable[[], FactorGrid]
    render: Callable[..., Any]
    white: int = 255


SETS = {
    "sprites": RenderedSet(
        title="dSprites, rendered again",
        published=None,
        grid=dsprites_grid,
        render=render_dsprites,
        white=1,
    ),
    "room": RenderedSet(
        title="room, on the grid of Shapes3D",
        published="Shapes3D",
        grid=room_grid,
        render=render_room,
    ),
    "studio": RenderedSet(
        title="studio, on the grid of Falcor3D",
        published="Falcor3D",
        grid=studio_grid,
        render=render_studio,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An autoencoder and its image set."""

    images: str
    model: ImageModel
    seed: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Encoded:
    """Latents of the evaluated images from one autoencoder.

    Parameters
    ----------
    member
        The autoencoder.
    steps
        Training steps after which it was evaluated.
    latents
        Checkpoints × images × latents; integers if they are codes.
    psnr
        Mean over images at each checkpoint, in decibels.
    loss
        Mean loss of the last steps before each checkpoint.
    rate
        Steps per second of all members trained together with it.
    device
        Description of the hardware.
    """

    member: Member
    steps: tuple[int, ...]
    latents: NDArray[Any]
    psnr: tuple[float, ...]
    loss: tuple[float, ...]
    rate: float
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """Plan for rendering all sets and training all members.

    `n_images` are sampled from each grid, all of it if 0; latents are kept for the first
    `n_evaluated` of them, after each of `looks` equal parts of the training.
    """

    n_pixels: int
    n_images: int
    n_evaluated: int
    looks: int
    n_at_once: int
    seed: int


def evaluated_points(images: str, plan: ImagePlan) -> NDArray[np.int64]:
    """Return the grid points whose latents are kept, the same for all members."""
    grid = SETS[images].grid()
    return grid.draw(min(plan.n_evaluated, len(grid)), distinct=True, seed=plan.seed)


def encoded_members(
    members: Sequence[Member],
    training: ImageTraining,
    plan: ImagePlan,
    *,
    folder: Path,
    device: str,
    resume: bool,
    progress: Progress,
) -> list[Encoded]:
    """Train all members and return their latents.

    `n_at_once` members of one set are trained together; each group's results are stored in a file
    of `folder`, so that a resumed run does not train it again.
    """
    found: dict[Member, Encoded] = {}
    groups = _groups(members, plan.n_at_once)
    pictures: tuple[str, Any, Any] | None = None
    with progress.task("training autoencoders", len(groups)) as advance:
        for number, group in enumerate(groups):
            path = folder / f"group-{number:03d}.safetensors"
            if not (resume and path.exists()):
                name = group[0].images
                if pictures is None or pictures[0] != name:
                    pictures = None  # Two sets need not fit the device at once.
                    pictures = (name, *_rendered(name, plan, device))
                _train_group(
                    group, pictures[1:], training, plan, path, device=device, resume=resume
                )
            found |= {each.member: each for each in _read_group(path, group)}
            advance(1)
    return [found[member] for member in members]


def _groups(members: Sequence[Member], n_at_once: int) -> list[list[Member]]:
    by_set: dict[str, list[Member]] = {}
    for member in members:
        by_set.setdefault(member.images, []).append(member)
    return [
        own[start : start + n_at_once]
        for own in by_set.values()
        for start in range(0, len(own), n_at_once)
    ]


def _rendered(name: str, plan: ImagePlan, device: str) -> tuple[Any, Any]:
    """Return the training images and the evaluated images."""
    chosen, evaluated = SETS[name], evaluated_points(name, plan)
    grid = chosen.grid()
    if plan.n_images and plan.n_images < len(grid):
        shown = grid.draw(plan.n_images, distinct=True, seed=plan.seed + 1)
    else:
        shown = np.arange(len(grid))
    shown_images, evaluated_images = (
        chosen.render(grid.factors(points), n_pixels=plan.n_pixels, device=device)
        for points in (shown, evaluated)
    )
    # Greyscale images have no channel axis.
    n_channels = 1 if shown_images.ndim == 3 else shown_images.shape[3]
    shape = (-1, plan.n_pixels, plan.n_pixels, n_channels)
    bright = 255 // chosen.white
    return shown_images.reshape(shape) * bright, evaluated_images.reshape(shape) * bright


def _train_group(
    group: Sequence[Member],
    pictures: tuple[Any, Any],
    training: ImageTraining,
    plan: ImagePlan,
    path: Path,
    *,
    device: str,
    resume: bool,
) -> None:
    from upto_studies.train.images.training import ImageTrainer

    shown, evaluated = pictures
    under_way = path.with_suffix(".training")
    trainer = ImageTrainer(
        [member.model for member in group],
        shown,
        seeds=[member.seed for member in group],
        training=training,
        device=device,
        checkpoint=under_way,
        resume=resume and under_way.exists(),
    )
    arrays: dict[str, NDArray[Any]] = {}
    steps = look_steps(training.steps, plan.looks)
    losses = np.full((len(steps), len(group)), np.nan)
    psnr = np.full((len(steps), len(group)), np.nan)
    kept = path.with_suffix(".looks")
    if trainer.done and kept.exists():
        arrays, _ = read_tensors(kept)
        losses, psnr = arrays.pop("losses").copy(), arrays.pop("psnr").copy()
    for look, step in enumerate(steps):
        if step < trainer.done or (step == trainer.done and np.isfinite(psnr[look]).all()):
            continue
        trainer.train_to(step)
        _look(trainer, evaluated, look, arrays, losses, psnr)
        write_tensors(kept, {**arrays, "losses": losses, "psnr": psnr}, {})
    words = {
        "members": msgspec.json.encode(list(group)).decode(),
        "steps": " ".join(map(str, steps)),
        "rate": f"{trainer.steps_per_second:.4g}",
        "device": _device(device),
    }
    write_tensors(path, {**arrays, "losses": losses, "psnr": psnr}, words)
    under_way.unlink(missing_ok=True)
    kept.unlink(missing_ok=True)


def _look(
    trainer: ImageTrainer,
    evaluated: Any,
    look: int,
    arrays: dict[str, NDArray[Any]],
    losses: NDArray[np.float64],
    psnr: NDArray[np.float64],
) -> None:
    if len(trainer.losses):
        losses[look] = trainer.losses[-100:].mean(axis=0)
    for number, member in enumerate(trainer.members):
        latents = member.latents(evaluated)
        kind = np.int32 if member.bottleneck.is_discrete else np.float32
        arrays[f"{look}.{number}"] = latents.astype(kind)
        psnr[look, number] = member.psnr(evaluated[:_REDRAWN]).mean()


def look_steps(n_steps: int, looks: int) -> tuple[int, ...]:
    """Return the steps after which members are evaluated."""
    return tuple(n_steps * look // looks for look in range(1, looks + 1))


def _read_group(path: Path, group: Sequence[Member]) -> list[Encoded]:
    arrays, words = read_tensors(path)
    members = msgspec.json.decode(words["members"], type=list[Member])
    if members != list(group):
        message = f"{path} contains autoencoders of another run: pass --restart."
        raise InputError(message)
    steps = tuple(map(int, words["steps"].split()))
    return [
        Encoded(
            member=member,
            steps=steps,
            latents=np.stack([arrays[f"{look}.{number}"] for look in range(len(steps))]),
            psnr=tuple(arrays["psnr"][:, number].tolist()),
            loss=tuple(arrays["losses"][:, number].tolist()),
            rate=float(words["rate"]),
            device=words["device"],
        )
        for number, member in enumerate(members)
    ]


def _device(device: str) -> str:
    import torch

    if torch.device(device).type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{device}, {torch.get_num_threads()} threads"
