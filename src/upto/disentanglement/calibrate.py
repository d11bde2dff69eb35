"""Scores beside what chance gives, with intervals: many by name from one look at the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Estimate, InputError, SilentProgress, random_stream
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
    from upto.core.arrays import Float

COSTLY_PERMUTATIONS = 4
"""Of the scores that fit forests or choose models: they show chance, and no p-value of 5 %."""
COSTLY_HALVES = MIN_HALVES = 10
"""Fewer half-samples give no interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedScore:
    """A score of codes, beside what the same codes score in a random order of rows.

    Parameters
    ----------
    name
        The score and its variant, as ``infomec/modularity@adjusted``.
    score
        The value on all rows and its parts, as the score's own function returns it.
    value
        The same value with its interval; None where the score is not defined.
    chance
        The mean over shuffles. Of a score that needs no factors, over codes that were each
        shuffled for itself: what independent codes of so many rows score.
    limit
        What the value must be beyond for a p-value of 5 %; None with fewer than 19 shuffles.
    calibrated
        The share of the way from the limit (where there is none, from the best of the shuffles) to
        the best value; 0 within chance. A variant called adjusted is itself a share beyond chance:
        here it is the value, or 0 within the limit. None where there is no best value or chance.
        Noise is beyond the limit one time in twenty: by little for most scores, but by up to a half
        for a ratio that is not adjusted.
    p_value
        The share of shuffles that are as good, counting the true order; None without any.
    n_permutations, n_halves
        How many shuffles and half-samples there were.
    says
        Why something is missing, in words; empty where nothing is.
    """

    name: str
    score: FactorScore
    value: Estimate | None
    chance: float | None
    limit: float | None
    calibrated: float | None
    p_value: float | None
    n_permutations: int
    n_halves: int
    says: str


def evaluate_scores(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    scores: str | Iterable[str] = DEFAULT_SCORES,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    n_permutations: int = 19,
    n_halves: int = 20,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[CalibratedScore, ...]:
    """Return scores of codes by name, each beside its chance level and with an interval.

    Parameters
    ----------
    codes
        Rows and codes.
    factors
        Rows and factors; None and NaN stand for a label that is missing.
    scores
        Names as `find_scores` takes them: ``infomec``, ``mig@adjusted``, ``all``.
    continuous
        Whether factors are numbers on a line, of all or of each.
    discrete_codes
        Whether codes are numbers of values whose order means nothing.
    n_permutations
        How often rows of codes are shuffled against the factors; labels that are missing stay
        missing where they are. All scores see the same shuffles; costly ones the first 4. All
        orders are tried where there are no more.
    n_halves
        Half-samples of rows behind the intervals; costly scores use 10. 0 leaves intervals out.
    seed
        Of every draw.
    progress
        What long work reports to.

    Notes
    -----
    What several scores are made of, such as information, is computed once for each order of the
    rows and each half-sample. A score that is not defined for a shuffle counts as the worst.
    Adjusted variants compare the information of a shuffle with the same permuted labels as that of
    the true order, which is exact since both are the same in law; half-samples share theirs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(400, 2))
    >>> noise = rng.normal(size=(400, 3))
    >>> for names in ("infomec/modularity@latent_quantization", "infomec/modularity@adjusted"):
    ...     (found,) = evaluate_scores(noise, factors, scores=names, n_halves=0)
    ...     print(f"{found.value:.2f}, chance {found.chance:.2f}, {found.calibrated:.2f}")
    0.67, chance 0.85, 0.00
    0.00, chance 0.00, 0.00
    """
    chosen = find_scores(scores)
    _check(n_permutations, n_halves)
    full = full_view(
        codes,
        factors,
        continuous=continuous,
        discrete_codes=discrete_codes,
        seed=seed,
    )
    return evaluate_view(
        full, chosen, n_permutations=n_permutations, n_halves=n_halves, progress=progress
    )


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
    # The values of discrete codes must be whole numbers.
    as_codes(read, discrete_codes=discrete_codes)
    found = as_factors(factors, read, continuous=continuous)
    labels = Labels(factors=found, n_rows=len(read.columns))
    return View(codes=read, factors=labels, discrete_codes=discrete_codes, seed=seed)


def evaluate_view(
    full: View,
    chosen: tuple[NamedScore, ...],
    *,
    n_permutations: int,
    n_halves: int,
    progress: Progress | None = None,
) -> tuple[CalibratedScore, ...]:
    """Return scores of a view of all rows, as `evaluate_scores` does."""
    n_rows = full.factors.n_rows
    work = _Work(full=full, chosen=chosen)
    orders = draw_pairings(np.zeros(n_rows, dtype=np.intp), n_permutations, full.seed).orders
    halves: list[Whole] = []
    if n_rows >= 2 * MIN_HALF:
        halves = draw_halves(np.zeros(n_rows, dtype=np.intp), n_halves, full.seed)
    watched = progress or SilentProgress()
    with (
        quietly(),
        watched.task("scores of factors", 1 + len(orders) + len(halves)) as advance,
    ):
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
            _words(each, n_rows, n_permutations, n_halves),
            drawn=bool(halves),
        )
        for each in chosen
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Work:
    """A look at all rows and the scores that were asked for."""

    full: View
    chosen: tuple[NamedScore, ...]

    def shuffled(
        self,
        orders: Whole,
        found: dict[str, FactorScore],
        advance: Callable[[int], None],
    ) -> dict[str, list[float]]:
        """Return the values of random orders; of scores without factors, of independent codes."""
        rng = random_stream(self.full.seed, "factors", "independent codes")
        nulls: dict[str, list[float]] = {each.name: [] for each in self.chosen}
        for number, order in enumerate(orders):
            # Labels move and codes stay, so that what was made of the codes serves every order.
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
        self,
        halves: Sequence[Whole],
        found: dict[str, FactorScore],
        advance: Callable[[int], None],
    ) -> dict[str, list[float]]:
        """Return the values of half-samples, those that are defined."""
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
        # Codes and factors were looked at before: this score alone cannot take them.
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
            n_permutations=0,
            n_halves=0,
            says=score.says,
        )
    if len(halves) < MIN_HALVES:
        if drawn:
            few = f"{len(halves)} half-samples have a value, too few for an interval."
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
        n_permutations=len(null),
        n_halves=len(halves),
        says=says,
    )


def _unsure(value: Estimate, score: FactorScore, *, halved: bool) -> Estimate:
    """Return a value whose interval reaches as far as what may be hidden in chance.

    Half-samples do not show it: what all rows do not tell from chance, half of them do not either.
    Where too few of them have a value, what may be hidden is all that is known.
    """
    if score.least is None or score.most is None or not halved:
        return value
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return replace(value, low=min(low, score.least), high=max(high, score.most))


def _words(each: NamedScore, n_rows: int, n_permutations: int, n_halves: int) -> str:
    """Say what was left out on purpose."""
    words = []
    if each.kind.unsupervised:
        words.append(
            "No factors are needed, so no p-value against them exists; chance is of independent "
            "codes."
        )
    elif each.kind.costly and n_permutations > COSTLY_PERMUTATIONS:
        words.append(
            f"Being costly, its chance is of {COSTLY_PERMUTATIONS} shuffles, too few for a limit."
        )
    if n_halves and n_rows < 2 * MIN_HALF:
        words.append(f"{n_rows} rows are too few for an interval.")
    return " ".join(words)


def _check(n_permutations: Any, n_halves: Any) -> None:
    for name, value in (("n_permutations", n_permutations), ("n_halves", n_halves)):
        if not isinstance(value, int | np.integer) or value < 0:
            message = f"{name} is {value!r}, but it must be a whole number of at least 0."
            raise InputError(message)
    if 0 < n_halves < MIN_HALVES:
        message = (
            f"n_halves is {n_halves}, but an interval needs at least {MIN_HALVES}; 0 leaves "
            "intervals out."
        )
        raise InputError(message)
