"""Variation of codes while one factor is fixed: BetaVAE and FactorVAE scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, random_stream
from upto.disentanglement.above_chance import above_chance, permuted_scores
from upto.disentanglement.predictor_tables import (
    BINS,
    Factor,
    Whole,
    scaled,
    sentences,
)
from upto.disentanglement.predictors import fitted_logistic
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import PERMUTATIONS
from upto.disentanglement.stability import read_robustly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

BATCH = 64
FITTED = 10_000
SCORED = 5_000
LEAST_DEVIATION = 0.05
"""Codes with a smaller standard deviation do not vote in disentanglement_lib's FactorVAE score."""
_VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Groups:
    """The rows of a factor sorted by value, restricted to values that occur at least twice."""

    rows: Whole
    starts: Whole
    counts: Whole

    def drawn(self, rng: np.random.Generator, size: int) -> tuple[Whole, Whole, Whole]:
        """Return positions, and for each the start and the number of rows with its value."""
        places = rng.integers(len(self.rows), size=size)
        return places, self.starts[places], self.counts[places]


def beta_vae_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    from_chance: bool = False,
    batch: int = BATCH,
    fitted: int = FITTED,
    scored: int = SCORED,
    bins: int = BINS,
    seed: int = 0,
) -> FactorScore:
    r"""Return how often a linear classifier identifies the factor that pairs of rows share.

    Each example is the mean absolute difference of the codes over `batch` pairs of rows that agree
    in one factor. Pairs are drawn from the labelled rows; values of a continuous factor agree if
    they are in the same of `bins` bins of equal counts.

    Parameters
    ----------
    codes, factors
        One row per sample; None and NaN mark missing labels.
    continuous
        Whether each factor is continuous.
    discrete_codes
        Whether codes are categorical: integers without order, which differ or do not.
    variant
        ``disentanglement_lib``: logistic regression on the raw differences, which depends on the
        scale of codes; ``robust``: on standardised differences, with outliers of codes clipped.
    from_chance
        Whether to rescale so that permuted rows score 0; otherwise guessing scores one over the
        number of factors, and more with few rows. None if permuted scores vary too much.
    fitted, scored
        Numbers of examples.

    Returns
    -------
    FactorScore
        The accuracy, or the accuracy rescaled from chance.

    See Also
    --------
    factor_vae_score : Votes of single codes instead of a classifier.
    irs_score : Stability instead of identification.
    evaluate_scores : The same with chance levels and intervals.

    Notes
    -----
    An example of factor k is, over B pairs of rows i, i′ with equal :math:`v_k`,

    .. math::

        \frac{1}{B} \sum_{(i, i')} | c_i - c_{i'} |

    code by code; the classifier is fitted to `fitted` examples and scored on `scored` others. Any
    rotation of codes can score 1.

    References
    ----------
    Higgins et al. (2017). beta-VAE: Learning basic visual concepts with a constrained variational
    framework. International Conference on Learning Representations.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import beta_vae_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> beta_vae_score(factors, factors, fitted=200, scored=200).value
    1.0
    """
    read, found, faults = read_robustly(
        codes, factors, variant, continuous=continuous, discrete_codes=discrete_codes
    )
    _refuse_small(batch)
    name = f"beta-vae/{variant}"

    def of(held_factors: Sequence[Factor]) -> FactorScore:
        groups, told = _grouped(held_factors, bins)
        if lacking := _lacking(groups):
            return _undefined(name, found, [*faults, *told, lacking])

        def example(places: _Groups, rng: np.random.Generator, size: int) -> Float:
            first, start, count = places.drawn(rng, size * batch)
            other = start + (first - start + 1 + rng.integers(count - 1)) % count
            apart = np.abs(read.columns[places.rows[first]] - read.columns[places.rows[other]])
            return read.gathered(apart.reshape(size, batch, -1).mean(axis=1))

        sets = []
        for purpose, size in (("fitted", fitted), ("scored", scored)):
            rng = random_stream(seed, "beta-vae", purpose)
            sets.append(_examples(example, groups, rng, size, batch * read.columns.shape[1]))
        (inputs, truth), (held, held_truth) = sets
        if variant == "robust":
            centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
            inputs, held = scaled(inputs, centre, spread), scaled(held, centre, spread)
        guesses = fitted_logistic(inputs, truth).predict(held)
        return _of_guesses(name, guesses, held_truth, groups, [*faults, *told])

    return _counted_from_chance(of, found, len(read.columns), seed) if from_chance else of(found)


def factor_vae_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    variant: str = "disentanglement_lib",
    from_chance: bool = False,
    batch: int = BATCH,
    fitted: int = FITTED,
    scored: int = SCORED,
    bins: int = BINS,
    seed: int = 0,
) -> FactorScore:
    r"""Return how often the least varying code identifies the fixed factor.

    Each example is `batch` labelled rows with the same value of one factor; the code whose variance
    there is the smallest relative to its variance over all rows votes for that factor. In the
    variant ``disentanglement_lib`` codes with a standard deviation below 0.05 do not vote; in
    ``robust`` all varying codes vote, and outliers are clipped. The score is 0 if no code votes.

    Parameters
    ----------
    codes, factors, continuous, discrete_codes, variant, from_chance
        As for `beta_vae_score`.
    batch, fitted, scored, bins, seed
        As for `beta_vae_score`.

    Returns
    -------
    FactorScore
        The accuracy, or the accuracy rescaled from chance.

    See Also
    --------
    beta_vae_score : A linear classifier instead of votes.
    irs_score : Stability instead of identification.

    Notes
    -----
    The vote of an example of factor k is

    .. math::

        \operatorname{argmin}_j \frac{\operatorname{Var}(c_j \mid v_k)}{\operatorname{Var}(c_j)}

    and the score is the accuracy of the majority factor of each code.

    References
    ----------
    Kim and Mnih (2018). Disentangling by factorising. International Conference on Machine Learning.

    Locatello et al. (2019). Challenging common assumptions in the unsupervised learning of
    disentangled representations. International Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import factor_vae_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> factor_vae_score(factors, factors, fitted=200, scored=200).value
    1.0
    """
    read, found, faults = read_robustly(
        codes, factors, variant, continuous=continuous, discrete_codes=discrete_codes
    )
    _refuse_small(batch)
    name = f"factor-vae/{variant}"
    # The variance of one row is zero, so no code could vote.
    overall = read.gathered(read.columns.var(axis=0, ddof=min(1, len(read.columns) - 1)))
    votes = ~read.is_constant
    if variant == "disentanglement_lib":
        votes &= np.sqrt(overall) >= LEAST_DEVIATION

    def of(held_factors: Sequence[Factor]) -> FactorScore:
        groups, told = _grouped(held_factors, bins)
        if lacking := _lacking(groups):
            return _undefined(name, found, [*faults, *told, lacking])
        if not votes.any():
            parts = tuple(None if group is None else 0.0 for group in groups)
            says = sentences([*faults, *told, "no code varies enough to vote"])
            return FactorScore(name=name, value=0.0, per_factor=parts, says=says)

        def example(places: _Groups, rng: np.random.Generator, size: int) -> Float:
            _, start, count = places.drawn(rng, size)
            drawn = start[:, None] + rng.integers(count[:, None], size=(size, batch))
            inner = read.gathered(read.columns[places.rows[drawn]].var(axis=1, ddof=1))
            least = (inner[:, votes] / overall[votes]).argmin(axis=1)
            return np.asarray(least[:, None], dtype=np.float64)

        tables = []
        for purpose, size in (("fitted", fitted), ("scored", scored)):
            rng = random_stream(seed, "factor-vae", purpose)
            inputs, truth = _examples(example, groups, rng, size, batch * read.columns.shape[1])
            tables.append((inputs[:, 0].astype(np.intp), truth))
        counted = np.zeros((len(groups), int(votes.sum())))
        np.add.at(counted, (tables[0][1], tables[0][0]), 1)
        guesses = counted.argmax(axis=0)[tables[1][0]]
        return _of_guesses(name, guesses, tables[1][1], groups, [*faults, *told])

    return _counted_from_chance(of, found, len(read.columns), seed) if from_chance else of(found)


def _grouped(factors: Sequence[Factor], bins: int) -> tuple[list[_Groups | None], list[str]]:
    groups: list[_Groups | None] = []
    faults = []
    for factor in factors:
        classes = factor.as_classes(bins)
        is_shared = np.zeros(len(factor.rows), dtype=bool)
        if not classes.fault:
            is_shared = np.bincount(classes.values)[classes.values] > 1
        if not is_shared.any():
            faults.append(classes.fault or f"factor {factor.number} has no repeated value")
            groups.append(None)
            continue
        values = classes.values[is_shared]
        order = np.argsort(values, kind="stable")
        counts = np.bincount(values, minlength=classes.classes)
        starts = np.cumsum(counts) - counts
        groups.append(
            _Groups(
                rows=classes.rows[is_shared][order],
                starts=starts[values[order]],
                counts=counts[values[order]],
            )
        )
    return groups, faults


def _examples(
    example: Callable[[_Groups, np.random.Generator, int], Float],
    groups: Sequence[_Groups | None],
    rng: np.random.Generator,
    size: int,
    width: int,
) -> tuple[Float, Whole]:
    """Return examples and the indices of the factors fixed in them."""
    usable = [place for place, group in enumerate(groups) if group is not None]
    truth = np.sort(rng.choice(usable, size=size))
    most = max(1, _VALUES_AT_ONCE // width)
    parts = []
    for place, count in _runs(truth, most):
        group = groups[place]
        if group is not None:
            parts.append(example(group, rng, count))
    return np.concatenate(parts), truth


def _runs(truth: Whole, most: int) -> Iterator[tuple[int, int]]:
    for place, count in zip(*np.unique(truth, return_counts=True), strict=True):
        for start in range(0, int(count), most):
            yield int(place), min(most, int(count) - start)


def _refuse_small(batch: int) -> None:
    if batch < 2:
        message = f"the batch size is {batch}: give 2 or more rows."
        raise InputError(message)


def _lacking(groups: Sequence[_Groups | None]) -> str:
    count = sum(group is not None for group in groups)
    return f"two factors are needed and there are {count}" if count < 2 else ""


def _of_guesses(
    name: str, guesses: Whole, truth: Whole, groups: Sequence[_Groups | None], faults: Sequence[str]
) -> FactorScore:
    right = guesses == truth
    held = [truth == place for place in range(len(groups))]
    return FactorScore(
        name=name,
        value=float(right.mean()),
        per_factor=tuple(float(right[each].mean()) if each.any() else None for each in held),
        says=sentences(faults),
    )


def _counted_from_chance(
    of: Callable[[Sequence[Factor]], FactorScore],
    factors: tuple[Factor, ...],
    n_rows: int,
    seed: int,
) -> FactorScore:
    permuted = permuted_scores(of, factors, n_rows, permutations=PERMUTATIONS, seed=seed)
    return above_chance(of(factors), permuted)


def _undefined(name: str, factors: Sequence[Factor], faults: Sequence[str]) -> FactorScore:
    nothing = (None,) * len(factors)
    return FactorScore(name=name, value=None, per_factor=nothing, says=sentences(faults))
