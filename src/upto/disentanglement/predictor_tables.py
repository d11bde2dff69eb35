"""Read codes and factors for the scores that fit predictors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from upto.core import InputError, random_stream
from upto.disentanglement.mutual_information import count_bins
from upto.disentanglement.score import FactorScore
from upto.measures.kinds import as_rows, refuse_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray


CodesLike: TypeAlias = "ArrayLike | Codes"
FactorsLike: TypeAlias = "ArrayLike | Labels"
"""Accepted inputs of scores: arrays, or codes and labels that were already read."""
Float = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.intp]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

HELD_OUT = 1 / 3
"""Fraction of rows held out: disentanglement_lib fits on 10,000 rows and tests on 5,000."""
BINS = 10
FAR = 10.0
"""Interquartile ranges from the median beyond which a value can be an outlier."""
FEW = 0.005
"""Largest fraction of rows at either end that can be outliers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codes:
    """Columns of numbers and the code to which each belongs.

    A continuous code is one column; a discrete code is one-hot encoded, because its values have no
    order.
    """

    columns: Float
    owners: Whole
    count: int
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return a cached result for these codes, or compute it; all permutations share it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    @property
    def is_constant(self) -> Mask:
        """Whether each code is constant."""
        spans = self.columns.max(axis=0) - self.columns.min(axis=0)
        found: Mask = self.gathered(spans) == 0.0
        return found

    def of(self, code: int) -> Float:
        """Return the columns of one code."""
        return self.columns[:, self.owners == code]

    def gathered(self, by_column: Float) -> Float:
        """Return sums over the columns of each code, along the last axis."""
        if self.count == len(self.owners):
            return by_column
        sums = np.zeros((*by_column.shape[:-1], self.count))
        for column, owner in enumerate(self.owners):
            sums[..., owner] += by_column[..., column]
        return sums

    def standardised(self) -> Float:
        """Return columns with zero mean and unit variance; constant columns are zero."""
        return scaled(self.columns, self.columns.mean(axis=0), self.columns.std(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factor:
    """One factor on its labelled rows.

    Parameters
    ----------
    number
        Number of the factor, from one.
    rows
        Indices of the labelled rows.
    values
        Their values; integers from zero for a discrete factor.
    classes
        Number of classes of a discrete factor; 0 for a continuous one.
    """

    number: int
    rows: Whole
    values: Float | Whole
    classes: int

    @property
    def is_continuous(self) -> bool:
        """Whether the factor is continuous."""
        return self.classes == 0

    @property
    def fault(self) -> str:
        """Why it cannot be scored; empty if it can."""
        if len(self.rows) == 0:
            return f"factor {self.number} has no labels"
        if self.values.max() == self.values.min():
            return f"factor {self.number} has one value"
        return ""

    def binned(self, bins: int, *, equal_widths: bool = False) -> Whole:
        """Return integers: class numbers, or bins of about equal counts for a continuous factor.

        With bins of equal widths, one outlier could leave all other rows in one bin.
        """
        if not self.is_continuous:
            return self.values.astype(np.intp)
        if not equal_widths:
            return count_bins(np.asarray(self.values, dtype=np.float64), bins)
        low, high = float(self.values.min()), float(self.values.max())
        edges = low + (high - low) * np.arange(1, bins) / bins
        found = np.searchsorted(edges, self.values, side="right")
        return np.unique(found, return_inverse=True)[1]

    def as_classes(self, bins: int, *, equal_widths: bool = False) -> Factor:
        """Return the factor with bins as classes if it is continuous."""
        if not self.is_continuous or self.fault:
            return self
        values = self.binned(bins, equal_widths=equal_widths)
        return replace(self, values=values, classes=int(values.max()) + 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Rows of one factor to fit on, and rows to score on."""

    fit: Whole
    fit_values: Float | Whole
    held: Whole
    held_values: Float | Whole
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """Factors whose labels were read and numbered once, for many permutations and half-samples."""

    factors: tuple[Factor, ...]
    n_rows: int

    def shuffled(self, order: Whole) -> Labels:
        """Return permuted labels: row `order[i]` gets the label of row i, also if missing."""
        moved = []
        for factor in self.factors:
            places = order[factor.rows]
            ascending = np.argsort(places)
            moved.append(replace(factor, rows=places[ascending], values=factor.values[ascending]))
        return replace(self, factors=tuple(moved))

    def taken(self, rows: Whole) -> Labels:
        """Return the labels of some rows, in ascending order, with classes renumbered."""
        place = np.full(self.n_rows, -1, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        taken = []
        for factor in self.factors:
            is_taken = place[factor.rows] >= 0
            values, classes = factor.values[is_taken], factor.classes
            if not factor.is_continuous:
                is_present = np.bincount(values, minlength=classes) > 0
                values = (np.cumsum(is_present) - 1)[values]
                classes = max(int(is_present.sum()), 1)
            own = place[factor.rows[is_taken]]
            taken.append(replace(factor, rows=own, values=values, classes=classes))
        return Labels(factors=tuple(taken), n_rows=len(rows))


def as_codes(codes: CodesLike, *, discrete_codes: bool = False) -> Codes:
    """Return codes as columns, or raise; a `Codes` object contains the raw numbers."""
    if isinstance(codes, Codes):
        if not discrete_codes:
            return codes
        found: Codes = codes.once(
            "indicators", lambda: as_codes(codes.columns, discrete_codes=True)
        )
        return found
    rows = as_rows(codes, "the array of codes")
    if not discrete_codes:
        refuse_extremes(rows, "the array of codes")
        return Codes(columns=rows, owners=np.arange(rows.shape[1]), count=rows.shape[1])
    broken = int(np.count_nonzero(rows != np.round(rows)))
    if broken:
        message = (
            f"{broken} values of the discrete codes are not whole numbers: number the values of "
            "each code, or declare the codes continuous."
        )
        raise InputError(message)
    columns, owners = [], []
    for code in range(rows.shape[1]):
        levels = np.unique(rows[:, code])
        columns.append(rows[:, code, None] == levels)
        owners += [code] * len(levels)
    return Codes(
        columns=np.hstack(columns).astype(np.float64),
        owners=np.array(owners, dtype=np.intp),
        count=rows.shape[1],
    )


def as_factors(
    factors: FactorsLike, codes: Codes, *, continuous: bool | Sequence[bool] = False
) -> tuple[Factor, ...]:
    """Return factors without their unlabelled rows, or raise."""
    if isinstance(factors, Labels):
        return factors.factors
    table = factors if isinstance(factors, np.ndarray) else np.asarray(factors, dtype=object)
    if table.ndim != 2 or table.shape[1] == 0 or len(table) != len(codes.columns):
        message = (
            f"factors have shape {table.shape} but there are {len(codes.columns)} rows of codes: "
            "give one row of factors for each."
        )
        raise InputError(message)
    flags = [bool(flag) for flag in np.atleast_1d(continuous)]
    if np.ndim(continuous) == 0:
        flags = flags * table.shape[1]
    if len(flags) != table.shape[1]:
        message = (
            f"`continuous` has {len(flags)} flags for {table.shape[1]} factors: "
            "give one per factor."
        )
        raise InputError(message)
    read = (_continuous if flag else _discrete for flag in flags)
    return tuple(
        reader(table[:, number - 1], number) for number, reader in enumerate(read, start=1)
    )


def held_out_mask(n_rows: int, held_out: ArrayLike | None, seed: int) -> Mask:
    """Return the mask of held-out rows: the one given, or a third drawn with `seed`."""
    if held_out is None:
        mask = np.zeros(n_rows, dtype=bool)
        order = random_stream(seed, "factors", "held out").permutation(n_rows)
        mask[order[: round(HELD_OUT * n_rows)]] = True
        return mask
    mask = np.asarray(held_out)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        message = (
            f"the mask of held-out rows is {mask.dtype} of shape {mask.shape} for {n_rows} rows: "
            "give one boolean per row."
        )
        raise InputError(message)
    return mask


def parted(factor: Factor, held_out: Mask) -> Part:
    """Split a factor into fitted and held-out rows, and explain if that is impossible."""
    is_held = held_out[factor.rows]
    fit_values = factor.values[~is_held]
    fault = factor.fault
    if not fault and (len(fit_values) == 0 or fit_values.max() == fit_values.min()):
        fault = f"factor {factor.number} has one value on the {len(fit_values)} rows to fit on"
    if not fault and not is_held.any():
        fault = f"factor {factor.number} has no labels on held-out rows"
    held_values = factor.values[is_held]
    # R² is relative to the held-out mean, which must not be a perfect prediction.
    if not fault and factor.is_continuous and held_values.max() == held_values.min():
        fault = f"factor {factor.number} has one value on the {len(held_values)} held-out rows"
    return Part(
        fit=factor.rows[~is_held],
        fit_values=fit_values,
        held=factor.rows[is_held],
        held_values=held_values,
        fault=fault,
    )


def scaled(columns: Float, centre: Float, spread: Float) -> Float:
    """Return centred columns over their spread; zero where the spread is zero."""
    centred = columns - centre
    # The rounding of a constant column must not be scaled to unit variance.
    dead = spread <= 1e-14 * np.maximum(np.abs(centre), np.finfo(np.float64).tiny)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=~dead)


def without_outliers(columns: Float, *, like: Float | None = None) -> Float:
    """Clip the few values farther than ten interquartile ranges from the median.

    One row must not determine the scale of a code. An outlier is set to the farthest value that is
    not one, so heavy tails are kept; values that more than one row in two hundred has at that end,
    e.g. the code of a rare label, are not outliers. Columns with equal quartiles, e.g. of discrete
    codes, are unchanged. Quantiles are those of `like`, if given.
    """
    known = columns if like is None else like
    shares = (FEW, 0.25, 0.5, 0.75, 1 - FEW)
    first, low, middle, high, last = np.quantile(known, shares, axis=0)
    reach = np.where(high > low, FAR * (high - low), np.inf)

    def is_far(values: Float) -> NDArray[np.bool_]:
        return np.asarray((np.abs(values - middle) > reach) & ((values < first) | (values > last)))

    is_near = ~is_far(known)
    lowest = np.where(is_near, known, np.inf).min(axis=0)
    highest = np.where(is_near, known, -np.inf).max(axis=0)
    return np.where(is_far(columns), np.clip(columns, lowest, highest), columns)


def averaged(name: str, parts: Sequence[float | None], faults: Sequence[str]) -> FactorScore:
    """Return the mean over factors of the defined parts."""
    known = [part for part in parts if part is not None]
    return FactorScore(
        name=name,
        value=float(np.mean(known)) if known else None,
        per_factor=tuple(parts),
        says=sentences(faults),
    )


def sentences(faults: Sequence[str]) -> str:
    """Join faults into one line."""
    told = [fault for fault in faults if fault]
    return "; ".join(told) + "." if told else ""


def constant_codes(codes: Codes) -> str:
    """Name the constant codes, counted from one."""
    numbers = [str(number) for number in np.flatnonzero(codes.is_constant) + 1]
    if not numbers:
        return ""
    return (
        f"code {numbers[0]} is constant"
        if len(numbers) == 1
        else (f"codes {', '.join(numbers)} are constant")
    )


def one_of(name: str, known: Sequence[str], what: str) -> str:
    """Return the name if it is known, or raise."""
    if name not in known:
        message = f"there is no {what} {name!r}: choose one of {', '.join(known)}."
        raise InputError(message)
    return name


def _continuous(column: NDArray[Any], number: int) -> Factor:
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        message = f"factor {number} is declared continuous but has labels that are not numbers."
        raise InputError(message) from None
    if np.isinf(values).any():
        count = int(np.isinf(values).sum())
        message = f"factor {number} has {count} infinite values: drop those labels."
        raise InputError(message)
    rows = np.flatnonzero(~np.isnan(values))
    refuse_extremes(values[rows], f"factor {number}")
    return Factor(number=number, rows=rows, values=values[rows], classes=0)


def _discrete(column: NDArray[Any], number: int) -> Factor:
    if column.dtype == object:
        missing = np.array([label is None or label != label for label in column], dtype=bool)
    elif np.issubdtype(column.dtype, np.floating):
        missing = np.isnan(column)
    else:
        missing = np.zeros(len(column), dtype=bool)
    rows = np.flatnonzero(~missing)
    labels, values = _numbered(column[rows])
    return Factor(number=number, rows=rows, values=values, classes=labels)


def _numbered(labels: NDArray[Any]) -> tuple[int, Whole]:
    if labels.dtype != object:
        found, values = np.unique(labels, return_inverse=True)
        # A factor without any label is still discrete.
        return max(len(found), 1), values.astype(np.intp)
    order = sorted(set(labels), key=lambda label: (type(label).__name__, repr(label)))
    places = {label: place for place, label in enumerate(order)}
    values = np.array([places[label] for label in labels], dtype=np.intp)
    return max(len(order), 1), values
