"""Figure 2 of Roeder et al. 2021: two classifiers converge to one representation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import logsumexp

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto.core.array_types import Float
from upto.theory import head_diversity
from upto_studies.agreement import over_pairs
from upto_studies.outcome import Outcome, Work
from upto_studies.pair_tables import (
    Point,
    compared_pairs,
    gain,
    loss_panel,
    order,
    sweep_panel,
    sweep_table,
)
from upto_studies.train import Network
from upto_studies.train.labelled_rows import LabelledRows
from upto_studies.train.softmax_members import Steps, TrainedMembers, device_title, train_members
from upto_studies.train.softmax_model import SoftmaxModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell

Count = Annotated[int, Meta(ge=1)]
SPREAD = 3.0
"""Standard deviation of both coordinates of a point."""
_NEAR = 0.01
_SHOWN_ROWS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_classes: Annotated[int, Meta(ge=2)]
    n_outputs: Count
    hidden: Annotated[list[Count], Meta(min_length=1)]
    first_vectors: Annotated[float, Meta(gt=0.0)]
    n_members: Annotated[int, Meta(ge=2)]
    likelihood_gap: Annotated[float, Meta(gt=0.0)]
    n_rows: Count
    n_held_out: Annotated[int, Meta(ge=50)]
    looks: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2)]
    batch_rows: Count
    learning_rate: Annotated[float, Meta(gt=0.0)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points:
    """Points of the plane and the sectors they lie in."""

    rows: NDArray[np.float32]
    labels: NDArray[np.int64]


def draw_points(count: int, n_classes: int, *, seed: int, purpose: str) -> Points:
    """Draw points from a round normal distribution and label them by angle.

    The sector of a point is the floor of ``n_classes`` times its angle over 2π.
    """
    drawn = SPREAD * random_stream(seed, "points", purpose).standard_normal((count, 2))
    angles = np.arctan2(drawn[:, 1], drawn[:, 0]) % (2 * np.pi)
    labels = np.floor(n_classes * angles / (2 * np.pi)).astype(np.int64)
    # An angle just below zero is rounded to a whole turn.
    return Points(rows=drawn.astype(np.float32), labels=labels % n_classes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Members:
    """Members of equal likelihood, and the others.

    Parameters
    ----------
    trained
        Outputs of all members.
    right
        Share of held-out points that each classifies correctly, looks × members.
    losses
        Cross-entropies of the held-out points, looks × members.
    solved, stuck
        Members whose last loss is about the lowest, and the others.
    """

    trained: TrainedMembers
    right: Float
    losses: Float
    solved: list[int]
    stuck: list[int]

    def solved_pairs(self) -> list[int]:
        """Return the members of equal likelihood two by two; the best two if there is only one."""
        if len(self.solved) >= 2:
            return self.solved[: len(self.solved) // 2 * 2]
        return [int(each) for each in np.argsort(self.losses[-1], kind="stable")[:2]]

    def stuck_pairs(self) -> list[int]:
        """Return every member that is stuck, after one that is not."""
        pairs = [(self.solved[k % len(self.solved)], each) for k, each in enumerate(self.stuck)]
        return [member for pair in pairs for member in pair]


def run(settings: Settings, work: Work) -> Outcome:
    """Train classifiers and compare those of equal likelihood two by two along the way."""
    held = draw_points(settings.n_held_out, settings.n_classes, seed=work.seed, purpose="held out")
    trained = _trained(settings, work, held)
    losses = held_out_losses(trained, held.labels)
    is_solved = losses[-1] <= losses[-1].min() + settings.likelihood_gap
    members = Members(
        trained=trained,
        right=accuracies(trained, held.labels),
        losses=losses,
        solved=np.flatnonzero(is_solved).tolist(),
        stuck=np.flatnonzero(~is_solved).tolist(),
    )
    sides = _compared(members, work)
    drawn = trained.f[-1][: settings.n_members // 2 * 2]
    every = Point(x=trained.looks[-1], pairs=compared_pairs(drawn, seed=work.seed))
    measured = _measured(sides, every, members)
    caption = (
        "Means over pairs with 95 % intervals; held out unless said otherwise. Pairs are of "
        f"members within {settings.likelihood_gap:g} nats of the best; one stuck: one further off."
    )
    shown = {name: sides[name] for name in ("f", "g")}
    return Outcome(
        measured=measured,
        says=_says(measured, members, settings),
        tables=(
            sweep_table("Agreement along the training", "iteration", sides, caption),
            _accuracy_table(members, settings),
        ),
        panels=(
            sweep_panel("Figure 2b: mean CCA", "iteration", shown, chance="chance"),
            _relation_panel(members),
            sweep_panel(
                "Affine error", "iteration", shown, name="affine error", chance="error by chance"
            ),
            loss_panel("Training loss", {"members": trained}, "the infimum", 0.0),
        ),
        device=device_title(work.device),
    )


def _compared(members: Members, work: Work) -> dict[str, Sequence[Point]]:
    """Return the points of f and g of pairs of equal likelihood, and of f of other pairs."""
    trained, pairs, stuck = members.trained, members.solved_pairs(), members.stuck_pairs()
    chosen = {"f": (trained.f, pairs), "g": (trained.g, pairs)}
    if stuck:
        chosen["f, one stuck"] = (trained.f, stuck)
    sides: dict[str, Sequence[Point]] = {}
    with work.progress.task("comparing pairs", len(chosen) * len(trained.looks)) as advance:
        for name, (outputs, own) in chosen.items():
            points = []
            for look, rows in zip(trained.looks, outputs, strict=True):
                points.append(Point(x=look, pairs=compared_pairs(rows[own], seed=work.seed)))
                advance(1)
            sides[name] = points
    return sides


def _trained(settings: Settings, work: Work, held: Points) -> TrainedMembers:
    shown = draw_points(settings.n_rows, settings.n_classes, seed=work.seed, purpose="training")
    seeds = random_stream(work.seed, "members").integers(2**31, size=settings.n_members).tolist()
    return train_members(
        SoftmaxModel(
            f=Network(widths=(2, *settings.hidden, settings.n_outputs)),
            g=settings.n_classes,
            first_vectors=settings.first_vectors,
        ),
        LabelledRows(
            shown.rows,
            shown.labels,
            seeds=seeds,
            batch_rows=settings.batch_rows,
            device=work.device,
        ),
        (held.rows, None),
        seeds=seeds,
        steps=Steps(
            n_steps=settings.looks[-1],
            learning_rate=settings.learning_rate,
            looks=tuple(settings.looks),
        ),
        device=work.device,
        checkpoint=work.folder / "members.safetensors",
        resume=work.resume,
        progress=work.progress,
    )


def accuracies(trained: TrainedMembers, labels: NDArray[Any]) -> Float:
    """Return the share of held-out rows whose label has the highest score, looks × members."""
    found = [
        (f @ g.transpose(0, 2, 1)).argmax(axis=2) == labels
        for f, g in zip(trained.f, trained.g, strict=True)
    ]
    shares: Float = np.array(found).mean(axis=2)
    return shares


def held_out_losses(trained: TrainedMembers, labels: NDArray[Any]) -> Float:
    """Return the mean cross-entropies of held-out rows, looks × members."""
    found = []
    for f, g in zip(trained.f, trained.g, strict=True):
        scores = f.astype(np.float64) @ g.astype(np.float64).transpose(0, 2, 1)
        own = scores[:, np.arange(len(labels)), labels]
        found.append((logsumexp(scores, axis=2) - own).mean(axis=1))
    losses: Float = np.array(found)
    return losses


def _measured(
    sides: dict[str, Sequence[Point]], every: Point, members: Members
) -> dict[str, Estimate]:
    f, g = sides["f"], sides["g"]
    last = f[-1]
    means = [point.mean("mean CCA").value for point in f]
    near = next(k for k, value in enumerate(means) if value >= means[-1] - _NEAR)
    solved = members.right[-1][members.solved_pairs()]
    diverse = [head_diversity(head).holds for head in members.trained.g[-1]]
    measured = {
        "accuracy": over_pairs(solved, low=0.0, high=1.0),
        "stuck": Estimate(value=len(members.stuck) / len(members.right[-1])),
        "mean CCA of f": last.mean("mean CCA"),
        "R² of f": last.mean("R²"),
        "mean CCA of f, all pairs": every.mean("mean CCA"),
        "gain of f": gain(f[0], last),
        "order of f": order(f),
        "iterations of f": Estimate(value=f[near].x),
        "last over highest": Estimate(value=means[-1] / max(means)),
        "error of f over chance": over_pairs(
            last.values("affine error") / last.values("error by chance"), low=0.0
        ),
        "mean CCA of g": g[-1].mean("mean CCA"),
        "diversity": Estimate(value=float(np.mean(diverse))),
    }
    if "f, one stuck" in sides:
        measured["R² of f, one stuck"] = sides["f, one stuck"][-1].mean("R²")
    return measured


def _says(measured: dict[str, Estimate], members: Members, settings: Settings) -> str:
    return (
        f"{len(members.solved)} of {settings.n_members} classifiers of {settings.n_classes} "
        f"sectors have one likelihood; after {settings.looks[-1]} iterations f of one predicts f "
        f"of another of them with R² {measured['R² of f']:.3f}, and mean CCA is "
        f"{measured['mean CCA of f']:.3f}, {measured['gain of f']:+.3f} against untrained ones"
    )


def _accuracy_table(members: Members, settings: Settings) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, chosen in (("of equal likelihood", members.solved), ("stuck", members.stuck)):
        for look, right, losses in zip(
            members.trained.looks, members.right, members.losses, strict=True
        ):
            if chosen:
                rows.append(
                    (
                        name,
                        f"{look:g}",
                        over_pairs(right[chosen], low=0.0, high=1.0),
                        over_pairs(losses[chosen], low=0.0),
                    )
                )
    return Table(
        title="Accuracy and cross-entropy of held-out points",
        columns=(
            Column(name="members"),
            Column(name="iteration"),
            Column(name="accuracy", spec=".3f"),
            Column(name="cross-entropy", spec=".3f"),
        ),
        rows=tuple(rows),
        caption=f"Means over {len(members.solved)} and {len(members.stuck)} members. The best "
        f"classifier has accuracy 1, chance {1 / settings.n_classes:.3f}.",
    )


def _relation_panel(members: Members) -> Panel:
    """Plot the first coordinate of f against its prediction from the other member of a pair."""
    pair = members.trained.f[-1][members.solved_pairs()[:2]]
    first, second = np.asarray(pair, dtype=np.float64)
    n_fitted = len(first) // 2
    design = np.hstack([first, np.ones((len(first), 1))])
    weights = np.linalg.lstsq(design[:n_fitted], second[:n_fitted], rcond=None)[0]
    some = slice(n_fitted, n_fitted + _SHOWN_ROWS)
    predicted, seen = design[some] @ weights[:, 0], second[some, 0]
    ends = (float(seen.min()), float(seen.max()))
    return Panel(
        title="Figure 2c: one pair after the best affine map",
        x="first coordinate of the second f",
        y="predicted from the first f",
        marks=(
            Marks(name="held-out points", x=tuple(seen.tolist()), y=tuple(predicted.tolist())),
            Marks(name="equal", x=ends, y=ends, kind="line"),
        ),
        caption="The map is fitted to other held-out points.",
    )
