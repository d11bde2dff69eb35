"""Information of every code about every factor, computed once and shared by many scores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.core import InputError, random_stream
from upto.disentanglement.mutual_information import (
    continuous_information,
    count_bins,
    digammas,
    discrete_information,
    entropy,
    histogram_bins,
    mixed_information,
    most_continuous,
    unit_bins,
)
from upto.disentanglement.predictor_tables import BINS, Factor, as_codes, as_factors
from upto.disentanglement.sorted_counts import Ascending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

Float = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.intp]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

OUTERMOST = 0.005
"""Fraction of rows at either end of a code outside its inner range."""
PERMUTATIONS = 10
"""Permutations of scores that are adjusted for chance."""
THREADED_ROWS = 32_768
"""With fewer rows, threads would mostly wait for Python's lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """Estimator of the information of a code about a factor.

    Parameters
    ----------
    kind
        ``neighbours``: Ross for discrete factors, Kraskov, Stögbauer and Grassberger for
        continuous ones. ``histogram`` and ``unit-bins``: binned codes, as in disentanglement_lib
        and in Ubisoft's package. Discrete codes are used without binning in all of them.
    size
        Number of neighbours or of bins.
    steps
        Number of bins of equal counts into which ``neighbours`` discretises a continuous factor; 0
        keeps it continuous, where the maximum of Kraskov's estimate depends on the number of rows.
    """

    kind: Literal["neighbours", "histogram", "unit-bins"] = "neighbours"
    size: int = 10
    steps: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            message = f"{self.size} neighbours or bins: give one or more."
            raise InputError(message)

    def __str__(self) -> str:
        steps = f" in {self.steps} steps" if self.steps else ""
        return f"{self.size} {self.kind}{steps}"


ADJUSTED = Estimator(kind="neighbours", size=10, steps=BINS)
"""Estimator of the scores that are adjusted for chance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Information:
    """Information of codes about factors, in nats; factors are rows and codes are columns.

    Parameters
    ----------
    mutual
        Information of every code about every factor, at least zero.
    entropies
        Plug-in entropy of each factor's labels; for a continuous factor, the maximum of the
        estimator.
    code_entropies
        Entropy of every code as discretised by the estimator, on the rows labelled by each factor;
        NaN for codes that are not discretised.
    chance
        Information after permuting labels over rows, for each permutation.
    perfect
        Estimated information of every factor about itself; infinite without permutations, when
        nothing is compared with it.
    ranges, quartile_ranges, inner_ranges
        Range of every code: of all rows, of the middle half, and without the outermost rows.
    values
        Number of distinct values of every code.
    faults
        For each factor, why it cannot be scored; empty if it can.
    labelled
        Number of rows labelled by each factor.
    continuous
        Whether each factor is continuous.

    See Also
    --------
    information : Returns it.
    """

    mutual: Float
    entropies: Float
    code_entropies: Float
    chance: Float
    perfect: Float
    ranges: Float
    quartile_ranges: Float
    inner_ranges: Float
    values: Whole
    faults: tuple[str, ...]
    labelled: tuple[int, ...]
    continuous: tuple[bool, ...]
    estimator: Estimator
    discrete_codes: bool

    @property
    def told(self) -> Mask:
        """Mask of the factors that can be scored."""
        return np.array([not fault for fault in self.faults], dtype=bool)

    def is_by(self, estimator: Estimator) -> bool:
        """Whether an estimator gives the same result; `steps` matters for continuous factors."""
        if any(self.continuous):
            return self.estimator == estimator
        return replace(self.estimator, steps=0) == replace(estimator, steps=0)

    @property
    def shares(self) -> Float:
        """Information of every code about every factor, relative to the factor's entropy."""
        return over_entropy(self.mutual, self.entropies)


def over_entropy(mutual: Float, entropies: Float) -> Float:
    """Return information relative to the entropies of factors; zero where the entropy is zero."""
    whole = np.broadcast_to(entropies[:, None], mutual.shape)
    return np.divide(mutual, whole, out=np.zeros_like(mutual), where=whole > 0.0)


def information(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    estimator: Estimator | None = None,
    discrete_codes: bool = False,
    continuous: bool | Sequence[bool] = False,
    permutations: int = 0,
    seed: int = 0,
) -> Information:
    r"""Estimate the information of codes about factors.

    Parameters
    ----------
    codes
        Codes, one row per sample.
    factors
        Labels of the factors, one row per sample; None and NaN mark missing labels.
    estimator
        Estimator of information; ten neighbours by default.
    discrete_codes
        Whether codes are categorical: integers without order.
    continuous
        Whether the factors are continuous: one flag for all, or one per factor.
    permutations
        Number of permutations of labels over rows for the chance level.
    seed
        Seed of the permutations.

    Returns
    -------
    Information
        Tables of factors by codes, in nats.

    Raises
    ------
    InputError
        If codes and factors do not fit each other, or there are too few neighbours or bins.

    See Also
    --------
    infomec : Takes it, to save the estimate.
    mig : Takes it, too.
    class_similarities : Information about single classes.

    Notes
    -----
    By neighbours, a discrete factor is estimated as

    .. math::

        I(c; v) = \psi(N) + \langle \psi(k) \rangle
        - \langle \psi(N_v) \rangle - \langle \psi(m) \rangle

    with the digamma function ψ, N rows, :math:`N_v` rows of the label, k neighbours of the same
    label, and m rows of any label within their distance. In bins it is :math:`H(c) + H(v) - H(c,
    v)` of the counted frequencies.

    References
    ----------
    Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE 9, e87357.

    Kraskov, Stögbauer and Grassberger (2004). Estimating mutual information. Physical Review E 69,
    066138.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import information
    >>> factors = np.arange(600).reshape(-1, 1) % 3
    >>> found = information(np.hstack([factors, factors * 0.0]), factors)
    >>> found.shares.round(2)
    array([[1., 0.]])
    """
    estimator = estimator or Estimator()
    if permutations < 0:
        message = f"permutations is {permutations}: give 0 or more."
        raise InputError(message)
    table = as_codes(codes)
    rows = table.columns
    columns = as_factors(factors, table, continuous=continuous)
    counted = _counted(rows, estimator, discrete_codes=discrete_codes)
    ascending = table.once("ascending", lambda: np.sort(rows, axis=0))
    lower, upper = np.quantile(ascending, (0.25, 0.75), axis=0)
    outermost = min(int(np.ceil(OUTERMOST * len(rows))), (len(rows) - 1) // 2)
    psi = digammas(len(rows))
    shape = (len(columns), rows.shape[1])
    found = Information(
        mutual=np.zeros(shape),
        entropies=np.zeros(len(columns)),
        code_entropies=np.full(shape, np.nan),
        chance=np.zeros((permutations, *shape)),
        perfect=np.full(len(columns), np.inf),
        ranges=ascending[-1] - ascending[0],
        quartile_ranges=upper - lower,
        inner_ranges=ascending[len(rows) - 1 - outermost] - ascending[outermost],
        values=1 + np.count_nonzero(np.diff(ascending, axis=0), axis=0),
        faults=tuple(_fault(column, estimator, counted) for column in columns),
        labelled=tuple(len(column.rows) for column in columns),
        continuous=tuple(column.is_continuous for column in columns),
        estimator=estimator,
        discrete_codes=discrete_codes,
    )
    # Most of an estimate is computed without Python's lock, and none depends on another.
    with ThreadPoolExecutor(min(shape[1], os.cpu_count() or 1)) as pool:
        each_code = pool.map if len(rows) >= THREADED_ROWS else map
        for place, (factor, fault) in enumerate(zip(columns, found.faults, strict=True)):
            if fault:
                continue
            values = _factor_values(factor, estimator, counted)
            own = np.asarray(factor.values, dtype=np.float64)[:, None]
            every = np.arange(len(own))
            of_itself: Callable[[Any, int], float]
            told: Callable[[Any, int], float]
            if counted is not None:
                found.entropies[place] = entropy(values)
                shown_codes = counted[factor.rows]
                found.code_entropies[place] = [entropy(column) for column in shown_codes.T]
                told = partial(_counting, shown_codes)
                of_itself = partial(_counting, values[:, None])
            elif factor.is_continuous and not estimator.steps:
                found.entropies[place] = most_continuous(len(values), estimator.size, psi)
                told = partial(_kraskov, rows[factor.rows], estimator, psi)
                of_itself = partial(_kraskov, own, estimator, psi)
            else:
                found.entropies[place] = entropy(values)
                if len(factor.rows) < len(rows):
                    lines = _lines(rows, factor.rows)
                else:
                    lines = table.once("lines", partial(_lines, rows, factor.rows))
                told = partial(_ross, lines, estimator, psi)
                of_itself = partial(_ross, _lines(own, every), estimator, psi)
            if permutations:
                found.perfect[place] = of_itself(values, 0)
            stream = random_stream(seed, "factors", "information", str(place))
            # The first turn is not permuted: the same call serves both.
            for turn in range(permutations + 1):
                shown = values if turn == 0 else stream.permutation(values)
                each = list(each_code(partial(told, shown), range(shape[1])))
                if turn == 0:
                    # Information is at most the entropy of labels, which digammas of small counts
                    # exceed; for a code without ties scikit-learn's estimate is kept.
                    most = np.where(found.values < len(rows), found.entropies[place], np.inf)
                    found.mutual[place] = np.clip(each, 0.0, most)
                else:
                    found.chance[turn - 1, place] = each
    return found


def informed(
    given: Information | None,
    codes: CodesLike,
    factors: FactorsLike,
    estimator: Estimator,
    name: str,
    **settings: Any,
) -> Information:
    """Return the information for a score: the one given, if its estimator matches."""
    if given is None:
        return information(codes, factors, estimator=estimator, **settings)
    if not given.is_by(estimator):
        message = (
            f"{name} uses information estimated by {estimator}, but it was estimated by "
            f"{given.estimator}: omit it, or use the right estimator."
        )
        raise InputError(message)
    return given


def _lines(rows: Float, labelled: Whole) -> list[tuple[Ascending, Whole]]:
    """Return the ascending values of each code on labelled rows, and their order."""
    orders = np.argsort(rows[labelled], axis=0, kind="stable")
    return [
        (Ascending.of(code[labelled[order]]), order)
        for code, order in zip(rows.T, np.ascontiguousarray(orders.T), strict=True)
    ]


def _ross(
    lines: Sequence[tuple[Ascending, Whole]],
    estimator: Estimator,
    psi: Float,
    labels: Whole,
    code: int,
) -> float:
    line, order = lines[code]
    return mixed_information(line, labels[order], estimator.size, psi)


def _kraskov(rows: Float, estimator: Estimator, psi: Float, values: Float, code: int) -> float:
    return continuous_information(rows[:, code], values, estimator.size, psi)


def _counting(rows: Whole, values: Whole, code: int) -> float:
    return discrete_information(rows[:, code], values)


def _counted(rows: Float, estimator: Estimator, *, discrete_codes: bool) -> Whole | None:
    """Return codes as integers from zero; None for estimates by neighbours."""
    if discrete_codes:
        return np.column_stack([np.unique(code, return_inverse=True)[1] for code in rows.T])
    if estimator.kind == "neighbours":
        return None
    binned = histogram_bins if estimator.kind == "histogram" else unit_bins
    return np.column_stack([binned(code, estimator.size) for code in rows.T])


def _factor_values(factor: Factor, estimator: Estimator, counted: Whole | None) -> Any:
    """Return a factor as integers, or as floats if it is measured by neighbours."""
    if not factor.is_continuous:
        return factor.values
    values = np.asarray(factor.values, dtype=np.float64)
    if counted is None:
        return count_bins(values, estimator.steps) if estimator.steps else values
    if estimator.kind == "neighbours":
        # Discretised codes have no neighbours, so the factor is discretised too.
        return count_bins(values, estimator.steps or max(2, round(len(values) ** (1 / 3))))
    return (histogram_bins if estimator.kind == "histogram" else unit_bins)(values, estimator.size)


def _fault(factor: Factor, estimator: Estimator, counted: Whole | None) -> str:
    if factor.fault:
        return factor.fault
    if counted is None and not factor.is_continuous and factor.classes == len(factor.rows):
        return (
            f"factor {factor.number} has a different label on each of its {len(factor.rows)} rows, "
            "but neighbours need rows of equal label"
        )
    if factor.is_continuous and len(factor.rows) < 3 and estimator.kind == "neighbours":
        return f"factor {factor.number} has {len(factor.rows)} labels, too few for neighbours"
    return ""
