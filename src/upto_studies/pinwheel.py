"""Figure 2 of Kivva et al. 2022: five runs of VaDE on a pinwheel of three arms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from upto.core import random_stream
from upto.core.array_types import Float
from upto.measures import Mixture, affine_l2_distance, l2_inner
from upto_studies.outcome import Outcome, Work
from upto_studies.run_pairs import Pairs, compared_runs, matched_accuracy
from upto_studies.train.mixtures import (
    MixtureMembers,
    MixtureModel,
    MixtureTraining,
    train_mixtures,
)
from upto_studies.train.softmax_members import device_title

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0.0)]
Layout = frozenset[frozenset[int]]
"""Arms by the axis they lie along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_arms: Annotated[int, Meta(ge=2)]
    arm_rows: Annotated[int, Meta(ge=20)]
    held_out_rows: Annotated[int, Meta(ge=20)]
    radial: Positive
    tangential: Positive
    rate: Annotated[float, Meta(ge=0.0)]
    n_latents: Count
    hidden: Annotated[list[Count], Meta(min_length=1)]
    leak: Annotated[float, Meta(ge=0.0)]
    deviation: Positive
    n_runs: Annotated[int, Meta(ge=2)]
    pretraining_epochs: Count
    epochs: Count
    batch_rows: Count
    learning_rate: Positive
    decay_epochs: Count


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Wheel:
    """Points of a pinwheel and the arms they belong to."""

    rows: NDArray[np.float32]
    arms: NDArray[np.int64]


def draw_pinwheel(
    arm_rows: int,
    *,
    n_arms: int,
    radial: float,
    tangential: float,
    rate: float,
    seed: int,
    purpose: str,
) -> Wheel:
    """Draw points of a pinwheel (Johnson et al. 2016).

    An arm is a normal distribution around (1, 0), whose points are turned the more, the farther out
    they lie, and by the angle of the arm.

    Examples
    --------
    >>> wheel = draw_pinwheel(
    ...     50, n_arms=3, radial=0.3, tangential=0.05, rate=0.25, seed=0, purpose="an example"
    ... )
    >>> wheel.rows.shape, wheel.arms.max()
    ((150, 2), 2)
    """
    stream = random_stream(seed, "pinwheel", purpose)
    drawn = stream.standard_normal((n_arms * arm_rows, 2))
    # Sorted points would look like dependent rows.
    arms = stream.permutation(np.repeat(np.arange(n_arms), arm_rows))
    points = drawn * (radial, tangential) + (1.0, 0.0)
    angles = 2 * np.pi * arms / n_arms + rate * np.exp(points[:, 0])
    turned = (points @ (1.0, 1j)) * np.exp(1j * angles)
    rows = np.stack([turned.real, turned.imag], axis=1).astype(np.float32)
    return Wheel(rows=rows, arms=arms)


def layout_of(codes: Float, arms: NDArray[np.int64]) -> Layout:
    """Return which arms lie along the same axis of the latents.

    Components have diagonal covariances, so an arm lies along an axis; with more arms than axes
    some share one, and parallel arms stay parallel under affine maps.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0.0, 1.0], [9.0, 1.2], [0.0, 5.0], [1.0, 8.0], [2.0, 2.0], [7.0, 2.5]])
    >>> sorted(map(sorted, layout_of(codes, np.array([0, 0, 1, 1, 2, 2]))))
    [[0, 2], [1]]
    """
    axes = [int(codes[arms == arm].var(axis=0).argmax()) for arm in range(int(arms.max()) + 1)]
    return frozenset(frozenset(arm for arm, own in enumerate(axes) if own == axis) for axis in axes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Runs:
    """Runs of one state of training, on held-out points.

    Parameters
    ----------
    members
        The models.
    codes
        Runs × points × latents.
    accuracies
        Share of points whose component is matched with their arm, by run.
    living
        Number of living components of each run.
    bounds
        Negative evidence lower bound of each run, nats per point.
    layouts
        Which arms lie along the same axis, by run.
    pairs
        Agreement of every two runs.
    distances, unscaled
        L2 distances of the learned densities up to affine maps, by ordered pair: over the norm of
        the first, and not.
    """

    members: MixtureMembers
    codes: Float
    accuracies: Float
    living: Float
    bounds: Float
    layouts: tuple[Layout, ...]
    pairs: Pairs
    distances: dict[tuple[int, int], float]
    unscaled: dict[tuple[int, int], float]


def run(settings: Settings, work: Work) -> Outcome:
    """Train VaDE several times and compare the runs two by two."""
    from upto_studies.pinwheel_tables import measured_of, panels_of, says_of, tables_of

    shown, held = (
        draw_pinwheel(
            count,
            n_arms=settings.n_arms,
            radial=settings.radial,
            tangential=settings.tangential,
            rate=settings.rate,
            seed=work.seed,
            purpose=purpose,
        )
        for count, purpose in (
            (settings.arm_rows, "training"),
            (settings.held_out_rows, "held out"),
        )
    )
    # The second training finds the pre-training of the first beside its checkpoint.
    found = {
        name: _runs(settings, work, shown, held, epochs=epochs, before=before, resume=resume)
        for name, epochs, before, resume in (
            ("untrained", 0, 0, False),
            ("pre-trained", 0, settings.pretraining_epochs, work.resume),
            ("trained", settings.epochs, settings.pretraining_epochs, True),
        )
    }
    chance = chance_distances(found["trained"].members, seed=work.seed)
    measured = measured_of(found, chance)
    return Outcome(
        measured=measured,
        says=says_of(settings, measured),
        tables=tables_of(found, chance),
        panels=panels_of(found["trained"], held),
        device=device_title(work.device),
    )


def _runs(
    settings: Settings,
    work: Work,
    shown: Wheel,
    held: Wheel,
    *,
    epochs: int,
    before: int,
    resume: bool,
) -> Runs:
    members = train_mixtures(
        MixtureModel(
            kind="vade",
            widths=(2, *settings.hidden, settings.n_latents),
            n_components=settings.n_arms,
            deviation=settings.deviation,
            leak=settings.leak,
        ),
        shown.rows,
        seeds=random_stream(work.seed, "runs").integers(2**31, size=settings.n_runs).tolist(),
        training=MixtureTraining(
            epochs=epochs,
            pretraining_epochs=before,
            batch_rows=settings.batch_rows,
            learning_rate=settings.learning_rate,
            decay_epochs=settings.decay_epochs,
        ),
        device=work.device,
        checkpoint=work.folder / "vade.safetensors",
        resume=resume,
        progress=work.progress,
    )
    codes = members.codes(held.rows)
    with work.progress.task("comparing runs", len(members) * (len(members) - 1) // 2) as advance:
        pairs = compared_runs(codes, seed=work.seed, advance=advance)
        distances, unscaled = density_distances([members.mixture(k) for k in range(len(members))])
    return Runs(
        members=members,
        codes=codes,
        accuracies=np.array(
            [matched_accuracy(own, held.arms) for own in members.clusters(held.rows)]
        ),
        living=members.living(held.rows).astype(np.float64),
        bounds=members.negative_bounds(held.rows),
        layouts=tuple(layout_of(own, held.arms) for own in codes),
        pairs=pairs,
        distances=distances,
        unscaled=unscaled,
    )


def density_distances(
    priors: list[Mixture],
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Return the L2 distances of densities up to affine maps, for every ordered pair.

    The first are over the norm of the first density of a pair, which no change of units alters; the
    second are not.
    """
    scaled = {
        (first, second): affine_l2_distance(priors[first], priors[second])
        for first, second in permutations(range(len(priors)), 2)
    }
    norms = [float(np.sqrt(l2_inner(each, each))) for each in priors]
    return scaled, {pair: value * norms[pair[0]] for pair, value in scaled.items()}


def chance_distances(members: MixtureMembers, *, seed: int) -> Float:
    """Return the distances of the learned densities from mixtures drawn at random, one per run.

    Weights are uniform over the simplex, means standard normal, and standard deviations
    log-uniform from a tenth to one, in the axes.
    """
    found = []
    for member in range(len(members)):
        own = members.mixture(member)
        stream = random_stream(seed, "drawn mixtures", str(member))
        shape = own.means.shape
        drawn = Mixture(
            weights=stream.dirichlet(np.ones(shape[0])),
            means=stream.standard_normal(shape),
            covariances=np.stack(
                [np.diag(10.0 ** (2 * each)) for each in stream.uniform(-1.0, 0.0, shape)]
            ),
        )
        found.append(affine_l2_distance(own, drawn))
    return np.array(found)
