"""The formula that a measure's page prints, written out in plain NumPy, gives the measure's value.

A transcription follows `Measure.formula` and `Measure.where` line by line. It uses rows and n×n
arrays where the package uses moments; of the package it uses only the random waves of RDC.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from upto.core.references import entries, named
from upto.measures.catalogue import MEASURES, find_measure
from upto.measures.dependence import rdc_weights
from upto.measures.kinds import MomentMeasure

N_SAMPLES, WIDTHS = 40, (4, 3)
AGREE = 2e-6
"""Relations are stored in single precision."""


def runs(seed, widths=WIDTHS):
    """Two related runs, off centre, with coordinates of their own scales."""
    rng = np.random.default_rng(seed)
    source = rng.laplace(size=(N_SAMPLES, max(widths)))
    first, second = (
        source @ rng.normal(size=(source.shape[1], width)) * rng.uniform(0.5, 3, size=width)
        + rng.normal(size=(N_SAMPLES, width))
        + rng.normal(size=width)
        for width in widths
    )
    # One coordinate hardly correlates with the other run, so mean-cca-google leaves it out.
    fitted = centred(first) @ np.linalg.pinv(centred(first)) @ second[:, -1]
    second[:, -1] -= 0.99 * fitted
    return first, second


def centred(rows):
    return rows - rows.mean(axis=0)


def standardised(rows):
    return centred(rows) / rows.std(axis=0)


def left(rows):
    """U of the singular value decomposition."""
    return np.linalg.svd(rows, full_matrices=False)[0]


def canonical(first, second):
    return np.linalg.svd(first.T @ second, compute_uv=False)


def correlations(x, y):
    """The mean canonical correlations ρ of mean-cca."""
    return canonical(left(centred(x)), left(centred(y)))


def mean_cca_google(x, y):
    rho = correlations(x, y)
    reached = [j for j in range(1, len(rho) + 1) if rho[:j].sum() >= 0.98 * rho.sum()]
    return rho[: min(reached)].mean()


def svcca(x, y, c):
    return canonical(left(centred(x))[:, : int(c)], left(centred(y))[:, : int(c)]).mean()


def svcca_share(x, y, t):
    kept = []
    for rows in (centred(x), centred(y)):
        u, s, _ = np.linalg.svd(rows, full_matrices=False)
        c = next(c for c in range(1, len(s) + 1) if (s[:c] ** 2).sum() >= t * (s**2).sum())
        kept.append(u[:, :c])
    return canonical(*kept).mean()


def svcca_standardised(x, y, c):
    x, y = standardised(x), standardised(y)
    return canonical(left(x)[:, : int(c)], left(y)[:, : int(c)]).mean()


def narrow_first(x, y):
    x, y = centred(x), centred(y)
    return (y, x) if np.linalg.matrix_rank(y) < np.linalg.matrix_rank(x) else (x, y)


def pwcca(x, y):
    x, y = narrow_first(x, y)
    a, rho, _ = np.linalg.svd(left(x).T @ left(y), full_matrices=False)
    alpha = np.abs((left(x) @ a).T @ x).sum(axis=1)
    return alpha @ rho / alpha.sum()


def pwcca_google(x, y):
    x, y = narrow_first(x, y)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    a, rho, _ = np.linalg.svd(u.T @ left(y), full_matrices=False)
    h = np.zeros_like(u)
    for k, column in enumerate((u * s @ a).T):
        rest = column - h[:, :k] @ (h[:, :k].T @ column)
        h[:, k] = rest / np.linalg.norm(rest)
    alpha = np.abs(h.T @ x).sum(axis=1)
    return alpha @ rho / alpha.sum()


def rcca(x, y, c):
    x, y = centred(x), centred(y)
    roots = []
    for rows in (x, y):
        inner = rows.T @ rows
        rank = np.linalg.matrix_rank(rows)
        values, axes = np.linalg.eigh(
            (1 - c) * inner + c * np.trace(inner) / rank * np.eye(len(inner))
        )
        roots.append(axes / np.sqrt(values) @ axes.T)
    a, _, b = np.linalg.svd(roots[0] @ x.T @ y @ roots[1], full_matrices=False)
    pairs = zip((x @ roots[0] @ a).T, (y @ roots[1] @ b.T).T, strict=True)
    return np.mean([np.corrcoef(u, v)[0, 1] for u, v in pairs])


def residuals(x, y):
    x, y = centred(x), centred(y)
    return y - x @ np.linalg.lstsq(x, y, rcond=None)[0], y


def r2(x, y):
    rest, y = residuals(x, y)
    return 1 - (rest**2).sum() / (y**2).sum()


def r2_cebra(x, y):
    rest, y = residuals(x, y)
    return np.mean(1 - (rest**2).sum(axis=0) / (y**2).sum(axis=0))


def procrustes(x, y):
    """The first form of the formula, with the best rotation put in."""
    x, y = centred(x), centred(y)
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (x, y))
    u, _, v = np.linalg.svd(x.T @ y)
    return np.linalg.norm(x @ u @ v - y)


def angle(x, y):
    cosine = np.linalg.norm(x.T @ y, "nuc") / (np.linalg.norm(x) * np.linalg.norm(y))
    return np.arccos(min(cosine, 1))


def shape(x, y, alpha, *, netrep=False):
    stretched = []
    for rows in (centred(x), centred(y)):
        _, s, v = np.linalg.svd(rows, full_matrices=False)
        typical = 1 if netrep else np.sqrt(np.mean(s**2))
        stretched.append(rows @ v.T @ np.diag(alpha + (1 - alpha) * typical / s))
    return angle(*stretched)


def h(first, second):
    n = len(first)
    one = np.ones(n)
    both = (one @ first @ one) * (one @ second @ one) / ((n - 1) * (n - 2))
    return np.trace(first @ second) + both - 2 / (n - 2) * (one @ first @ second @ one)


def unbiased_cosine(first, second):
    first, second = first.copy(), second.copy()
    np.fill_diagonal(first, 0)
    np.fill_diagonal(second, 0)
    return h(first, second) / np.sqrt(h(first, first) * h(second, second))


def centred_cosine(first, second):
    n = len(first)
    centring = np.eye(n) - np.ones((n, n)) / n
    a, b = centring @ first, centring @ second
    return np.trace(a @ b) / np.sqrt(np.trace(a @ a) * np.trace(b @ b))


def distances(rows):
    return np.array([[np.linalg.norm(one - other) for other in rows] for one in rows])


def gaussian(rows, b):
    squares = distances(rows) ** 2
    return np.exp(-squares / (2 * b**2 * np.median(squares[np.triu_indices(len(rows), 1)])))


def pairs(values):
    return values[np.triu_indices(len(values), 1)]


def pearson(first, second):
    return np.corrcoef(first, second)[0, 1]


def spearman(first, second):
    return pearson(rankdata(first), rankdata(second))


def rsa(dissimilar, correlate):
    return lambda x, y: correlate(pairs(dissimilar(x)), pairs(dissimilar(y)))


def unlike(rows):
    return 1 - np.corrcoef(rows)


def squared_cosine(x, y):
    first, second = pairs(distances(x)) ** 2, pairs(distances(y)) ** 2
    return (first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum())


def distance_correlation_unbiased(x, y):
    off = []
    for rows in (x, y):
        d, n = distances(rows), len(rows)
        a = d - (d.sum(axis=1)[:, None] + d.sum(axis=0)) / (n - 2) + d.sum() / ((n - 1) * (n - 2))
        off.append(a[~np.eye(n, dtype=bool)])
    return (off[0] * off[1]).sum() / np.sqrt((off[0] ** 2).sum() * (off[1] ** 2).sum())


def angles(rows):
    """One minus the cosine between rows."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return 1 - unit @ unit.T


def nearest(values, k):
    """For each row the k nearest others, nearest first."""
    values = values.copy()
    np.fill_diagonal(values, np.inf)
    return [list(np.argsort(row)[: int(k)]) for row in values]


def over_rows(values, score):
    """The mean over rows of a score of the nearest rows in both runs."""

    def measure(x, y, k):
        first, second = nearest(values(x), k), nearest(values(y), k)
        return np.mean([score(own, other) for own, other in zip(first, second, strict=True)])

    return measure


def overlap(own, other):
    return len({*own} & {*other}) / len(own)


def jaccard(own, other):
    return len({*own} & {*other}) / len({*own} | {*other})


def rank_agreement(own, other):
    shared = [(own.index(j) + 1, other.index(j) + 1) for j in {*own} & {*other}]
    most = sum(1 / count for count in range(1, len(shared) + 1))
    return sum(2 / ((r + s) * (1 + abs(r - s))) for r, s in shared) / most if shared else 0


def second_order_cosine(x, y, k):
    first, second = angles(x), angles(y)
    cosines = []
    for i, (own, other) in enumerate(zip(nearest(first, k), nearest(second, k), strict=True)):
        either = sorted({*own} | {*other})
        d, e = first[i, either], second[i, either]
        cosines.append(d @ e / np.linalg.norm(d) / np.linalg.norm(e))
    return np.mean(cosines)


def cknna(x, y, k):
    masks = []
    for rows in (x, y):
        mask = np.zeros((len(rows), len(rows)))
        for i, near in enumerate(nearest(angles(rows), k)):
            mask[i, near] = 1
        masks.append(mask)
    one, other, both = *masks, masks[0] * masks[1]
    first, second = 1 - angles(x), 1 - angles(y)
    own = h(first * one, first * one) * h(second * other, second * other)
    return h(first * both, second * both) / np.sqrt(own)


def columns(x, y, correlate=pearson):
    return np.array([[correlate(one, other) for other in y.T] for one in x.T])


def best_matching(gain):
    """The best mean over all one-to-one matchings, tried one by one."""
    gain = gain if len(gain) <= len(gain.T) else gain.T
    m = len(gain)
    every = itertools.permutations(range(len(gain.T)), m)
    return max(np.mean(gain[range(m), list(chosen)]) for chosen in every)


def mcc_rdc(x, y, count):
    slopes, phases = rdc_weights(int(count))

    def largest(one, other):
        waves = [
            np.sin(np.outer(rankdata(column) / len(column), slopes) + phases)
            for column in (one, other)
        ]
        bases = []
        for wave in map(centred, waves):
            u, s, _ = np.linalg.svd(wave, full_matrices=False)
            bases.append(u[:, s > 1e-7 * s[0]])
        return canonical(*bases)[0]

    return best_matching(columns(x, y, largest))


def soft(x, y):
    r = columns(x, y)
    return r.max(axis=1).mean() / 2 + r.max(axis=0).mean() / 2


def udr(x, y):
    r = np.abs(columns(x, y, spearman))
    sides = [(r.max(axis=axis) ** 2 / r.sum(axis=axis)).mean() for axis in (0, 1)]
    return sum(sides) / 2


FORMULAS = {
    "mean-cca": lambda x, y: correlations(x, y).mean(),
    "mean-cca-google": mean_cca_google,
    "svcca:2": svcca,
    "svcca-share:0.9": svcca_share,
    "svcca-standardised:2": svcca_standardised,
    "rcca:0.3": rcca,
    "pwcca": pwcca,
    "pwcca-google": pwcca_google,
    "r2": r2,
    "r2-cebra": r2_cebra,
    "procrustes": procrustes,
    "angular-procrustes": lambda x, y: angle(centred(x), centred(y)),
    "shape:0.5": shape,
    "shape-netrep:0.5": lambda x, y, alpha: shape(x, y, alpha, netrep=True),
    "linear-cka": lambda x, y: unbiased_cosine(
        centred(x) @ centred(x).T, centred(y) @ centred(y).T
    ),
    "linear-cka-biased": lambda x, y: (
        np.linalg.norm(centred(x).T @ centred(y)) ** 2
        / np.linalg.norm(centred(x).T @ centred(x))
        / np.linalg.norm(centred(y).T @ centred(y))
    ),
    "rbf-cka:0.7": lambda x, y, b: unbiased_cosine(gaussian(x, b), gaussian(y, b)),
    "rbf-cka-biased:0.7": lambda x, y, b: centred_cosine(gaussian(x, b), gaussian(y, b)),
    "rsa-correlation-pearson": rsa(unlike, pearson),
    "rsa-correlation-spearman": rsa(unlike, spearman),
    "rsa-euclidean-pearson": rsa(distances, pearson),
    "rsa-euclidean-spearman": rsa(distances, spearman),
    "rsa-squared-euclidean-cosine": squared_cosine,
    "distance-correlation": lambda x, y: np.sqrt(centred_cosine(distances(x), distances(y))),
    "distance-correlation-unbiased": distance_correlation_unbiased,
    "mutual-knn:5": over_rows(distances, overlap),
    "mutual-knn-cosine:5": over_rows(angles, overlap),
    "jaccard-knn:5": over_rows(distances, jaccard),
    "jaccard-knn-cosine:5": over_rows(angles, jaccard),
    "rank-knn:5": over_rows(distances, rank_agreement),
    "rank-knn-cosine:5": over_rows(angles, rank_agreement),
    "second-order-cosine:5": second_order_cosine,
    "cknna:5": cknna,
    "mcc": lambda x, y: best_matching(np.abs(columns(x, y))),
    "mcc-spearman": lambda x, y: best_matching(np.abs(columns(x, y, spearman))),
    "mcc-rdc:3": mcc_rdc,
    "weak-mcc:2": lambda x, y, c: correlations(x, y)[: int(c)].mean(),
    "hard-correlation-match": lambda x, y: best_matching(columns(x, y)),
    "soft-correlation-match": soft,
    "semi-correlation-match": lambda x, y: columns(x, y).max(axis=1).mean(),
    "udr": udr,
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("widths", [WIDTHS, WIDTHS[::-1]], ids=str)
def test_the_printed_formula_gives_the_value(name, widths):
    measure = find_measure(name)
    options = () if measure.parameter is None else (measure.parameter,)
    values = []
    for seed in range(2):
        first, second = runs(seed, widths)
        values.append(measure(first, second))
        assert values[-1] == pytest.approx(FORMULAS[name](first, second, *options), abs=AGREE)
    assert abs(values[0] - values[1]) > 10 * AGREE


def test_the_formula_of_every_measure_is_written_out():
    assert {name.partition(":")[0] for name in FORMULAS} == set(MEASURES)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_a_measure_says_all_that_its_page_needs(measure):
    assert measure.formula
    assert measure.where.endswith(".")
    assert measure.use_when.endswith(".")
    assert measure.beware.endswith(".")
    is_fitted = isinstance(measure, MomentMeasure) and measure.is_fitted
    assert is_fitted == bool(getattr(measure, "held_out", ""))
    assert measure.see_also
    assert set(measure.see_also) <= set(MEASURES) - {measure.name.partition(":")[0]}
    assert named(measure.source)
    assert set(named(measure.source)) <= set(entries())


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_the_symbols_of_a_formula_balance(measure):
    assert measure.where.count("$") % 2 == 0
    assert "$" not in measure.formula
    for line in (*measure.formula.split("\n"), *measure.where.split("$")[1::2]):
        assert line.count("{") == line.count("}")
        assert line.count(r"\left") == line.count(r"\right")
        assert line.strip()
