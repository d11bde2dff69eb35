"""Quantities on which the claims of the metric study rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate, random_stream
from upto.disentanglement.mutual_information import discrete_information, entropy
from upto_studies import metric_cases
from upto_studies.metric_sweeps import MODULARITY, REFERENCE, over_draws
from upto_studies.metric_tables import Part, Readings, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core.array_types import Float
    from upto_studies.metric_sweeps import Sweep

ADJUSTED = (
    "infomec/modularity@adjusted",
    "infomec/compactness@adjusted",
    "infomec/explicitness@adjusted",
    "mig@adjusted",
    "dcimig@adjusted",
)
"""Default scores with a best value of one."""
DEFAULT = (*ADJUSTED, "linear-probe@held-out")
INFO_M, INFO_C, INFO_E, MIG, DCIMIG = ADJUSTED
REFERENCE_M = f"{MODULARITY}@{REFERENCE}"
REFERENCE_C = f"infomec/compactness@{REFERENCE}"
MIG_SUP = "mig-sup@adjusted"
TURNED_DOWN = (INFO_M, INFO_C, MIG, MIG_SUP, DCIMIG)
IN_ANY_ROTATION = (
    INFO_E,
    f"infomec/explicitness@{REFERENCE}",
    "ridgeway/explicitness@disentanglement_lib",
    "linear-probe@held-out",
)
GAPS = (MIG, "mig@disentanglement_lib", "sap@disentanglement_lib", "msgs@smi")
OF_CODES = (INFO_M, MIG_SUP, DCIMIG, "ridgeway/modularity@adjusted")
SLOW = {
    "good-sap": ("good", "sap@disentanglement_lib"),
    "partial-sap": ("partial", "sap@disentanglement_lib"),
    "dci-good": ("good", "dci/disentanglement@lightgbm"),
    "dci-doubled": ("doubled", "dci/completeness@lightgbm"),
    "dci-noise": ("noise", "dci/informativeness@lightgbm"),
    "beta-turned": ("turned", "beta-vae@disentanglement_lib"),
    "factor-turned": ("turned", "factor-vae@disentanglement_lib"),
}
"""Slow scores, computed for some cases only."""
SMALL_LEAK, LARGE_LEAK = 0.01, 0.1


class Draw:
    """Scores of the cases of one draw; an undefined score counts as zero.

    Scores that were not requested are left out.
    """

    def __init__(self, readings: Readings) -> None:
        self.readings = readings

    def of(self, case: str, score: str, part: Part = "value") -> float:
        """Return a score of a case."""
        return number_of(self.readings[case, score], part) or 0.0

    def all_of(self, case: str, scores: Sequence[str], part: Part = "value") -> Float:
        """Return several scores of a case."""
        known = [score for score in scores if (case, score) in self.readings]
        return np.array([self.of(case, score, part) for score in known])

    def fall(self, case: str, *scores: str) -> Float:
        """Return how much lower the scores are than those of good codes."""
        return self.all_of("good", scores) - self.all_of(case, scores)

    def change(self, case: str, scores: Sequence[str]) -> float:
        """Return the largest difference from good codes."""
        return float(np.abs(self.fall(case, *scores)).max())


def case_claims(
    readings: Sequence[Readings], classes: Sequence[int], n_rows: int, *, seed: int
) -> dict[str, Estimate]:
    """Return the quantities of the cases, over the draws."""
    draws = [Draw(each) for each in readings]

    def over(quantity: Callable[[Draw], float]) -> Estimate:
        return over_draws([float(quantity(draw)) for draw in draws])

    def worst(quantity: Callable[[Draw], float]) -> Estimate:
        return Estimate(value=max(float(quantity(draw)) for draw in draws))

    def least(quantity: Callable[[Draw], float]) -> Estimate:
        return Estimate(value=min(float(quantity(draw)) for draw in draws))

    n_factors = len(classes)
    shared = [shared_modularity(n_rows, classes, seed=seed, draw=k) for k in range(len(draws))]
    off = [
        abs(draw.of("correlated", INFO_M) - now) for draw, now in zip(draws, shared, strict=True)
    ]
    claims = {
        "good-adjusted": least(lambda draw: draw.all_of("good", ADJUSTED).min()),
        "noise-adjusted": worst(
            lambda draw: max(
                draw.all_of(case, DEFAULT, "calibrated").max()
                for case in ("noise", "imbalanced noise")
            )
        ),
        "noise-reference": over(lambda draw: draw.of("noise", REFERENCE_M)),
        "noise-imbalanced": over(lambda draw: draw.of("imbalanced noise", REFERENCE_M)),
        "order-reference": over(
            lambda draw: draw.of("turned", REFERENCE_M) - draw.of("noise", REFERENCE_M)
        ),
        "order-adjusted": over(lambda draw: draw.of("turned", INFO_M) - draw.of("noise", INFO_M)),
        "good-reference": over(lambda draw: draw.of("good", REFERENCE_M, "calibrated")),
        "turned-falls": over(lambda draw: draw.fall("turned", *TURNED_DOWN).min()),
        "turned-ridgeway": over(
            lambda draw: draw.fall("turned", "ridgeway/modularity@disentanglement_lib")[0]
        ),
        "turned-stays": worst(lambda draw: draw.change("turned", IN_ANY_ROTATION)),
        "doubled-compactness": worst(
            lambda draw: abs(draw.of("doubled", INFO_C) - doubled_compactness(n_factors))
        ),
        "doubled-gaps": worst(lambda draw: draw.all_of("doubled", GAPS).max()),
        "doubled-stays": worst(lambda draw: draw.change("doubled", OF_CODES)),
        "compressed-modularity": worst(
            lambda draw: abs(draw.of("compressed", INFO_M) - compressed_modularity(n_factors))
        ),
        "compressed-gap": worst(
            lambda draw: abs(draw.of("compressed", MIG_SUP) - (n_factors - 2) / (n_factors - 1))
        ),
        "compressed-stays": worst(lambda draw: draw.change("compressed", (INFO_C, MIG))),
        "outlier-adjusted": worst(lambda draw: draw.change("outlier", ADJUSTED)),
        "outlier-bins": over(lambda draw: draw.fall("outlier", "mig@disentanglement_lib")[0]),
        "outlier-undefined": over(
            lambda draw: draw.readings["outlier", REFERENCE_C].score.value is None
        ),
        "dead-adjusted": worst(lambda draw: draw.change("dead", ADJUSTED)),
        "dead-reference": over(lambda draw: draw.fall("dead", "mig-sup@ubisoft")[0]),
        "unused-adjusted": worst(lambda draw: draw.change("unused", ADJUSTED)),
        "unused-reference": over(lambda draw: draw.fall("unused", REFERENCE_M)[0]),
        "blunt-modularity": least(lambda draw: draw.of("blunt", INFO_M)),
        "blunt-gap": over(lambda draw: draw.of("blunt", MIG)),
        "imbalanced-adjusted": least(lambda draw: draw.all_of("imbalanced", ADJUSTED).min()),
        "correlated-modularity": Estimate(value=max(off)),
        "correlated-fall": over(lambda draw: draw.fall("correlated", INFO_M)[0]),
        "discrete-adjusted": worst(
            lambda draw: max(draw.change(case, ADJUSTED) for case in ("discrete", "untold"))
        ),
        "partial-adjusted": worst(lambda draw: draw.change("partial", ADJUSTED)),
    }
    slow = {
        name: over_draws([draw.of(*key) for draw in draws if key in draw.readings])
        for name, key in SLOW.items()
        if key in readings[0] and number_of(readings[0][key]) is not None
    }
    return claims | slow


def sweep_claims(noise: Sweep, leaks: dict[float, Sweep]) -> dict[str, Estimate]:
    """Return the quantities of the sweeps."""
    most_rows, sharp, blunt = max(noise.strengths), leaks[min(leaks)], leaks[max(leaks)]
    costs = [
        [lines[0] - lines[each.strengths.index(SMALL_LEAK)] for lines in each.values[REFERENCE_M]]
        for each in (sharp, blunt)
    ]
    larger = [
        lines[sharp.strengths.index(LARGE_LEAK)] - lines[sharp.strengths.index(SMALL_LEAK)]
        for lines in sharp.values[REFERENCE_M]
    ]
    by_bins = sharp.values["mig@disentanglement_lib"]
    return {
        "noise-images": noise.at(REFERENCE_M, most_rows),
        "noise-images-compactness": noise.at(REFERENCE_C, most_rows),
        "noise-rows": Estimate(value=max(noise.at(INFO_M, rows).value for rows in noise.strengths)),
        "leak-sharp": sharp.at(REFERENCE_M, SMALL_LEAK),
        "leak-blunt": over_draws(costs[1]),
        "leak-ratio": Estimate(value=sum(costs[0]) / max(sum(costs[1]), 1e-3)),
        "leak-larger": over_draws(larger),
        "leak-bins": over_draws(
            [lines[0] - lines[sharp.strengths.index(SMALL_LEAK)] for lines in by_bins]
        ),
    }


def doubled_compactness(n_factors: int) -> float:
    """Return InfoC if each factor has two equal codes: the largest share is a half."""
    least = 1 / (2 * n_factors)
    return (0.5 - least) / (1 - least)


def compressed_modularity(n_factors: int) -> float:
    """Return InfoM if one code encodes two factors equally and every other code one."""
    least = 1 / n_factors
    return ((0.5 - least) / (1 - least) + n_factors - 2) / (n_factors - 1)


def shared_modularity(n_rows: int, classes: Sequence[int], *, seed: int, draw: int) -> float:
    """Return InfoM of codes equal to factors whose first two are dependent."""
    stream = random_stream(seed, "metric cases", str(draw))
    factors = metric_cases.correlated(n_rows, classes, stream).factors
    least = 1 / len(classes)
    mutual = discrete_information(factors[:, 0], factors[:, 1])
    ones = [(1 / (1 + mutual / entropy(factors[:, k])) - least) / (1 - least) for k in (1, 0)]
    return float((sum(ones) + len(classes) - 2) / len(classes))
