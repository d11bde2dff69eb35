"""Conditions: transforms of the rows by name, fitted to training batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from upto.core import InputError, MissingExtraError
from upto.core.catalogue import Catalogue
from upto.core.errors import ArgumentError
from upto.engines.base import Engine
from upto.files.request import listed

if TYPE_CHECKING:
    from upto.batch_metrics.folds import Mask, Names
    from upto.corrections.cost_of_dropping import DroppingCost
    from upto.questions.batches.screen import Screen

Counts = NDArray[np.intp]
Rows = NDArray[np.floating[Any]]
Needs = Literal["nothing", "batch", "controls"]
THEN = "+"
"""What stands between the names of conditions that follow each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What the steps of a condition are made with."""

    n_components: int | float | None
    engine: Engine | str | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionKind:
    """One transform: what it is called, what it needs of a new batch, and its steps.

    `uses_labels` says whether it is fitted to labels, and `is_transductive` whether it can only
    transform the rows it was fitted to. `own_rows` and `own_controls` are what every batch must
    have to be corrected by, and `training_batches` how many there must be to learn from.
    """

    name: str
    title: str
    says: str
    needs: Needs
    steps: Callable[[Making], list[Any]]
    uses_labels: bool = False
    is_transductive: bool = False
    own_rows: int = 0
    own_controls: int = 0
    training_batches: int = 1


def _whitener(making: Making) -> Any:
    from upto.ica import Whitener

    return Whitener(making.n_components, engine=making.engine)


def _ica(making: Making) -> Any:
    from upto.ica import ICA

    return ICA(making.n_components, engine=making.engine, random_state=making.seed)


def _correction(name: str, **settings: Any) -> Any:
    from importlib import import_module

    return getattr(import_module("upto.corrections"), name)(**settings)


CONDITIONS: Catalogue[ConditionKind] = Catalogue(
    "condition",
    (
        ConditionKind(
            name="base",
            title="Base",
            says="The embedding as given.",
            needs="nothing",
            steps=lambda _: [],
        ),
        ConditionKind(
            name="pca",
            title="PCA",
            says="Whitened by principal components.",
            needs="nothing",
            steps=lambda making: [_whitener(making)],
        ),
        ConditionKind(
            name="ica",
            title="PCA + ICA",
            says="Whitened, then turned to independent components.",
            needs="nothing",
            steps=lambda making: [_ica(making)],
        ),
        ConditionKind(
            name="random",
            title="PCA + Rand",
            says="Whitened, then turned at random: the control for PCA + ICA.",
            needs="nothing",
            steps=lambda making: [
                _whitener(making),
                _correction("RandomRotation", random_state=making.seed),
            ],
        ),
        ConditionKind(
            name="batch-scaled",
            title="Batch scaled",
            says="Every batch centred and scaled by its own rows.",
            needs="batch",
            steps=lambda _: [_correction("BatchScaler", reference="all")],
            own_rows=2,
        ),
        ConditionKind(
            name="control-scaled",
            title="Control scaled",
            says="Every batch centred and scaled by its own controls.",
            needs="controls",
            steps=lambda _: [_correction("BatchScaler", reference="controls")],
            own_controls=2,
        ),
        ConditionKind(
            name="sphered",
            title="Sphered",
            says="Whitened by the covariance of training controls.",
            needs="controls",
            steps=lambda _: [_correction("ControlSphering")],
        ),
        ConditionKind(
            name="tvn",
            title="TVN",
            says="Typical variation normalised: whitened on controls, and the controls of every "
            "batch brought to the same mean and covariance.",
            needs="controls",
            steps=lambda _: [_correction("TypicalVariation")],
            own_controls=2,
        ),
        ConditionKind(
            name="combat",
            title="ComBat",
            says="Offsets and scales of batches, shrunk to what batches have in common.",
            needs="batch",
            steps=lambda _: [_correction("ComBat")],
            own_rows=2,
            training_batches=2,
        ),
        ConditionKind(
            name="harmony",
            title="Harmony",
            says="Clusters of rows brought together over batches, by scanpy: fitted to all rows, "
            "because it cannot transform new ones.",
            needs="batch",
            steps=lambda making: [_whitener(making), _correction("Harmony")],
            is_transductive=True,
        ),
        ConditionKind(
            name="biology",
            title="ICA, biology kept",
            says="Without the independent components that batches move and labels on batches held "
            "out do not miss; as given where that is not shown.",
            needs="nothing",
            steps=lambda making: [_correction("BiologyComponents", unmixer=_ica(making))],
            uses_labels=True,
        ),
    ),
)

DEFAULT = ("base", "pca", "ica", "random", "batch-scaled", "biology")
WITH_CONTROLS = ("base", "pca", "ica", "random", "control-scaled", "tvn", "biology")


def find_conditions(
    names: str | Iterable[str] | None, *, has_controls: bool
) -> tuple[ConditionKind, ...]:
    """Return conditions by their names, the embedding as given first.

    Names with a plus between them follow each other, as ``"control-scaled+ica"``.

    Raises
    ------
    InputError
        If there is no such condition, or it needs controls and none are known.
    """

    def read(name: str) -> Iterable[ConditionKind]:
        if name != "all":
            return (_find(name, has_controls),)
        return (kind for kind in CONDITIONS.values() if has_controls or kind.needs != "controls")

    if names is None:
        names = WITH_CONTROLS if has_controls else DEFAULT
    return CONDITIONS.choose(["base", *CONDITIONS.asked(names)], read)


def _find(name: str, has_controls: bool) -> ConditionKind:  # noqa: FBT001 - private
    kinds = [CONDITIONS.find(part.strip()) for part in name.split(THEN)]
    if not has_controls:
        needing = [kind.name for kind in kinds if kind.needs == "controls"]
        if needing:
            message = (
                f"the condition {needing[0]} needs controls, and none are named: give the value of "
                "the label that they have, as control='DMSO'."
            )
            raise ArgumentError(message, control="DMSO")
    if len(kinds) == 1:
        return kinds[0]
    needs: tuple[Needs, ...] = ("controls", "batch", "nothing")
    return ConditionKind(
        name=THEN.join(kind.name for kind in kinds),
        title=", ".join(kind.title for kind in kinds),
        says=" Then: ".join(kind.says for kind in kinds),
        needs=next(need for need in needs if need in {kind.needs for kind in kinds}),
        steps=lambda making: [step for kind in kinds for step in kind.steps(making)],
        uses_labels=any(kind.uses_labels for kind in kinds),
        is_transductive=any(kind.is_transductive for kind in kinds),
        own_rows=max(kind.own_rows for kind in kinds),
        own_controls=max(kind.own_controls for kind in kinds),
        training_batches=max(kind.training_batches for kind in kinds),
    )


def check_usable(
    kinds: Iterable[ConditionKind], screen: Screen, training_batches: Sequence[int]
) -> None:
    """Refuse what a condition would refuse, before hours have gone into those before it.

    Parameters
    ----------
    kinds
        The conditions.
    screen
        What is known of the rows.
    training_batches
        How many batches each fit to training batches sees.

    Raises
    ------
    InputError
        If a batch has too few rows or controls, there are too few batches to train on, or a
        package is missing.
    """
    n_rows = np.bincount(screen.batch)
    n_controls = np.zeros_like(n_rows)
    if screen.controls is not None:
        n_controls = np.bincount(screen.batch[screen.controls], minlength=len(n_rows))
    fewest = min(training_batches)
    for kind in kinds:
        # Every other control corrects, and the others are judged.
        _refuse_few(kind, "controls", n_controls, 2 * kind.own_controls - 1, screen)
        _refuse_few(kind, "rows", n_rows, kind.own_rows, screen)
        if fewest < kind.training_batches and not kind.is_transductive:
            message = (
                f"{fewest} batch trains, and {kind.name} learns from {kind.training_batches} at "
                "least how batches differ: give more batches, or leave that condition out."
            )
            raise InputError(message)
        if "harmony" in kind.name.split(THEN) and not (
            find_spec("scanpy") or find_spec("harmonypy")
        ):
            what = "Harmony"
            raise MissingExtraError(what, package="scanpy 1.12 or harmonypy", extra="harmony")


def _refuse_few(kind: ConditionKind, what: str, counts: Counts, least: int, screen: Screen) -> None:
    few = [name for name, n in zip(screen.batches, counts.tolist(), strict=True) if n < least]
    if not few:
        return
    why = (
        f"{kind.name} corrects each by {kind.own_controls} of its own at least, and others are "
        "judged"
        if what == "controls"
        else f"{kind.name} corrects each by its own"
    )
    message = (
        f"{len(few)} of {len(counts)} batches have fewer than {least} {what} ({listed(few)}), and "
        f"{why}: leave those batches out, or choose other conditions, as pca and ica."
    )
    raise InputError(message)


class Fitted:
    """The steps of a condition, fitted to rows."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    @property
    def converged(self) -> bool | None:
        """Whether every search ended; None where nothing was searched for."""
        searched = [getattr(step, "ica_", step) for step in self.steps]
        known = [step.converged_ for step in searched if hasattr(step, "converged_")]
        return all(known) if known else None

    @property
    def n_dropped(self) -> int | None:
        """How many components were dropped; None where none could be."""
        known = [len(step.dropped_) for step in self.steps if hasattr(step, "dropped_")]
        return sum(known) if known else None

    @property
    def costs(self) -> list[DroppingCost]:
        """What dropping would cost or costs, where it came into question."""
        known = [getattr(step, "cost_", None) for step in self.steps]
        return [cost for cost in known if cost is not None]

    def transform(self, rows: Rows, *, groups: Names, controls: Mask | None) -> Rows:
        """Transform rows of any batch."""
        for step in self.steps:
            rows = step.transform(rows, **_routed(step, "transform", groups, controls))
        return rows


def fit_condition(
    kind: ConditionKind,
    making: Making,
    rows: Rows,
    *,
    labels: Names,
    groups: Names,
    controls: Mask | None,
) -> tuple[Fitted, Rows]:
    """Fit the steps of a condition one after the other; return them and the transformed rows."""
    steps = kind.steps(making)
    with warnings.catch_warnings():
        # Whether a search ended is part of the result.
        warnings.filterwarnings("ignore", message="ICA stopped", category=ConvergenceWarning)
        for step in steps:
            given = _routed(step, "fit", groups, controls)
            rows = step.fit_transform(rows, labels, **given)
    return Fitted(steps), rows


def _routed(step: Any, method: str, groups: Names, controls: Mask | None) -> dict[str, Any]:
    """Return what a step asks for, of batches and controls."""
    given: dict[str, Any] = {"groups": groups}
    if controls is not None:
        given["controls"] = controls
    asked = step.get_metadata_routing().consumes(method, given)
    return {name: value for name, value in given.items() if name in asked}
