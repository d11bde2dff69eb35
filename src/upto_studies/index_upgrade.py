"""Can an index be carried over? Recall by `upto.align` on pairs of real models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from upto_studies.upgrade_recall import drifted, elsewhere, judged_upgrade, predicted_sizes
from upto_studies.upgrade_tables import outcome_of
from upto_studies.upgraded_models import read_upgrade

if TYPE_CHECKING:
    from upto_studies.outcome import Outcome, Work

Count = Annotated[int, Meta(ge=1)]
Case = Literal["texts", "speech", "images", "excerpt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    cases: Annotated[list[Case], Meta(min_length=1)]
    metric: Literal["cosine", "inner-product", "euclidean"]
    curves: list[Literal["rigid", "affine", "ridge", "low-rank", "kernel"]]
    searched: Annotated[float, Meta(gt=0.0, lt=1.0)]
    n_queries: Count
    halvings: Count
    most_parts: Count
    drifts: list[Annotated[float, Meta(ge=0.0, lt=1.0)]]
    most_drifted: Annotated[int, Meta(ge=100)]


def run(settings: Settings, work: Work) -> Outcome:
    """Judge every map on every pair of models, then sizes, other texts and simulated versions."""
    upgrades = [read_upgrade(name, work.data) for name in settings.cases]
    judged, sizes, moved = [], [], []
    with work.progress.task("judging upgrades", 3 * len(upgrades) + 1) as advance:
        for upgrade in upgrades:
            judged.append(judged_upgrade(upgrade, settings, work.seed))
            advance(1)
            sizes += predicted_sizes(upgrade, judged[-1].chosen, settings, work.seed)
            advance(1)
            if upgrade.elsewhere is not None:
                moved.append(elsewhere(upgrade, judged[-1].chosen, settings, work.seed))
            advance(1)
        versions = drifted(upgrades[0], settings, work.seed)
        advance(1)
    return outcome_of(judged, sizes, moved, versions)
