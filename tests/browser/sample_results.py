"""Results as the comparison makes them, without the comparison: the report knows only results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from upto.core import (
    Defect,
    Diameter,
    Errors,
    Estimate,
    Finding,
    Fit,
    Group,
    Histogram,
    Provenance,
    RunSummary,
    Scatter,
    Supremum,
    TraceStep,
)
from upto.questions.compare.matrix import Matrix, Pairs
from upto.questions.compare.result import CompareResult
from upto.questions.inspect.result import InspectResult
from upto.questions.unmix.result import Component, UnmixResult

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
) -> CompareResult:
    return CompareResult(
        runs=(run(first), run(second, exact=False)),
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
) -> CompareResult:
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
    return CompareResult(
        runs=tuple(run(name) for name in names),
        n_samples=1000,
        n_held_out=300,
        pairs=Pairs(
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
        ),
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto compare run-*.npy --seed 0"),
    )


def trace(
    *, n_steps: int = 30, switch: int = 8, refine: int = 24, floor: float = 3e-9
) -> tuple[TraceStep, ...]:
    """FastICA first, Picard-O once it is close, and doubles for the last digits."""
    steps = []
    passes = 0
    for index in range(n_steps):
        passes += 2 if index % 5 == 4 else 1
        gradient = 0.31 * 10 ** (-0.27 * index) * (1 + 0.5 * np.sin(2.3 * index))
        steps.append(
            TraceStep(
                iteration=index + 1,
                solver="fastica" if index < switch else "picard",
                dtype="float32" if index < refine else "float64",
                contrast=0.01712 - 0.0061 * float(np.exp(-0.35 * index)),
                gradient=max(float(gradient), floor),
                turned=float(gradient) * 0.6,
                passes=passes,
                seconds=0.021 * passes,
            )
        )
    return tuple(steps)


def component(index: int, count: int, subspace: int | None, *, stability: bool) -> Component:
    rng = np.random.default_rng(100 + index)
    value = 0.052 * float(np.exp(-2.6 * index / count)) + 0.001 * float(rng.normal())
    error = 0.0011 * (1 + 0.4 * float(rng.random()))
    if subspace is not None:
        value = 0.0008 * float(rng.normal())
    steady = 0.97 + 0.029 * float(rng.random())
    return Component(
        nongaussianity=Estimate(value=value, low=value - 1.96 * error, high=value + 1.96 * error),
        z=abs(value) / error,
        variance=(2 * count - index) / (count * (3 * count + 1) / 2),
        stability=(steady if subspace is None else 0.2 + 0.3 * float(rng.random()))
        if stability
        else None,
        subspace=subspace,
        found_again=steady if subspace is None else 0.3,
        state="identifiable" if subspace is None else "turning",
    )


UNMIXED_FINDINGS = (
    Finding(
        code="UP003",
        message="5 of 24 components of mae-seed-1/encoder.npy cannot be told from Gaussian ones.",
    ),
)


def unmixed(
    *,
    name: str = "mae-seed-1/encoder.npy",
    n_components: int = 24,
    subspaces: tuple[tuple[int, ...], ...] = ((17, 20, 21), (22, 23)),
    steps: tuple[TraceStep, ...] | None = None,
    measured: bool = True,
    n_not_shown: int = 0,
    restarts: bool = True,
    converged: bool = True,
    verdict: str = "19 of 24 components are identifiable: the other 5 lie in 2 subspaces within "
    "which any rotation fits the rows as well; restarts agree on 19.",
    findings: tuple[Finding, ...] = UNMIXED_FINDINGS,
) -> UnmixResult:
    steps = trace() if steps is None else steps
    number_of = {member: i for i, members in enumerate(subspaces, 1) for member in members}
    components = tuple(
        component(index, n_components, number_of.get(index), stability=restarts)
        for index in range(n_components)
    )
    if not measured:
        unknown: dict[str, None] = dict.fromkeys(("nongaussianity", "z", "found_again", "state"))
        components = tuple(replace(c, **unknown) for c in components)
    if n_not_shown:
        left = tuple(replace(c, state="not shown") for c in components[:n_not_shown])
        components = left + components[n_not_shown:]
    n_identifiable = n_components - len(number_of) - n_not_shown
    return UnmixResult(
        name=name,
        n_samples=20_000,
        n_features=n_components + 2,
        n_held_out=6_000 if measured else 0,
        rank=n_components,
        solver="auto",
        contrast="logcosh",
        whiten="pca",
        n_restarts=10 if restarts else 0,
        n_bootstraps=20 if restarts else 0,
        converged=converged,
        n_iterations=len(steps),
        n_passes=steps[-1].passes if steps else 0,
        components=components,
        subspaces=subspaces,
        n_identifiable=n_identifiable if measured and converged else None,
        curvature=Estimate(value=0.0021, low=-0.0009, high=0.0051) if measured else None,
        curvature_identifiable=0.0184 if measured and n_identifiable else None,
        trace=steps,
        verdict=verdict,
        findings=findings,
        provenance=provenance(f"upto unmix {name[:60]} -o components.npy --seed 0"),
    )


def inspection(
    *, name: str = "mae-seed-1/encoder.npy", spectrum: tuple[float, ...] | None = None
) -> InspectResult:
    usual = (*np.exp(-0.12 * np.arange(62)), 1e-17, 0.0)
    shares = np.asarray(usual if spectrum is None else spectrum)
    shares = shares / shares.sum()
    return InspectResult(
        run=run(name),
        dtype="float32",
        has_ids=False,
        columns=(),
        n_duplicates=0,
        spectrum=tuple(float(share) for share in shares),
        effective_dimension=float(1 / np.sum(shares**2)),
        nongaussianity=(),
        n_near_gaussian=None,
        verdict=f"{name[:60]}: 1000 rows of 64 coordinates, rank 62.",
        findings=(),
        provenance=provenance("upto inspect run-a.npy"),
    )
