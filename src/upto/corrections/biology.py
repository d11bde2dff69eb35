"""Removal of independent components that carry batch effects and no label information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, column_or_1d

from upto.batch_metrics.effects import LIMIT, batch_and_label_shares
from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.corrections.base import TYPES, mapped
from upto.corrections.batch_groups import batch_names
from upto.corrections.cost_of_dropping import draw_batches, dropping_cost
from upto.files.estimator_rows import validated
from upto.files.vectors import as_values
from upto.ica import ICA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.batch_metrics.effects import ComponentEffect
    from upto.corrections.cost_of_dropping import DroppingCost

Space = Literal["original", "components"]
SPACES = ("original", "components")
SHIFT = 0.2
"""Maximum shift of a dropped component by a label, in standard deviations within batches.

It is an inexpensive screen; components that pass are then tested on held-out batches
(`upto.corrections.cost_of_dropping`).
A label that all components together predict with an AUROC of Φ(1/√2) = 0.76 loses less than 0.005
without a component that it shifts this far: Φ(1/√2) - Φ(√((1 - 0.2²)/2)). `checks/kept_biology.py`
reports the loss for larger limits.
"""
_OF_BATCHES = 0.5
"""Maximum as a fraction of the batch shift: components with small batch effects are kept."""


class NothingKeptError(InputError):
    """Raised if every component carries batches and none is found to carry a label."""


class BiologyComponents(TransformerMixin, BaseEstimator):
    r"""Remove independent components that carry batch effects and no label information.

    Components are estimated on training rows and tested there by
    `upto.batch_metrics.effects.batch_and_label_shares`. A non-significant label effect is not
    enough to drop a component: an upper limit, label by label and over batches, must show that no
    label shifts it far; then, with whole training batches held out in turn, boosted trees and
    logistic regression must predict labels as well without the dropped components: the lower 95 %
    limit of the mean change of AUROC is above -0.005 for both. If this cannot be shown, or LightGBM
    is not installed, nothing is dropped, and rows stay unchanged. The fitted correction is a fixed
    linear map: rows of unseen batches need neither batch nor label nor control.

    Parameters
    ----------
    unmixer
        The `upto.ICA` that estimates the components; by default one with its defaults and seed 0.
    space
        ``original``: rows without the dropped components, in the same columns and units;
        ``components``: the kept components.
    limit
        Share of variance above which a component carries a batch or a label.
    shift
        Maximum shift of a dropped component by any label, in standard deviations within batches:
        the upper 95 % limit of every label is below it, and below half the standard deviation of
        batches.

    Attributes
    ----------
    ica_ : ICA
        The fitted components.
    effects_ : tuple of ComponentEffect
        Variance of each component explained by batches and labels; empty without batches.
    kept_, dropped_ : ndarray of int
        Indices of the kept and the dropped components.
    cost_ : DroppingCost or None
        Cost of dropping on held-out batches; None if there were no candidates.

    See Also
    --------
    upto.questions.batches.remove_batch.keep_biology : The same from file to file.
    upto.batch_metrics.effects.batch_and_label_shares : The test of each component.
    upto.corrections.cost_of_dropping.DroppingCost : The measured cost.
    upto.ICA : The components.

    Notes
    -----
    With components s = B(x - m), mixing matrix A, and the set D of dropped components,

    .. math::

        x' = x - \sum_{k \in D} a_k \, b_k^\top (x - m)

    so that directions outside all components are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import BiologyComponents
    >>> rng = np.random.default_rng(0)
    >>> plate, gene = np.repeat(np.arange(8), 300), np.tile(np.arange(2), 1200)
    >>> sources = rng.laplace(size=(2400, 2)) / 2
    >>> sources[:, 0] += rng.choice([-2.0, 2.0], size=8)[plate]
    >>> sources[:, 1] += 3.0 * gene
    >>> rows = sources @ rng.normal(size=(2, 4))
    >>> correction = BiologyComponents().fit(rows, gene, groups=plate)
    >>> sorted(effect.carries for effect in correction.effects_), len(correction.dropped_)
    (['batch', 'label'], 1)
    """

    # Pipelines route what is requested here; transforming new rows needs neither.
    __metadata_request__fit = {"groups": True, "controls": True}  # noqa: RUF012
    __metadata_request__transform = {"groups": False, "controls": False}  # noqa: RUF012

    def __init__(
        self,
        *,
        unmixer: ICA | None = None,
        space: Space = "original",
        limit: float = LIMIT,
        shift: float = SHIFT,
    ) -> None:
        self.unmixer = unmixer
        self.space = space
        self.limit = limit
        self.shift = shift

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None) -> Self:
        """Estimate the components of training rows and choose those to keep.

        Parameters
        ----------
        X
            Rows of training batches: anything `upto.as_embeddings` takes, loaded into memory.
        y
            Label of each row, e.g. perturbation; without labels nothing can be shown to be free of
            them, and nothing is dropped. Rows with a missing label form an additional label.
        groups
            Batch of each row; without batches nothing is dropped.
        controls
            Mask of control rows; if given, batch effects are tested on them.
        """
        if self.space not in SPACES:
            message = f"there is no space {self.space!r}: choose one of {', '.join(SPACES)}."
            raise InputError(message)
        rows = validated(self, X, dtype=TYPES, ensure_min_samples=2)
        batches = None if groups is None else batch_names(len(rows), groups)
        ica = ICA(random_state=0) if self.unmixer is None else clone(self.unmixer)
        self.ica_ = ica.fit(rows)
        self.effects_: tuple[ComponentEffect, ...] = ()
        self.kept_ = np.arange(len(self.ica_.components_))
        self.dropped_, self.cost_ = self.kept_[:0], None
        if batches is not None:
            labels = as_names(np.zeros(len(rows)) if y is None else column_or_1d(as_values(y, "y")))
            controls = None if controls is None else as_values(controls, "controls")
            self.effects_ = batch_and_label_shares(
                self.ica_.transform(rows), batches, labels, controls=controls, limit=self.limit
            )
            self.kept_, self.dropped_, self.cost_ = choose_components(
                self.ica_,
                self.effects_,
                lambda drawn: rows[drawn],
                labels=labels,
                batches=batches,
                controls=None if controls is None else np.asarray(controls, dtype=np.bool_),
                shift=self.shift,
            )
        return self

    def transform(self, X: Any, *, groups: Any = None, controls: Any = None) -> Any:
        """Return rows without the dropped components, or the kept components.

        Parameters
        ----------
        X
            Rows of any batches.
        groups, controls
            Ignored: new rows need neither.
        """
        check_is_fitted(self)
        rows = validated(self, X, dtype=TYPES, reset=False)
        mean, matrix, offset = keeping_map(self.ica_, self.kept_, self.dropped_, self.space)
        return mapped(rows, mean, matrix, offset)

    def fit_transform(
        self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None
    ) -> Any:
        """Choose the components to keep and apply them to the same rows.

        Parameters
        ----------
        X, y, groups, controls
            See `fit`.
        """
        return self.fit(X, y, groups=groups, controls=controls).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the column names of the rows, or numbered names of the kept components."""
        check_is_fitted(self)
        names: NDArray[Any] = _check_feature_names_in(self, input_features)
        if self.space == "components":
            names = np.array([f"ica{number}" for number in self.kept_], dtype=object)
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def choose_components(
    ica: ICA,
    effects: Sequence[ComponentEffect],
    take: Callable[[NDArray[np.bool_]], NDArray[Any]],
    *,
    labels: NDArray[np.str_],
    batches: NDArray[np.str_],
    controls: NDArray[np.bool_] | None,
    shift: float = SHIFT,
) -> tuple[NDArray[np.intp], NDArray[np.intp], DroppingCost | None]:
    """Return the indices of components to keep and to drop, and the cost of dropping.

    Parameters
    ----------
    ica
        Fitted components; an integer seed of the ICA also seeds the held-out batches.
    effects
        Effects of batches and labels on them.
    take
        Function that loads the rows of a mask into memory.
    labels, batches
        Label and batch of each row.
    controls
        Mask of control rows, if labels are predicted against controls.
    shift
        Maximum shift of a dropped component by a label.

    Raises
    ------
    NothingKeptError
        If no component would be kept.
    """
    everything = np.arange(len(ica.components_))
    dropped = np.array([each.component for each in effects if _seems_free(each, shift)], np.intp)
    kept = np.setdiff1d(everything, dropped)
    if not len(kept):
        message = (
            f"all {len(everything)} components carry batches and no label is found in them, so "
            "none would be left: correct batch offsets first, e.g. with BatchScaler, or raise the "
            "limit."
        )
        raise NothingKeptError(message)
    if not len(dropped):
        return kept, dropped, None
    seed = ica.random_state if isinstance(ica.random_state, int) else 0
    drawn = draw_batches(batches, seed)
    rows = take(drawn)
    cost = dropping_cost(
        rows,
        mapped(rows, *keeping_map(ica, kept, dropped, "original")),
        len(dropped),
        labels=labels[drawn],
        batches=batches[drawn],
        controls=None if controls is None else controls[drawn],
        seed=seed,
    )
    if not cost.is_small:
        return everything, dropped[:0], cost
    return kept, dropped, cost


def _seems_free(effect: ComponentEffect, shift: float) -> bool:
    """Return whether batches shift a component and label shifts are bounded."""
    share, most = effect.batch_share, effect.label_shift
    if effect.carries != "batch" or share is None or most is None:
        return False
    of_batches = np.sqrt(share / (1 - share)) if share < 1 else np.inf
    return bool(most < min(shift, _OF_BATCHES * of_batches))


def keeping_map(
    ica: ICA, kept: NDArray[np.intp], dropped: NDArray[np.intp], space: Space
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean to subtract, the matrix to multiply by, and the offset to add.

    Parameters
    ----------
    ica
        The fitted components.
    kept, dropped
        Indices of the components.
    space
        Space that rows are mapped to.
    """
    if space == "components":
        matrix = np.ascontiguousarray(ica.components_[kept].T)
        return ica.mean_, matrix, np.zeros(len(kept))
    if not len(dropped):
        # Rows unchanged, bit for bit.
        nothing = np.zeros_like(ica.mean_)
        return nothing, np.eye(len(nothing)), nothing
    # Subtracting dropped components, rather than summing kept ones, keeps what no component has.
    taken = ica.components_[dropped].T @ ica.mixing_[:, dropped].T
    return ica.mean_, np.eye(len(ica.mean_)) - taken, ica.mean_
