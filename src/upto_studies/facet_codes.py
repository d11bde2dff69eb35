"""Codes of images by trained autoencoders with facets, kept so that comparing them can resume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream, read_tensors, write_tensors
from upto.core.array_types import Float
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.mixtures.facet_training import FacetCodes, FacetRun, train_facets
from upto_studies.train.mixtures.facets import FacetModel
from upto_studies.train.mixtures.fade_in import FacetTraining
from upto_studies.train.softmax_members import device_title

if TYPE_CHECKING:
    from pathlib import Path

    from upto_studies.digit_images import DigitImages
    from upto_studies.facets_mnist import Settings
    from upto_studies.outcome import Work

NAMING_ROWS = 10_000
"""The most training images that name clusters."""
_PARTS = ("codes", "naming")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evaluated:
    """What all members make of images.

    Parameters
    ----------
    codes
        Of test images.
    naming
        Of the training images that name clusters.
    """

    codes: FacetCodes
    naming: FacetCodes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainedFacets:
    """Members of all activations.

    Parameters
    ----------
    before, after
        What they make of images before and after the training.
    errors, divergences
        Curves of the training: epochs × members, epochs × facets × members.
    diverged
        Mask of members whose losses are not finite.
    device
        Hardware of the training.
    """

    before: Evaluated
    after: Evaluated
    errors: Float
    divergences: Float
    diverged: NDArray[np.bool_]
    device: str


def train_runs(settings: Settings, work: Work, images: DigitImages) -> TrainedFacets:
    """Train runs of every activation side by side, or read the codes of those that were."""
    path = work.folder / "codes.safetensors"
    shown = fingerprint(images.rows, images.held_rows)
    if not (work.resume and path.exists()):
        members = _start(settings, work, images)
        before = _evaluated(members, images)
        checkpoint = work.folder / "facets.safetensors"
        train_facets(members, checkpoint=checkpoint, resume=work.resume, progress=work.progress)
        after = _evaluated(members, images)
        arrays: dict[str, NDArray[Any]] = {
            "errors": members.errors,
            "divergences": members.divergences,
            "diverged": members.diverged,
        }
        arrays |= _arrays("before", before) | _arrays("after", after)
        write_tensors(path, arrays, {"device": device_title(work.device), "images": shown})
        checkpoint.unlink(missing_ok=True)
    return _read(path, len(settings.dimensions), shown)


def _start(settings: Settings, work: Work, images: DigitImages) -> FacetRun:
    leaks = {"ReLU": 0.0, "LeakyReLU": settings.leak}
    seeds = [
        int(random_stream(work.seed, "runs", name, str(number)).integers(2**31))
        for name in settings.activations
        for number in range(settings.n_runs)
    ]
    return FacetRun(
        FacetModel(
            n_inputs=images.rows.shape[1],
            dimensions=tuple(settings.dimensions),
            n_clusters=tuple(settings.n_clusters),
            encoder=tuple(settings.encoder),
            rungs=tuple(settings.rungs),
            decoder=tuple(settings.decoder),
        ),
        images.rows,
        seeds=seeds,
        leaks=np.repeat([leaks[name] for name in settings.activations], settings.n_runs).tolist(),
        training=FacetTraining(
            epochs=tuple(settings.epochs),
            fade_in_steps=settings.fade_in_steps,
            batch_rows=settings.batch_rows,
            learning_rate=settings.learning_rate,
            start_rows=settings.start_rows,
        ),
        device=work.device,
    )


def _evaluated(members: FacetRun, images: DigitImages) -> Evaluated:
    return Evaluated(
        codes=members.evaluate(images.held_rows),
        naming=members.evaluate(images.rows[:NAMING_ROWS]),
    )


def _arrays(stage: str, evaluated: Evaluated) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for part in _PARTS:
        codes: FacetCodes = getattr(evaluated, part)
        own: dict[str, NDArray[Any]] = {
            "clusters": codes.clusters,
            "errors": codes.errors,
            "divergences": codes.divergences,
        }
        for facet, (means, variances) in enumerate(zip(codes.means, codes.variances, strict=True)):
            own |= {f"means.{facet}": means, f"variances.{facet}": variances}
        found |= {f"{stage}.{part}.{name}": values for name, values in own.items()}
    return found


def _read(path: Path, n_facets: int, shown: str) -> TrainedFacets:
    arrays, words = read_tensors(path)
    if words.get("images") != shown:
        message = f"{path} has codes of other images: start without resume."
        raise InputError(message)
    try:
        before, after = (
            Evaluated(
                **{part: _codes(arrays, f"{stage}.{part}", n_facets) for part in _PARTS},
            )
            for stage in ("before", "after")
        )
        return TrainedFacets(
            before=before,
            after=after,
            errors=arrays["errors"],
            divergences=arrays["divergences"],
            diverged=arrays["diverged"],
            device=words["device"],
        )
    except KeyError as error:
        message = (
            f"{path} is damaged ({error.args[0]} is missing): remove it, or start without resume."
        )
        raise InputError(message) from None


def _codes(arrays: dict[str, NDArray[Any]], name: str, n_facets: int) -> FacetCodes:
    means, variances = (
        tuple(arrays[f"{name}.{kind}.{facet}"] for facet in range(n_facets))
        for kind in ("means", "variances")
    )
    return FacetCodes(
        means=means,
        variances=variances,
        clusters=arrays[f"{name}.clusters"],
        errors=arrays[f"{name}.errors"],
        divergences=arrays[f"{name}.divergences"],
    )
