"""Scores by name with chance levels, p-values and intervals, computed together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Estimate, InputError, choose_progress, random_stream
from upto.disentanglement.catalogue import DEFAULT_SCORES, NamedScore, find_scores
from upto.disentanglement.predictor_tables import Labels, Whole, as_codes, as_factors
from upto.disentanglement.predictors import quietly
from upto.disentanglement.score import FactorScore
from upto.disentanglement.views import View
from upto.measures.resample import (
    MIN_HALF,
    draw_halves,
    draw_pairings,
    half_sample_interval,
    limit_of_chance,
    share_as_good,
    share_beyond,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from upto.core import Progress
    from upto.core.array_types import Float

COSTLY_PERMUTATIONS = 4
"""Permutations of costly scores: enough for a chance level, too few for a p-value of 5 %."""
COSTLY_HALVES = MIN_HALVES = 10
"""Fewest half-samples for an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedScore:
    """A score of codes, with its chance level from random orders of the rows.

    Parameters
    ----------
    name
        Score and variant, such as ``infomec/modularity@adjusted``.
    score
        Value on all rows and its parts.
    value
        The same value with its interval; None where the score is undefined.
    chance
        Mean over permutations. For a score that uses no factors, the mean over codes that were
        permuted independently: the score of independent codes with the same number of rows.
    limit
        Value to exceed for a p-value of 5 %; None with fewer than 19 permutations.
    calibrated
        Value rescaled so that 0 is the limit (without one, the best permutation) and 1 the best
        value; 0 within chance. An adjusted variant is already relative to chance: here it is the
        value, or 0 within the limit. None if there is no best value or no chance level. Noise
        exceeds the limit one time in twenty: slightly for most scores, but by up to a half for a
        ratio that is not adjusted.
    p_value
        Share of permutations at least as good, including the true order; None without any.
    refits, half_samples
        Number of permutations and of half-samples.
    says
        Why something is missing; empty if nothing is.

    See Also
    --------
    evaluate_scores : Returns one for each name.
    FactorScore : The value without a chance level.
    """

    name: str
    score: FactorScore
    value: Estimate | None
    chance: float | None
    limit: float | None
    calibrated: float | None
    p_value: float | None
    refits: int
    half_samples: int
    says: str


def evaluate_scores(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    scores: str | Iterable[str] = DEFAULT_SCORES,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    refits: int = 19,
    half_samples: int = 20,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> tuple[CalibratedScore, ...]:
    r"""Compute scores of codes by name, each with its chance level and an interval.

    Parameters
    ----------
    codes
        Codes, one row per sample.
    factors
        Labels of the factors, one row per sample; None and NaN mark missing labels.
    scores
        Names as for `find_scores`: ``infomec``, ``mig@adjusted``, ``all``.
    continuous
        Whether the factors are continuous: one flag for all, or one per factor.
    discrete_codes
        Whether codes are categorical: integers without order.
    refits
        Number of permutations of the rows of codes against the factors; missing labels stay where
        they are. All scores use the same permutations, costly ones the first 4. If there are no
        more orders than this, all are used.
    half_samples
        Number of half-samples for the intervals; costly scores use 10. 0 omits intervals.
    seed
        Seed of the random number generator.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    tuple of CalibratedScore
        One for each name, in order.

    Raises
    ------
    InputError
        If a name is unknown, codes and factors do not fit each other, or a number is out of range.

    See Also
    --------
    find_scores : The scores by name.
    upto.factors : The same for runs, with forms of the latents and a verdict.
    infomec : One score alone.

    Notes
    -----
    Quantities shared by several scores, such as information, are computed once per order of the
    rows and per half-sample. A score that is undefined for a permutation counts as the worst.
    Adjusted variants compare the information of a permutation with the same permuted labels as that
    of the true order, which is exact because both have the same distribution; half-samples share
    theirs.

    With the limit l of chance and the best value m of the score, the calibrated value is

    .. math::

        \max\left( 0, \frac{\text{value} - l}{m - l} \right)

    unless the variant is adjusted already.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import evaluate_scores
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(400, 2))
    >>> noise = rng.normal(size=(400, 3))
    >>> for names in ("infomec/modularity@latent_quantization", "infomec/modularity@adjusted"):
    ...     (found,) = evaluate_scores(noise, factors, scores=names, half_samples=0)
    ...     print(f"{found.value:.2f}, chance {found.chance:.2f}, {found.calibrated:.2f}")
    0.67, chance 0.85, 0.00
    0.00, chance 0.00, 0.00
    """
    chosen = find_scores(scores)
    _check(refits, half_samples)
    full = full_view(
        codes, factors, continuous=continuous, discrete_codes=discrete_codes, seed=seed
    )
    return evaluate_view(full, chosen, refits=refits, half_samples=half_samples, progress=progress)


def full_view(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    continuous: bool | Sequence[bool],
    discrete_codes: bool,
    seed: int,
) -> View:
    """Return the view of all rows; codes and labels are read once, here."""
    read = as_codes(codes)
    # Values of discrete codes must be integers.
    as_codes(read, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    labels = Labels(factors=found, n_rows=len(read.columns))
    return View(codes=read, factors=labels, discrete_codes=discrete_codes, seed=seed)


def evaluate_view(
    full: View,
    chosen: tuple[NamedScore, ...],
    *,
    refits: int,
    half_samples: int,
    progress: Progress | bool | None = None,
) -> tuple[CalibratedScore, ...]:
    """Return scores of a view of all rows, as in `evaluate_scores`."""
    n_rows = full.factors.n_rows
    work = _Work(full=full, chosen=chosen)
    orders = draw_pairings(np.zeros(n_rows, dtype=np.intp), refits, full.seed).orders
    halves: list[Whole] = []
    if n_rows >= 2 * MIN_HALF:
        halves = draw_halves(np.zeros(n_rows, dtype=np.intp), half_samples, full.seed)
    watched = choose_progress(progress)
    with quietly(), watched.task("scores of factors", 1 + len(orders) + len(halves)) as advance:
        found = {each.name: _score(each, full) for each in chosen}
        advance(1)
        nulls = work.shuffled(orders, found, advance)
        halved = work.halved(halves, found, advance)
    return tuple(
        _calibrated(
            each,
            found[each.name],
            np.array(nulls[each.name], dtype=np.float64),
            np.array(halved[each.name], dtype=np.float64),
            _words(each, n_rows, refits, half_samples),
            drawn=bool(halves),
        )
        for each in chosen
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Work:
    """The view of all rows and the requested scores."""

    full: View
    chosen: tuple[NamedScore, ...]

    def shuffled(
        self, orders: Whole, found: dict[str, FactorScore], advance: Callable[[int], None]
    ) -> dict[str, list[float]]:
        """Return the values for random orders; for unsupervised scores, for independent codes."""
        rng = random_stream(self.full.seed, "factors", "independent codes")
        nulls: dict[str, list[float]] = {each.name: [] for each in self.chosen}
        for number, order in enumerate(orders):
            # Labels move and codes stay, so anything derived from the codes serves every order.
            of_rows = self.full.shuffled(order)
            of_columns = self.full.independent(rng)
            for each in self.chosen:
                is_spared = each.kind.costly and number >= COSTLY_PERMUTATIONS
                if is_spared or found[each.name].value is None:
                    continue
                value = _score(each, of_columns if each.kind.unsupervised else of_rows).value
                worst = -math.inf if each.kind.better == "higher" else math.inf
                nulls[each.name].append(worst if value is None else value)
            advance(1)
        return nulls

    def halved(
        self, halves: Sequence[Whole], found: dict[str, FactorScore], advance: Callable[[int], None]
    ) -> dict[str, list[float]]:
        """Return the defined values of half-samples."""
        values: dict[str, list[float]] = {each.name: [] for each in self.chosen}
        for number, view in enumerate(self.full.halved(halves)):
            for each in self.chosen:
                is_spared = each.kind.costly and number >= COSTLY_HALVES
                if is_spared or found[each.name].value is None:
                    continue
                value = _score(each, view).value
                if value is not None:
                    values[each.name].append(value)
            advance(1)
        return values


def _score(each: NamedScore, view: View) -> FactorScore:
    try:
        return each.of(view)
    except InputError as error:
        # Codes and factors were checked before, so only this score rejects them.
        return FactorScore(name=each.name, value=None, says=str(error))


def _calibrated(
    each: NamedScore, score: FactorScore, null: Float, halves: Float, words: str, *, drawn: bool
) -> CalibratedScore:
    says = " ".join(part for part in (score.says, words) if part)
    kind, value = each.kind, score.value
    if value is None:
        return CalibratedScore(
            name=each.name,
            score=score,
            value=None,
            chance=None,
            limit=None,
            calibrated=None,
            p_value=None,
            refits=0,
            half_samples=0,
            says=score.says,
        )
    if len(halves) < MIN_HALVES:
        if drawn:
            few = f"The score is defined on {len(halves)} half-samples, too few for an interval."
            says = f"{says} {few}".strip()
        halves = halves[:0]
    defined = null[np.isfinite(null)]
    limit = None if kind.unsupervised else limit_of_chance(null, better=kind.better)
    p_value: float | None = None
    calibrated: float | None = None
    if len(null) and not kind.unsupervised:
        p_value = share_as_good(value, null, better=kind.better)
        best, start = (kind.high, null.max()) if kind.better == "higher" else (kind.low, null.min())
        calibrated = share_beyond(value, float(start) if limit is None else limit, best)
        if each.is_adjusted and calibrated:
            calibrated = value
    return CalibratedScore(
        name=each.name,
        score=score,
        value=_unsure(
            half_sample_interval(value, halves, min(kind.low, value), max(kind.high, value)),
            score,
            halved=drawn,
        ),
        chance=float(defined.mean()) if len(defined) else None,
        limit=limit if limit is None or math.isfinite(limit) else None,
        calibrated=calibrated,
        p_value=p_value,
        refits=len(null),
        half_samples=len(halves),
        says=says,
    )


def _unsure(value: Estimate, score: FactorScore, *, halved: bool) -> Estimate:
    """Widen an interval to include what chance may hide.

    Half-samples do not show it: what all rows cannot distinguish from chance, half of them cannot
    either. If too few half-samples have a value, the interval is what chance may hide.
    """
    if score.least is None or score.most is None or not halved:
        return value
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return replace(value, low=min(low, score.least), high=max(high, score.most))


def _words(each: NamedScore, n_rows: int, refits: int, half_samples: int) -> str:
    """Explain what was omitted on purpose."""
    words = []
    if each.kind.unsupervised:
        words.append(
            "The score uses no factors, so it has no p-value; the chance level is that of "
            "independent codes."
        )
    elif each.kind.costly and refits > COSTLY_PERMUTATIONS:
        words.append(
            f"The score is costly: its chance level is from {COSTLY_PERMUTATIONS} permutations, "
            "too few for a limit."
        )
    if half_samples and n_rows < 2 * MIN_HALF:
        words.append(f"{n_rows} rows are too few for an interval.")
    return " ".join(words)


def _check(refits: Any, half_samples: Any) -> None:
    for name, value in (("refits", refits), ("half_samples", half_samples)):
        if not isinstance(value, int | np.integer) or value < 0:
            message = f"{name} is {value!r}, but it must be a whole number of at least 0."
            raise InputError(message)
    if 0 < half_samples < MIN_HALVES:
        message = (
            f"half_samples is {half_samples}, but an interval needs at least {MIN_HALVES}: "
            "increase it, or set it to 0 to omit intervals."
        )
        raise InputError(message)
