"""Figure 2 of Nelson et al. 2026: more isometric decoders give more similar trainings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import Estimate, random_stream
from upto.datasets import read_image_set
from upto_studies.digit_images import DigitImages, take_digits
from upto_studies.leaky_figures import figures
from upto_studies.leaky_tables import certified, tables
from upto_studies.outcome import Outcome, Work
from upto_studies.train import Ensemble, Network, Training, train_ensemble
from upto_studies.train.curves import (
    FORMS,
    Curve,
    correlation,
    fit_curve,
    mean_estimate,
    predicted_shape,
)
from upto_studies.train.pairs import EXCESSES, Pair, converged_pairs, measure_pairs
from upto_studies.train.references import linear_autoencoder_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Leak = Annotated[float, Meta(gt=0.0, le=1.0)]

_FEWEST_PAIRS = 10
"""Pairs below which the verdict states no relation: a bootstrap of fewer is overconfident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["mnist", "digits"]
    encoder: Annotated[list[Count], Meta(min_length=2)]
    leaks: Annotated[list[Leak], Meta(min_length=1)]
    n_seeds: Count
    epochs: Count
    decay_epochs: NotNegative
    tf32_epochs: NotNegative
    batch_rows: Count
    learning_rate: Annotated[float, Meta(gt=0.0)]
    patience: Count
    min_improvement: Annotated[float, Meta(ge=0.0)]
    clip_norm: Annotated[float, Meta(gt=0.0)]
    reference_leak: Leak
    filter_percentile: Annotated[float, Meta(ge=0.0, le=100.0)]
    n_samples: Annotated[int, Meta(ge=2)]
    n_directions: Count
    n_resamples: Count
    digits: Annotated[list[Annotated[int, Meta(ge=0, le=9)]], Meta(min_length=1)]
    digit_n_seeds: NotNegative
    digit_epochs: Count
    digit_decay_epochs: NotNegative
    digit_tf32_epochs: NotNegative


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """Pairs trained in the same way, and their joint statistics.

    Parameters
    ----------
    pairs, kept
        All pairs, and those that converged.
    optima
        Minimum error of a linear autoencoder on the training images of each pair.
    epochs
        Epochs of the longer training of each pair.
    worst_defect
        Largest deviation of any layer from orthogonality.
    curves
        Fits to the kept pairs, by definition of L and form.
    correlations
        Correlations of the error with √(2L+L²) over the kept pairs, by definition of L.
    """

    pairs: list[Pair]
    kept: list[Pair]
    optima: list[float]
    epochs: list[int]
    worst_defect: float
    curves: dict[str, list[Curve]]
    correlations: dict[str, Estimate]


def run(settings: Settings, work: Work) -> Outcome:
    """Train pairs of orthogonal autoencoders with several leaks and compare their codes."""
    images = _images(settings, work)
    together = _together(settings, work, images)
    by_digit = _by_digit(settings, work, images) if settings.digit_n_seeds else None
    measured = _measured(settings, work, together)
    if by_digit is not None:
        measured |= {
            f"digits {key}": each for key, each in _measured(settings, work, by_digit).items()
        }
    return Outcome(
        measured=measured,
        says=_says(measured, together, images),
        tables=tables(settings, together, by_digit),
        panels=figures(settings, together, by_digit),
        device=_device(work.device),
    )


def _says(measured: dict[str, Estimate], together: Trained, images: DigitImages) -> str:
    said = f"{len(together.kept)} of {len(together.pairs)} pairs of autoencoders of {images.name} "
    said += "converged"
    relation = measured.get("correlation")
    is_telling = relation is not None and relation.low is not None and relation.low > 0.0
    if is_telling and len(together.kept) >= _FEWEST_PAIRS:
        said += f", their errors correlate with √(2L+L²) at {relation:.2f}"
    else:
        said += ", too few or too little trained to tell whether their errors grow with √(2L+L²)"
    if "error at leak 1" in measured:
        floor = measured["error at leak 1"].value
        said += f", and at leak 1 two trainings differ by {floor:.1g} of the diameter"
    return said


def _images(settings: Settings, work: Work) -> DigitImages:
    loaded = read_image_set(settings.data, work.data)
    return take_digits(loaded, loaded.training_rows, loaded.held_rows)


def _training(settings: Settings, epochs: int, decay_epochs: int, tf32_epochs: int) -> Training:
    return Training(
        epochs=epochs,
        decay_epochs=decay_epochs,
        tf32_epochs=tf32_epochs,
        batch_rows=settings.batch_rows,
        learning_rate=settings.learning_rate,
        patience=settings.patience,
        min_improvement=settings.min_improvement,
        clip_norm=settings.clip_norm,
    )


def _train(
    settings: Settings,
    work: Work,
    images: DigitImages,
    name: str,
    leaks: list[float],
    training: Training,
    subsets: list[NDArray[np.intp]] | None = None,
) -> Ensemble:
    seeds = random_stream(work.seed, "members", name).integers(2**31, size=len(leaks))
    return train_ensemble(
        Network.autoencoder(settings.encoder, orthogonal=True, bias=False),
        images.rows,
        seeds=seeds.tolist(),
        leaks=leaks,
        subsets=subsets,
        training=training,
        device=work.device,
        checkpoint=work.folder / f"{name}.safetensors",
        resume=work.resume,
        progress=work.progress,
    )


def _together(settings: Settings, work: Work, images: DigitImages) -> Trained:
    leaks = np.repeat(settings.leaks, 2 * settings.n_seeds).tolist()
    training = _training(settings, settings.epochs, settings.decay_epochs, settings.tf32_epochs)
    ensemble = _train(settings, work, images, "all-images", leaks, training)
    pairs = measure_pairs(
        ensemble,
        images.rows,
        images.held_rows,
        n_samples=settings.n_samples,
        n_directions=settings.n_directions,
        seed=work.seed,
    )
    optimum = linear_autoencoder_error(images.rows, settings.encoder[-1])
    return _summarised(settings, work, ensemble, pairs, [optimum] * len(pairs))


def _by_digit(settings: Settings, work: Work, images: DigitImages) -> Trained:
    n_members = 2 * settings.digit_n_seeds * len(settings.leaks)
    leaks = np.repeat(settings.leaks, 2 * settings.digit_n_seeds).tolist()
    shown = [np.flatnonzero(images.labels == digit) for digit in settings.digits]
    ensemble = _train(
        settings,
        work,
        images,
        "by-digit",
        leaks * len(settings.digits),
        _training(
            settings,
            settings.digit_epochs,
            settings.digit_decay_epochs,
            settings.digit_tf32_epochs,
        ),
        [rows for rows in shown for _ in range(n_members)],
    )
    pairs, optima = [], []
    for number, (digit, rows) in enumerate(zip(settings.digits, shown, strict=True)):
        members = np.arange(number * n_members, (number + 1) * n_members)
        found = measure_pairs(
            ensemble.select(members),
            images.rows[rows],
            images.held_rows[images.held_labels == digit],
            n_samples=settings.n_samples,
            n_directions=settings.n_directions,
            seed=work.seed,
            about=f"digit {digit}",
        )
        pairs += found
        optima += [linear_autoencoder_error(images.rows[rows], settings.encoder[-1])] * len(found)
    return _summarised(settings, work, ensemble, pairs, optima)


def _summarised(
    settings: Settings, work: Work, ensemble: Ensemble, pairs: list[Pair], optima: list[float]
) -> Trained:
    kept = converged_pairs(
        pairs, reference_leak=settings.reference_leak, percentile=settings.filter_percentile
    )
    error = np.array([pair.errors.relative for pair in kept])
    again = {"n_resamples": settings.n_resamples, "seed": work.seed}
    excesses = {
        name: np.array([pair.excess(**variant) for pair in kept])
        for name, variant in EXCESSES.items()
    }
    return Trained(
        pairs=pairs,
        kept=kept,
        optima=optima,
        epochs=ensemble.epochs.reshape(-1, 2).max(axis=1).tolist(),
        worst_defect=float(max(ensemble.worst_defect.max(), ensemble.orthogonality().max())),
        curves={
            name: [
                curve
                for form in FORMS
                if (curve := fit_curve(form, excess, error, **again)) is not None
            ]
            for name, excess in excesses.items()
        },
        correlations={
            name: found
            for name, excess in excesses.items()
            if (found := _correlation(settings, work, predicted_shape(excess), error)) is not None
        },
    )


def _correlation(
    settings: Settings, work: Work, first: Float, second: Float, *, ranks: bool = False
) -> Estimate | None:
    return correlation(first, second, n_resamples=settings.n_resamples, seed=work.seed, ranks=ranks)


def _measured(settings: Settings, work: Work, trained: Trained) -> dict[str, Estimate]:
    again = {"n_resamples": settings.n_resamples, "seed": work.seed}
    pairs, kept = trained.pairs, trained.kept
    measured = {
        "removed pairs": Estimate(value=float(len(pairs) - len(kept))),
        "orthogonality": Estimate(value=trained.worst_defect),
        # At leak 1 the theorem makes two optima equal. The remaining error is that of the
        # optimisation, which has its own claim.
        "broken promises": Estimate(
            value=float(sum(each.breaks_promise for each in pairs if each.leak < 1))
        ),
        "held-out over in-sample error": mean_estimate(
            np.array([each.errors.held_relative / each.errors.relative for each in pairs]), **again
        ),
    }
    for quantity, name in (
        ("correlation", "mean L, exact"),
        ("correlation of the paper's estimate", "mean L, ten directions"),
    ):
        if name in trained.correlations:
            measured[quantity] = trained.correlations[name]
    curves = trained.curves["mean L, exact"]
    if curves:
        measured["R² of the curve"] = curves[0].r_squared
    error = np.array([pair.errors.relative for pair in kept])
    leaks = np.array([pair.leak for pair in kept])
    order = _correlation(settings, work, leaks, error, ranks=True)
    if order is not None:
        measured["order of the leaks"] = order
    nonlinear = [each for each in pairs if each.leak < 1]
    if nonlinear:
        shares = [
            each.excess(exact=False, worst=False) / each.excess(exact=True, worst=False)
            for each in nonlinear
        ]
        measured["ten directions over exact"] = mean_estimate(np.array(shares), **again)
        measured["share of the certified bound"] = Estimate(
            value=max(
                float(each.stretches.exact.max()) / certified(settings, each.leak)
                for each in nonlinear
            )
        )
    linear = [(each, optimum) for each, optimum in zip(pairs, trained.optima, strict=True)]
    linear = [(each, optimum) for each, optimum in linear if each.leak == 1]
    if linear:
        floor = np.array([each.errors.relative for each, _ in linear])
        gaps = [max(each.reconstruction) / optimum - 1 for each, optimum in linear]
        measured["error at leak 1"] = mean_estimate(floor, **again)
        measured["excess over PCA at leak 1"] = Estimate(value=max(gaps))
    return measured


def _device(device: str) -> str:
    import torch

    if torch.device(device).type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{device}, {torch.get_num_threads()} threads"
