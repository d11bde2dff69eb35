"""Variance of each component explained by batches and by labels, and which of them it carries.

A batch effect is tested on controls where these are known, because perturbations cannot make them
differ. Without controls it is the variance that batches explain beyond labels, by least squares.

A label effect counts only as far as it replicates on other batches. Wells of one batch share more
than their label, so differences between wells do not measure chance; differences between the same
label on several batches do. Means of label × batch cells are compared with the mean of their batch,
and each label's mean over batches with its variation between batches. On balanced tables this is
the F-test of labels against the label × batch interaction.

A component carries both only if it has a label effect of its own: the part shared with components
that carry only labels is kept there anyway, and does not justify keeping a batch effect.

Components are not rank-transformed: an effect on few wells is a large share of a component with few
large values, and would vanish among ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.batch_metrics.batch_tests import EffectTest, batch_test, control_test, untold
from upto.batch_metrics.crossings import Crossing, add_rows
from upto.batch_metrics.shifts import largest_shifts
from upto.core import InputError
from upto.core.array_types import Float
from upto.measures.residual_components import UprightRows
from upto.measures.tails import q_values, upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Rows


Carries = Literal["batch", "label", "both", "neither"]

LIMIT = 0.01
"""Shares below this are negligible, even if significant."""
LEVEL = 0.05
"""False discovery rate over components."""
_BLOCK_BYTES = 2**25


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentEffect:
    """Variance of one component explained by batches and by labels.

    Parameters
    ----------
    component
        Index of the component.
    batch_share
        Share of variance that batches explain, among controls or beyond labels, corrected for
        chance: 0 in expectation without an effect, so sometimes slightly negative. None if it
        cannot be estimated.
    batch_p, batch_q
        Its p-value, and the p-value corrected for the number of components (Benjamini-Hochberg).
    label_share
        Share of the variance within batches that labels explain consistently across batches.
    label_p, label_q
        p-value and corrected p-value of labels, against their variation between batches.
    label_shift
        Upper limit on how far any label shifts the component from the other rows of its batch, in
        standard deviations within batches: the largest upper 95 % limit over labels. For a
        component that carries only batches, it refers to the part that the components without
        batches do not predict. None if unknown.
    carries
        Effects that are significant and above the limit.
    says
        Reason why a share is missing; empty if none is.

    See Also
    --------
    batch_and_label_shares : Returns one for each component.
    upto.corrections.BiologyComponents : Has them as ``effects_``.
    """

    component: int
    batch_share: float | None
    batch_p: float | None
    batch_q: float | None
    label_share: float | None
    label_p: float | None
    label_q: float | None
    label_shift: float | None
    carries: Carries
    says: str = ""


def batch_and_label_shares(
    components: Rows,
    batches: Any,
    labels: Any,
    *,
    controls: Any = None,
    limit: float = LIMIT,
    level: float = LEVEL,
) -> tuple[ComponentEffect, ...]:
    r"""Return the variance of each component that batches and labels explain.

    Parameters
    ----------
    components
        Array of shape (n_samples, n_components), or any source of row blocks.
    batches, labels
        Batch and label of each row; rows with an empty label form a group of their own.
    controls
        Mask of control rows; if given, batch effects are tested on them.
    limit
        Shares below this do not count as carried.
    level
        False discovery rate over the components.

    Returns
    -------
    tuple of ComponentEffect
        One for each component, in order.

    Raises
    ------
    InputError
        If batches, labels or controls are not one value per row, or a component is not finite.

    See Also
    --------
    upto.corrections.BiologyComponents : Drops components by these effects.
    upto.batches : Reports them for PCA and ICA components.

    Notes
    -----
    Let :math:`a_l` be the mean over batches of label l's deviation from the mean of its batch,
    :math:`v_l` the variance of this deviation between its :math:`m_l` batches, :math:`w_l` its
    fraction of the rows, and :math:`s^2` the variance within batches that remains. The label share
    is

    .. math::

        \frac{E}{E + s^2}, \qquad E = \sum_l w_l \left( a_l^2 - \frac{v_l}{m_l} \right)

    so that differences that do not repeat on other batches count as chance.

    References
    ----------
    Benjamini and Hochberg (1995). Controlling the false discovery rate: a practical and powerful
    approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.effects import batch_and_label_shares
    >>> rng = np.random.default_rng(0)
    >>> plate, gene = np.repeat(np.arange(8), 20), np.tile(np.arange(4), 40)
    >>> rows = rng.normal(size=(160, 3)) + np.stack([plate, 2 * gene, 0 * gene], axis=1)
    >>> [effect.carries for effect in batch_and_label_shares(rows, plate, gene)]
    ['batch', 'label', 'neither']
    """
    n_rows = int(components.shape[0])
    crossing = Crossing.of(
        _one_a_row("batches", batches, n_rows), _one_a_row("labels", labels, n_rows)
    )
    chosen = None
    if controls is not None:
        chosen = _one_a_row("controls", controls, n_rows).astype(bool)
    kept = crossing.kept_cells()
    sums = _summed(components, crossing, kept, chosen)
    constant = sums.everything <= 0
    by_label = _label_tests(sums.cells, sums.kept_squares, crossing, kept)
    by_batch = (
        batch_test(sums.cells, sums.everything, crossing)
        if chosen is None
        else control_test(sums.controls, sums.control_powers, crossing.batch[chosen])
    )
    shifts = largest_shifts(sums.cells, sums.everything, crossing, _is_named(labels))
    found = _effects(by_batch, by_label, shifts, constant, limit=limit, level=level)
    found = _upright(found, components, crossing, kept, limit=limit, level=level)
    return _own_shifts(found, components, crossing, kept, _is_named(labels))


def _upright(
    found: tuple[ComponentEffect, ...],
    components: Rows,
    crossing: Crossing,
    kept: NDArray[np.bool_],
    *,
    limit: float,
    level: float,
) -> tuple[ComponentEffect, ...]:
    """Discount label effects that components of both share with components of labels only."""
    both = [effect.component for effect in found if effect.carries == "both"]
    label = [effect.component for effect in found if effect.carries == "label"]
    if not both or not label:
        return found
    sums = _summed(UprightRows(components, both, label, crossing.cell), crossing, kept, None)
    test = _label_tests(sums.cells, sums.kept_squares, crossing, kept)
    own = (q_values(test.p) <= level) & (test.share >= limit)
    says = "its label effect is shared with components that carry labels only."
    leaning = {number for number, is_own in zip(both, own, strict=True) if not is_own}
    return tuple(
        replace(effect, carries="batch", says=says) if effect.component in leaning else effect
        for effect in found
    )


def _own_shifts(
    found: tuple[ComponentEffect, ...],
    components: Rows,
    crossing: Crossing,
    kept: NDArray[np.bool_],
    is_named: NDArray[np.bool_],
) -> tuple[ComponentEffect, ...]:
    """Bound label shifts of batch components after regressing out the other components."""
    batch = [each.component for each in found if each.carries == "batch" and each.label_shift]
    others = [effect.component for effect in found if effect.carries != "batch"]
    if not batch or not others:
        return found
    sums = _summed(UprightRows(components, batch, others, crossing.cell), crossing, kept, None)
    limits, _ = largest_shifts(sums.cells, sums.everything, crossing, is_named)
    own = dict(zip(batch, limits, strict=True))
    return tuple(
        replace(effect, label_shift=_known(own[effect.component]))
        if effect.component in own
        else effect
        for effect in found
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Row sums of each cell and of the controls of each batch, and sums of powers.

    `control_powers` are sums of the second, third and fourth powers.
    """

    cells: Float
    controls: Float
    everything: Float
    kept_squares: Float
    control_powers: Float


def _summed(
    components: Rows, crossing: Crossing, kept: NDArray[np.bool_], chosen: NDArray[np.bool_] | None
) -> _Sums:
    """Sum in one pass over the rows, centred first to preserve the precision of squares."""
    n_rows, width = int(components.shape[0]), int(components.shape[1])
    cells = np.zeros((crossing.n_cells, width))
    of_batches = np.zeros((crossing.n_batches if chosen is not None else 0, width))
    squares, powers = np.zeros((2, width)), np.zeros((3, width))
    size = max(1, _BLOCK_BYTES // (8 * width))
    centre: Float | None = None
    for start in range(0, n_rows, size):
        part = slice(start, min(start + size, n_rows))
        block = np.array(components[part], dtype=np.float64)
        if not np.isfinite(block).all():
            message = (
                f"rows {part.start} to {part.stop} have components that are NaN or infinite: "
                "remove those rows, or impute them."
            )
            raise InputError(message)
        if centre is None:
            centre = block.mean(axis=0)
        block -= centre
        add_rows(cells, crossing.cell[part], block)
        power = block**2
        squares[0] += power.sum(axis=0)
        squares[1] += power[kept[crossing.cell[part]]].sum(axis=0)
        if chosen is not None:
            here = chosen[part]
            add_rows(of_batches, crossing.batch[part][here], block[here])
            powers[0] += power[here].sum(axis=0)
            powers[1] += (power[here] * block[here]).sum(axis=0)
            powers[2] += (power[here] ** 2).sum(axis=0)
    total = squares[0] - cells.sum(axis=0) ** 2 / n_rows
    # Rounding error of a constant is not variance.
    total[total <= 1e-12 * squares[0] + 1e-290] = 0.0
    return _Sums(
        cells=cells,
        controls=of_batches,
        everything=total,
        kept_squares=squares[1],
        control_powers=powers,
    )


def _label_tests(
    sums: Float, squares: Float, everything: Crossing, kept: NDArray[np.bool_]
) -> EffectTest:
    """Test label means over batches against their variation between batches."""
    crossing = everything.part(kept)
    if crossing.n_cells == 0:
        reason = (
            "no two labels occur together on two batches, so label effects cannot be replicated "
            "across batches: place the same labels on several batches"
        )
        return untold(sums.shape[1], reason)
    share, ratio = np.empty(sums.shape[1]), np.empty(sums.shape[1])
    # A few components at a time: with small cells, tables of cells are as large as the rows.
    size = max(1, _BLOCK_BYTES // (16 * crossing.n_cells))
    for start in range(0, sums.shape[1], size):
        some = slice(start, start + size)
        share[some], ratio[some] = _label_share(sums[:, some][kept], squares[some], crossing)
    return EffectTest(share=share, p=upper_tail(ratio, *crossing.degrees_of_freedom()))


def _label_share(sums: Float, squares: Float, crossing: Crossing) -> tuple[Float, Float]:
    """Return the label share and its F ratio."""
    means = sums / crossing.count[:, None]
    m = crossing.over_labels(np.ones(crossing.n_cells))[:, None]
    mean, variance = crossing.label_moments(means - crossing.batch_means(means))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (m * mean**2).sum(axis=0) / variance.sum(axis=0)
    # Shares refer to rows, so batch means are weighted by rows here.
    of_batch = crossing.over_batches(sums)
    n_of_batch = crossing.over_batches(crossing.count)[:, None]
    mean, variance = crossing.label_moments(means - (of_batch / n_of_batch)[crossing.cell_batch])
    n_rows = crossing.count.sum()
    weight = crossing.over_labels(crossing.count)[:, None] / n_rows
    explained = (weight * (mean**2 - variance / m)).sum(axis=0)
    within = squares - (of_batch**2 / n_of_batch).sum(axis=0)
    rest = np.maximum((within - n_rows * explained) / (n_rows - crossing.n_batches), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return explained / (explained + rest), ratio


def _effects(
    by_batch: EffectTest,
    by_label: EffectTest,
    shifts: tuple[Float, str],
    constant: NDArray[np.bool_],
    *,
    limit: float,
    level: float,
) -> tuple[ComponentEffect, ...]:
    tests = []
    for test in (by_batch, by_label):
        lost = constant | np.isnan(test.share) | np.isnan(test.p)
        share, p = (np.where(lost, np.nan, values) for values in (test.share, test.p))
        q = q_values(p)
        with np.errstate(invalid="ignore"):
            tests.append((share, p, q, (q <= level) & (share >= limit)))
    (shares, ps, qs, carried), (label_shares, label_ps, label_qs, label_carried) = tests
    names: dict[tuple[bool, bool], Carries] = {
        (True, True): "both",
        (True, False): "batch",
        (False, True): "label",
        (False, False): "neither",
    }
    limits = np.where(constant | ~np.isfinite(shifts[0]), np.nan, shifts[0])
    reasons = " ".join(each for each in (by_batch.says, by_label.says, shifts[1]) if each)
    return tuple(
        ComponentEffect(
            component=number,
            batch_share=_known(shares[number]),
            batch_p=_known(ps[number]),
            batch_q=_known(qs[number]),
            label_share=_known(label_shares[number]),
            label_p=_known(label_ps[number]),
            label_q=_known(label_qs[number]),
            label_shift=_known(limits[number]),
            carries=names[bool(carried[number]), bool(label_carried[number])],
            says="the component is constant." if constant[number] else reasons,
        )
        for number in range(len(constant))
    )


def _is_named(labels: Any) -> NDArray[np.bool_]:
    """Mark the non-empty labels, in sorted order."""
    return np.array([name != "" for name in np.unique(np.asarray(labels)).tolist()])


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _one_a_row(what: str, values: Any, n_rows: int) -> NDArray[Any]:
    found = np.asarray(values)
    if found.shape != (n_rows,):
        message = (
            f"{what} have the shape {found.shape} but there are {n_rows} rows: give one value per "
            "row."
        )
        raise InputError(message)
    return found
