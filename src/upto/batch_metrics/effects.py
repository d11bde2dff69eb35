"""How much of each component batches explain, how much labels, and which of them it carries.

A batch effect is judged on controls where they are known: perturbations are no reason for these to
differ. Without controls it is what batches explain beyond labels, by least squares.

A label effect counts only as far as it is found again on other batches. Wells of one batch share
more than their label, so the differences between wells are no measure of chance: the differences
between the same label on several batches are. Means of label and batch are compared with the mean
of their batch, and the mean over batches with its own variation from batch to batch, label by
label. On balanced tables this is the F-test of labels against the interaction of label and batch.

A component carries both only if it has a label effect of its own: what it shares with components
that carry labels alone is kept with these, and is no reason to keep its batches.

Components are taken as they are, not as ranks: an effect on few wells is a large share of a
component with few large values, and would vanish among ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.batch_metrics.batch_tests import EffectTest, batch_test, control_test, untold
from upto.batch_metrics.crossings import Crossing, add_rows
from upto.batch_metrics.shifts import largest_shifts
from upto.core import InputError
from upto.core.arrays import Float
from upto.measures.residual_components import UprightRows
from upto.measures.tails import q_values, upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Rows


Carries = Literal["batch", "label", "both", "neither"]

LIMIT = 0.01
"""Shares below this are too small to matter, however many rows make them significant."""
LEVEL = 0.05
"""False discovery rate over the components."""
_BLOCK_BYTES = 2**25


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentEffect:
    """What batches and labels explain of one component.

    Parameters
    ----------
    component
        Its number.
    batch_share
        Share of the variance that batches explain, of controls or beyond labels, less what chance
        explains: 0 in expectation, so slightly negative at times, where there is no effect. None
        where it cannot be told.
    batch_p, batch_q
        Its p-value, and that corrected for the number of components (Benjamini-Hochberg).
    label_share
        Share of the variance within batches that labels explain in the same way on every batch.
    label_p, label_q
        Of labels, against their variation from batch to batch.
    label_shift
        The most that any label may move it from the other rows of its batch, in standard deviations
        within batches: the largest upper 95 % limit over batches. Of a component that carries
        batches only, it is of what those that do not tell nothing of. None where it is not known.
    carries
        Which effects are significant and above the limit.
    says
        Why a share is missing; empty if none is.
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
    """Tell for each component what batches and what labels explain of it.

    Parameters
    ----------
    components
        One row a sample and one column a component; an array or anything that gives blocks of rows.
    batches, labels
        The batch and the label of each row; an empty text is no label, though one more group.
    controls
        Which rows are controls, by which batches are then judged.
    limit
        Shares below it are not counted as carried.
    level
        False discovery rate over the components.

    Raises
    ------
    InputError
        If batches, labels or controls are not one value a row, or a component is not finite.

    Examples
    --------
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
    """Take from components of both what they have of labels by leaning towards those of labels."""
    both = [effect.component for effect in found if effect.carries == "both"]
    label = [effect.component for effect in found if effect.carries == "label"]
    if not both or not label:
        return found
    sums = _summed(UprightRows(components, both, label, crossing.cell), crossing, kept, None)
    test = _label_tests(sums.cells, sums.kept_squares, crossing, kept)
    own = (q_values(test.p) <= level) & (test.share >= limit)
    says = "what it has of labels it shares with components that carry labels only."
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
    """Limit what labels do to components of batches beyond what the others tell of it."""
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
    """Sums of the rows of each cell and of the controls of each batch, and sums of powers.

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
    """Pass over the rows once; they are taken from a centre, which keeps the digits of squares."""
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
    # What rounding leaves of a constant is no variance.
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
    """Compare means over batches with their variation from batch to batch, label by label."""
    crossing = everything.part(kept)
    if crossing.n_cells == 0:
        reason = (
            "no two labels meet on two batches, so what labels explain within batches cannot be "
            "found again on another: put labels on several batches, beside each other"
        )
        return untold(sums.shape[1], reason)
    share, ratio = np.empty(sums.shape[1]), np.empty(sums.shape[1])
    # A few components at a time: tables of cells are as large as the rows where cells are small.
    size = max(1, _BLOCK_BYTES // (16 * crossing.n_cells))
    for start in range(0, sums.shape[1], size):
        some = slice(start, start + size)
        share[some], ratio[some] = _label_share(sums[:, some][kept], squares[some], crossing)
    return EffectTest(share=share, p=upper_tail(ratio, *crossing.degrees_of_freedom()))


def _label_share(sums: Float, squares: Float, crossing: Crossing) -> tuple[Float, Float]:
    """Return the share of labels and the ratio of mean squares that tests it."""
    means = sums / crossing.count[:, None]
    m = crossing.over_labels(np.ones(crossing.n_cells))[:, None]
    mean, variance = crossing.label_moments(means - crossing.batch_means(means))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (m * mean**2).sum(axis=0) / variance.sum(axis=0)
    # Shares are of rows, so here every row counts in the mean of its batch.
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
    """Tell of each label, in their order, whether it is one."""
    return np.array([name != "" for name in np.unique(np.asarray(labels)).tolist()])


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _one_a_row(what: str, values: Any, n_rows: int) -> NDArray[Any]:
    found = np.asarray(values)
    if found.shape != (n_rows,):
        message = (
            f"{what} have the shape {found.shape} but there are {n_rows} rows: give one value for "
            "each row."
        )
        raise InputError(message)
    return found
