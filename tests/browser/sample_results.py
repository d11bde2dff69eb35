"""Results as the comparison makes them, without the comparison: the report knows only results."""

from __future__ import annotations

import numpy as np

from upto.core import (
    Comparison,
    ComparisonMatrix,
    Defect,
    Diameter,
    Errors,
    Estimate,
    Finding,
    Fit,
    Group,
    Histogram,
    Matrix,
    Provenance,
    RunSummary,
    Scatter,
    Supremum,
)

# Group, ICA first or not, held out, in sample, p, R² held out.
ROWS = (
    (Group.IDENTITY, False, 0.2871, 0.2862, 0.41, -0.871),
    (Group.SIGNED_PERMUTATION, False, 0.2218, 0.2190, 0.001, 0.104),
    (Group.SIGNED_SIMILARITY, False, 0.2180, 0.2151, 0.001, 0.131),
    (Group.SCALED_PERMUTATION, False, 0.2043, 0.1988, 0.001, 0.236),
    (Group.RIGID, False, 0.0312, 0.0289, 0.001, 0.981),
    (Group.SIMILARITY, False, 0.0309, 0.0285, 0.001, 0.982),
    (Group.AFFINE, False, 0.0298, 0.0221, 0.001, 0.984),
    (Group.SIGNED_PERMUTATION, True, 0.0587, 0.0561, 0.001, 0.931),
)
CHANCE = 0.3012


def run(name: str, *, n_samples: int = 1000, exact: bool = True) -> RunSummary:
    upper = 14.32 if exact else 14.95
    return RunSummary(
        name=name,
        n_samples=n_samples,
        n_features=64,
        rank=62,
        n_dead=2,
        diameter=Diameter(value=14.32, upper=upper, exact=exact, quantile=11.87),
        spread=4.213,
        seed=3,
    )


def errors(mean: float, r2: float, *, interval: bool = True) -> Errors:
    low, high = (mean * 0.94, mean * 1.07) if interval else (None, None)
    return Errors(
        mean=Estimate(value=mean, low=low, high=high),
        rms=mean * 1.12,
        q99=mean * 2.1,
        worst=mean * 2.9,
        r2=r2,
    )


def histogram(mean: float, high: float, rng: np.random.Generator) -> Histogram:
    draws = np.clip(rng.gamma(9, mean / 9, size=300), 0, high)
    counts, _ = np.histogram(draws, bins=40, range=(0, high))
    return Histogram(low=0.0, high=high, counts=tuple(int(count) for count in counts))


def fit(row: tuple[Group, bool, float, float, float, float], *, held_out: bool = True) -> Fit:
    group, unmixed, out, inside, p, r2 = row
    rng = np.random.default_rng(7)
    return Fit(
        up_to=group,
        unmixed=unmixed,
        in_sample=errors(inside, min(r2 + 0.01, 1.0), interval=False),
        held_out=errors(out, r2) if held_out else None,
        chance_in_sample=errors(CHANCE * 0.98, -0.9, interval=False) if held_out else None,
        chance=errors(CHANCE, -0.9, interval=False) if held_out else None,
        p_value=p if held_out else None,
        supremum=Supremum(high=inside * 2.4, low=inside * 2.1),
        histogram=histogram(out, 0.7, rng) if held_out else None,
        chance_histogram=histogram(CHANCE, 0.7, rng) if held_out else None,
    )


def scatter(*, n_rows: int = 500, n_labels: int = 10, label: str | None = "digit") -> Scatter:
    rng = np.random.default_rng(11)
    kinds = np.arange(n_rows) % max(n_labels, 1)
    centres = rng.normal(size=(max(n_labels, 1), 2)) * (4.5, 2.8)
    target = centres[kinds] + rng.normal(size=(n_rows, 2)) * 0.7
    aligned = target + rng.normal(size=(n_rows, 2)) * 0.22
    return Scatter(
        up_to=Group.RIGID,
        target=tuple((float(x), float(y)) for x, y in target),
        aligned=tuple((float(x), float(y)) for x, y in aligned),
        label=label,
        labels=tuple(str(kind) for kind in kinds) if label is not None else (),
    )


def provenance(call: str = "upto compare run-a.npy run-b.npy --seed 0") -> Provenance:
    versions = {"python": "3.11.7", "upto": "0.1.0", "numpy": "2.4.6", "scipy": "1.17.1"}
    return Provenance(call=call, seed=0, engine="threads", seconds=1.374, versions=versions)


FINDINGS = (
    Finding(code="UP002", message="run-a has rank 62 of 64."),
    Finding(
        code="UP003",
        message="3 of 62 components of run-b have |excess kurtosis| below 0.05 (p > 0.2).",
    ),
    Finding(code="UP013", message="2 coordinates of each run never change."),
)


def comparison(
    *,
    first: str = "mae-seed-1/encoder.npy",
    second: str = "mae-seed-2/encoder.npy",
    verdict: str = "Close to the same representation up to a rigid motion: held-out error 0.031 "
    "[0.029, 0.033] of the diameter, where chance gives 0.301; 98% of the variance explained.",
    findings: tuple[Finding, ...] = FINDINGS,
    rows: Scatter | None = None,
    held_out: bool = True,
    up_to: Group | None = Group.RIGID,
) -> Comparison:
    return Comparison(
        first=run(first),
        second=run(second, exact=False),
        n_samples=1000,
        n_held_out=300 if held_out else 0,
        r2_per_direction=0.71 if held_out else None,
        fits=tuple(fit(row, held_out=held_out) for row in ROWS),
        defect=Defect(value=0.0621, lower_bound=0.03105, n_rows=1000),
        efficiency=0.8556,
        efficiency_in_sample=0.871,
        up_to=up_to,
        agreement="close" if up_to else "undecided",
        verdict=verdict,
        findings=findings,
        scatter=scatter() if rows is None else rows,
        provenance=provenance(),
    )


def matrix(
    *,
    n_runs: int = 5,
    names: tuple[str, ...] | None = None,
    verdict: str = "Not all the same: 12 of 20 pairs of runs agree up to a rigid motion, the "
    "others up to an affine map.",
    findings: tuple[Finding, ...] = FINDINGS[:1],
) -> ComparisonMatrix:
    names = names or tuple(f"vit-b16/seed-{i}/block-12.npy" for i in range(1, n_runs + 1))
    rng = np.random.default_rng(5)
    apart = rng.uniform(0.9, 1.15, size=(n_runs, n_runs))
    last = n_runs - 1

    def square(base: float, *, odd: float = 1.0) -> tuple[tuple[float | None, ...], ...]:
        return tuple(
            tuple(
                None
                if i == j
                else round(float(base * apart[i, j] * (odd if last in (i, j) else 1)), 5)
                for j in range(n_runs)
            )
            for i in range(n_runs)
        )

    groups = tuple(
        tuple(
            None if i == j else Group.AFFINE if last in (i, j) else Group.RIGID
            for j in range(n_runs)
        )
        for i in range(n_runs)
    )
    return ComparisonMatrix(
        runs=tuple(run(name) for name in names),
        n_samples=1000,
        n_held_out=300,
        matrices=tuple(
            Matrix(
                up_to=group,
                unmixed=unmixed,
                error=square(out, odd=3.0 if 0.03 < out < 0.1 else 1.0),
                r2=square(abs(r2)),
                p_value=square(p),
            )
            for group, unmixed, out, _, p, r2 in ROWS
        ),
        up_to=groups,
        agreement=tuple(
            tuple(None if group is None else "same" for group in row) for row in groups
        ),
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto compare run-*.npy --seed 0"),
    )
