"""Catalogue of conditions: named transforms of the rows, fitted to training batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from upto.core import InputError
from upto.core.catalogue import Catalogue
from upto.core.errors import ArgumentError
from upto.core.references import ICA
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
"""Separator between conditions that are applied in sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Options shared by the steps of conditions."""

    n_components: int | float | None
    engine: Engine | str | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionKind:
    """One transform: its name, its steps, and what it needs from a new batch.

    `uses_labels` marks transforms fitted to labels, and `is_transductive` those that can only
    transform the rows they were fitted to. `own_rows` and `own_controls` are the fewest rows and
    controls that correct a batch, and `training_batches` the fewest training batches. `source` is
    its publication, if any.
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
    source: str = ""


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
            says="The unmodified embedding.",
            needs="nothing",
            steps=lambda _: [],
        ),
        ConditionKind(
            name="pca",
            title="PCA",
            says="Whitened by PCA.",
            needs="nothing",
            steps=lambda making: [_whitener(making)],
        ),
        ConditionKind(
            name="ica",
            source=ICA,
            title="PCA + ICA",
            says="Whitened, then rotated to independent components.",
            needs="nothing",
            steps=lambda making: [_ica(making)],
        ),
        ConditionKind(
            name="random",
            title="PCA + Rand",
            says="Whitened, then rotated at random: the control for PCA + ICA.",
            needs="nothing",
            steps=lambda making: [
                _whitener(making),
                _correction("RandomRotation", random_state=making.seed),
            ],
        ),
        ConditionKind(
            name="batch-scaled",
            title="Batch scaled",
            says="Each batch centred and scaled by its own rows.",
            needs="batch",
            steps=lambda _: [_correction("BatchScaler", reference="all")],
            own_rows=2,
        ),
        ConditionKind(
            name="control-scaled",
            title="Control scaled",
            says="Each batch centred and scaled by its own controls.",
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
            source="Ando et al. 2017",
            title="TVN",
            says="Typical variation normalization: whitened on controls, then the controls of each "
            "batch aligned to the same mean and covariance.",
            needs="controls",
            steps=lambda _: [_correction("TypicalVariation")],
            own_controls=2,
        ),
        ConditionKind(
            name="combat",
            source="Johnson et al. 2007",
            title="ComBat",
            says="Batch offsets and scales, shrunk towards values common to all batches.",
            needs="batch",
            steps=lambda _: [_correction("ComBat")],
            own_rows=2,
            training_batches=2,
        ),
        ConditionKind(
            name="harmony",
            source="Korsunsky et al. 2019",
            title="Harmony",
            says="Clusters of rows aligned across batches, by scanpy; fitted to all rows because "
            "it cannot transform new ones.",
            needs="batch",
            steps=lambda making: [_whitener(making), _correction("Harmony")],
            is_transductive=True,
        ),
        ConditionKind(
            name="biology",
            title="ICA, biology kept",
            says="Independent components that carry batch removed, if held-out batches show that "
            "no label needs them; otherwise unmodified.",
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
    """Return conditions by name, the unmodified embedding first.

    A plus applies conditions in sequence, e.g. ``"control-scaled+ica"``.

    Raises
    ------
    InputError
        If a condition does not exist, or needs a package that is not installed, or controls and
        none are named.
    """

    def read(name: str) -> Iterable[ConditionKind]:
        if name != "all":
            return (_find(name, has_controls),)
        return (kind for kind in CONDITIONS.values() if has_controls or kind.needs != "controls")

    if names is None:
        names = WITH_CONTROLS if has_controls else DEFAULT
    found = CONDITIONS.choose(["base", *CONDITIONS.asked(names)], read)
    if any("harmony" in kind.name.split(THEN) for kind in found):
        from upto.corrections.harmony import harmony_package

        harmony_package()
    return found


def _find(name: str, has_controls: bool) -> ConditionKind:  # noqa: FBT001 - private
    kinds = [CONDITIONS.find(part.strip()) for part in name.split(THEN)]
    if not has_controls:
        needing = [kind.name for kind in kinds if kind.needs == "controls"]
        if needing:
            message = (
                f"the condition {needing[0]} needs controls, but none are named: set the label of "
                "the controls, e.g. control='DMSO'."
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
    """Check that every condition can be fitted, before the first one is.

    Parameters
    ----------
    kinds
        The conditions.
    screen
        Batches, labels and controls of the rows.
    training_batches
        Number of training batches in each fold.

    Raises
    ------
    InputError
        If a batch has too few rows or controls, or there are too few batches to train on.
    """
    n_rows = np.bincount(screen.batch)
    n_controls = np.zeros_like(n_rows)
    if screen.controls is not None:
        n_controls = np.bincount(screen.batch[screen.controls], minlength=len(n_rows))
    fewest = min(training_batches)
    for kind in kinds:
        # Every other control corrects, and the others are tested.
        _refuse_few(kind, "controls", n_controls, 2 * kind.own_controls - 1, screen)
        _refuse_few(kind, "rows", n_rows, kind.own_rows, screen)
        if fewest < kind.training_batches and not kind.is_transductive:
            message = (
                f"a fold has {fewest} training batch, but {kind.name} needs at least "
                f"{kind.training_batches}: add batches, or omit that condition."
            )
            raise InputError(message)


def _refuse_few(kind: ConditionKind, what: str, counts: Counts, least: int, screen: Screen) -> None:
    few = [name for name, n in zip(screen.batches, counts.tolist(), strict=True) if n < least]
    if not few:
        return
    why = (
        f"{kind.name} corrects each batch by at least {kind.own_controls} of them and the others "
        "are tested"
        if what == "controls"
        else f"{kind.name} corrects each batch by its own"
    )
    message = (
        f"{len(few)} of {len(counts)} batches have fewer than {least} {what} ({listed(few)}), but "
        f"{why}: drop those batches, or choose other conditions, e.g. pca and ica."
    )
    raise InputError(message)


class Fitted:
    """The steps of a condition, fitted to rows."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    @property
    def converged(self) -> bool | None:
        """Whether every iterative fit converged; None if there was none."""
        searched = [getattr(step, "ica_", step) for step in self.steps]
        known = [step.converged_ for step in searched if hasattr(step, "converged_")]
        return all(known) if known else None

    @property
    def n_dropped(self) -> int | None:
        """Number of dropped components; None if no step drops any."""
        known = [len(step.dropped_) for step in self.steps if hasattr(step, "dropped_")]
        return sum(known) if known else None

    @property
    def costs(self) -> list[DroppingCost]:
        """Costs of dropping components, for steps that considered it."""
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
    screen: Screen,
    part: Mask | slice = slice(None),
) -> tuple[Fitted, Rows]:
    """Fit the steps of a condition to a part of the rows; return them and that part transformed."""
    steps, rows, groups = kind.steps(making), rows[part], screen.batch_names[part]
    controls = None if screen.references is None else screen.references[part]
    with warnings.catch_warnings():
        # Convergence is part of the result.
        warnings.filterwarnings("ignore", message="ICA stopped", category=ConvergenceWarning)
        for step in steps:
            given = _routed(step, "fit", groups, controls)
            rows = step.fit_transform(rows, screen.labels[part], **given)
    return Fitted(steps), rows


def _routed(step: Any, method: str, groups: Names, controls: Mask | None) -> dict[str, Any]:
    """Return the metadata that a step consumes: batches, controls or both."""
    given: dict[str, Any] = {"groups": groups}
    if controls is not None:
        given["controls"] = controls
    asked = step.get_metadata_routing().consumes(method, given)
    return {name: value for name, value in given.items() if name in asked}
