"""A consensus as `upto.consensus` makes it, without making it."""

from __future__ import annotations

import numpy as np
from browser.sample_results import provenance

from upto.core import Estimate, Finding
from upto.questions.consensus.result import ConsensusComponent, ConsensusResult, ConsensusRun

FINDINGS = (
    Finding(
        code="UP030",
        message="the share of vit-b16/seed-5/block-12.npy that the others explain is -0.31, where "
        "rows drawn at random give -0.28; p = 0.41.",
    ),
)


def component(
    index: int, count: int, n_runs: int, limit: float, rng: np.random.Generator
) -> ConsensusComponent:
    """The later a component, the less alike are the runs, and the fewer show it."""
    level = 0.98 * (1 - index / count) ** 0.6
    values = np.clip(level + 0.05 * rng.normal(size=n_runs), 0.0, 1.0)
    values[-1] = 0.4 * limit
    mean = float(values.mean())
    return ConsensusComponent(
        variance=2 * (count - index) / (count * (count + 1)),
        correlations=tuple(float(value) for value in values),
        mean=Estimate(value=mean, low=max(mean - 0.03, 0.0), high=min(mean + 0.03, 1.0)),
        n_runs=int((values > limit).sum()),
    )


def consensus(
    *,
    n_runs: int = 6,
    n_components: int = 24,
    names: tuple[str, ...] | None = None,
    up_to: str = "ica",
    judged: bool = True,
    everywhere: int = 4,
    least: float = 0.0,
    verdict: str = "4 of 24 components appear in all 6 runs, 3 in none: those in every run have a "
    "held-out correlation of 0.86 to 0.97 with the mean of the others.",
    findings: tuple[Finding, ...] = FINDINGS,
) -> ConsensusResult:
    rng, limit = np.random.default_rng(3), 0.14
    names = names or tuple(f"vit-b16/seed-{i}/block-12.npy" for i in range(n_runs))
    components = [component(i, n_components, n_runs, limit, rng) for i in range(n_components)]
    for index in range(min(everywhere, n_components)):
        shown = tuple(max(value, 0.86) for value in components[index].correlations)
        estimate = components[index].mean
        components[index] = ConsensusComponent(
            variance=components[index].variance, correlations=shown, mean=estimate, n_runs=n_runs
        )
    if not judged:
        components = [
            ConsensusComponent(
                variance=each.variance, correlations=(None,) * n_runs, mean=None, n_runs=None
            )
            for each in components
        ]
    runs = tuple(
        ConsensusRun(
            name=name,
            n_features=64,
            n_components=n_components,
            scale=1.0,
            explained=_explained(index, n_runs) if judged else None,
            chance=-0.28 if judged else None,
            p_value=(0.41 if index == n_runs - 1 else 0.005) if judged else None,
            belongs=index < n_runs - 1 if judged else None,
            n_appearing=20 - index if judged else None,
            converged=True if up_to == "ica" else None,
            n_near_gaussian=2 if up_to == "ica" else None,
        )
        for index, name in enumerate(names)
    )
    return ConsensusResult(
        up_to=up_to,  # type: ignore[arg-type]
        runs=runs,
        components=tuple(components),
        n_samples=20_000,
        n_held_out=6_000 if judged else 0,
        n_judged=6_000 if judged else 0,
        chance_limit=limit if judged else None,
        consistency=0.93 if judged and up_to == "ica" else None,
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto compare seed-*.npy --consensus shared.npy"),
        least_correlation=least,
    )


def _explained(index: int, n_runs: int) -> Estimate:
    value = -0.31 if index == n_runs - 1 else 0.9 - 0.05 * index / n_runs
    return Estimate(value=value, low=value - 0.02, high=value + 0.02)
