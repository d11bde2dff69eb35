"""Tables 3, 4 and 7 of Nelson et al. 2026: guides predicted on unseen plates from OpenPhenom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import Column, Estimate, Table, unique_findings
from upto.simulate import CONTROL
from upto_studies.held_out_plates import (
    FOUR,
    PAPER_CONCENTRATION,
    Question,
    furthest_from_chance,
    gain,
)
from upto_studies.held_out_tables import TITLES, conditions_panel
from upto_studies.outcome import Outcome, Work
from upto_studies.rxrx3_data import Chosen, draw_rxrx3, guides_of, read_rxrx3

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Cell, Embeddings
    from upto.questions.batches.result import BatchesResult

Values = tuple[float, float, float, float]

PAPER_AUROCS: dict[str, Values] = {
    "CYP11B1": (0.663, 0.692, 0.709, 0.678),
    "EIF3H": (0.682, 0.724, 0.749, 0.725),
    "HCK": (0.670, 0.693, 0.711, 0.668),
    "MTOR": (0.663, 0.690, 0.705, 0.679),
    "PLK1": (0.803, 0.811, 0.815, 0.792),
    "SRC": (0.660, 0.694, 0.706, 0.676),
}
"""Table 3: AUROC by gene of Base, PCA, PCA + ICA and PCA + Rand."""
PAPER_SPARSITIES: dict[str, Values] = {
    "CYP11B1": (0.184, 0.204, 0.237, 0.188),
    "EIF3H": (0.192, 0.224, 0.268, 0.214),
    "HCK": (0.156, 0.208, 0.241, 0.166),
    "MTOR": (0.166, 0.201, 0.233, 0.186),
    "PLK1": (0.251, 0.307, 0.305, 0.262),
    "SRC": (0.170, 0.214, 0.240, 0.184),
}
"""Table 3: Hoyer sparsity of splits, in the same order."""
PAPER_CONCENTRATIONS: dict[str, tuple[float, float, float]] = {
    "base": (0.163, 0.134, 0.133),
    "pca": (0.332, 0.307, 0.314),
    "ica": (0.386, 0.372, 0.334),
    "random": (0.287, 0.280, 0.235),
}
"""Table 7: the first column is Table 4; the percentages of the other two are unknown."""
COMPARED = (("ica", "base"), ("ica", "pca"), ("ica", "random"), ("pca", "base"))

Gene = Literal["CYP11B1", "EIF3H", "HCK", "MTOR", "PLK1", "SRC"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["published", "drawn"]
    genes: Annotated[list[Gene], Meta(min_length=1)]
    rows: Literal["all", "genes", "guides"]
    n_experiments: Annotated[int, Meta(ge=0)]
    fits: Annotated[list[Literal["all", "training"]], Meta(min_length=1)]
    folds: Annotated[int, Meta(ge=2)]
    concentration: list[Annotated[float, Meta(gt=0.0, lt=100.0)]]
    n_features: Annotated[int, Meta(ge=8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneScore:
    """Means over guides and folds of a gene, with the paper's standard error, by condition."""

    gene: str
    n_guides: int
    auroc: dict[str, Estimate]
    sparsity: dict[str, Estimate]
    gains: dict[str, Estimate]


def run(settings: Settings, work: Work) -> Outcome:
    """Evaluate the paper's four conditions for every guide, fitted its way and ours."""
    embeddings = _embeddings(settings, work)
    question = Question(
        name="guides",
        says="A guide against empty wells; plate held out",
        run=embeddings,
        batch=("experiment_name", "plate"),
        label="treatment",
        control=CONTROL,
        tasks=guides_of(settings.genes),
        folds=settings.folds,
    )
    found: dict[str, BatchesResult] = {}
    with work.progress.task("judging conditions", len(settings.fits)) as advance:
        for fit in settings.fits:
            found[fit] = question.judge(
                FOUR,
                seed=work.seed,
                fit=fit,
                shuffled=True,
                concentration=tuple(settings.concentration),
            )
            advance(1)
    by_gene = {fit: score_genes(result) for fit, result in found.items()}
    measured = _measured(found, by_gene)
    return Outcome(
        measured=measured,
        says=_says(found),
        tables=(
            *(genes_table(fit, scores) for fit, scores in by_gene.items()),
            *(_concentrations(fit, each) for fit, each in found.items() if each.concentrations),
        ),
        panels=(conditions_panel("Guides on plates never seen", _titled(found)),),
        findings=unique_findings([each for result in found.values() for each in result.findings]),
    )


def _embeddings(settings: Settings, work: Work) -> Embeddings:
    chosen = Chosen(
        genes=tuple(settings.genes), kind=settings.rows, n_experiments=settings.n_experiments
    )
    if settings.data == "drawn":
        return draw_rxrx3(chosen, n_features=settings.n_features, seed=work.seed)
    return read_rxrx3(work.data, chosen, seed=work.seed)


def score_genes(result: BatchesResult) -> dict[str, GeneScore]:
    """Average over folds and guides by gene, as in the paper."""
    genes = dict.fromkeys(task.partition("_guide")[0] for task in result.judged)
    return {gene: _score_gene(result, gene) for gene in genes}


def _score_gene(result: BatchesResult, gene: str) -> GeneScore:
    tasks = [task for task in result.judged if task.partition("_guide")[0] == gene]
    own = [score for score in result.fold_scores if score.task in tasks]
    values: dict[str, dict[tuple[str, int], float]] = {name: {} for name in FOUR}
    sparse: dict[str, list[float]] = {name: [] for name in FOUR}
    for score in own:
        if score.auroc is not None:
            values[score.condition][score.task, score.fold] = score.auroc
        if score.sparsity is not None:
            sparse[score.condition].append(score.sparsity)
    gains = {}
    for one, other in COMPARED:
        shared = [key for key in values[one] if key in values[other]]
        paired = [values[one][key] - values[other][key] for key in shared]
        gains[f"{one}-{other}"] = mean_with_error(paired)
    return GeneScore(
        gene=gene,
        n_guides=len(tasks),
        auroc={name: mean_with_error([*each.values()]) for name, each in values.items()},
        sparsity={name: mean_with_error(each) for name, each in sparse.items() if each},
        gains=gains,
    )


def mean_with_error(values: list[float]) -> Estimate:
    """Return a mean with one standard error on either side, over folds and guides."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(value=mean)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(value=mean, low=mean - error, high=mean + error, level=0.68)


def _measured(
    found: Mapping[str, BatchesResult], by_gene: Mapping[str, Mapping[str, GeneScore]]
) -> dict[str, Estimate]:
    measured: dict[str, Estimate | None] = {}
    for fit, result in found.items():
        for one, other in COMPARED:
            measured[f"fit {fit}/{one}-{other}"] = gain(result, one, other)
            measured[f"fit {fit}/sparsity {one}-{other}"] = gain(result, one, other, "sparsity")
        for gene, score in by_gene[fit].items():
            for name, value in score.gains.items():
                measured[f"fit {fit}/{gene} {name}"] = value
        if any(each.percent == 25.0 for each in result.concentrations):
            at = {name: result.concentration(name, 25.0).value for name in FOUR}
            for one, other in COMPARED:
                first, second = at[one], at[other]
                if first is not None and second is not None:
                    measured[f"fit {fit}/concentration {one}-{other}"] = Estimate(
                        value=first.value - second.value
                    )
    measured["shuffled"] = furthest_from_chance(found)
    return {name: each for name, each in measured.items() if each is not None}


def genes_table(fit: str, scores: Mapping[str, GeneScore]) -> Table:
    """Return our Table 3 next to the paper's."""
    rows: list[tuple[Cell, ...]] = []
    for gene, score in scores.items():
        for place, name in enumerate(FOUR):
            rows.append(
                (
                    f"{gene} ({score.n_guides})",
                    TITLES[name],
                    score.auroc[name],
                    PAPER_AUROCS[gene][place],
                    score.sparsity.get(name),
                    PAPER_SPARSITIES[gene][place],
                )
            )
    way = "all wells, the paper's way" if fit == "all" else "wells of training plates"
    return Table(
        title=f"Table 3, transforms fitted to {way}",
        columns=(
            Column(name="gene (guides)"),
            Column(name="condition"),
            Column(name="AUROC ± s.e.", spec=".3f"),
            Column(name="paper", spec=".3f"),
            Column(name="sparsity ± s.e.", spec=".3f"),
            Column(name="paper's sparsity", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="In brackets one standard error to either side, over all folds of all guides.",
    )


def _concentrations(fit: str, result: BatchesResult) -> Table:
    percents = list(dict.fromkeys(each.percent for each in result.concentrations))
    return Table(
        title=f"Tables 4 and 7, transforms fitted to {'all' if fit == 'all' else 'training'} wells",
        columns=(
            Column(name="condition"),
            *(Column(name=f"{percent:g} %", spec=".3f") for percent in percents),
            Column(name="paper's Table 4", spec=".3f"),
            Column(name="paper's Table 7"),
        ),
        rows=tuple(
            (
                TITLES[name],
                *(result.concentration(name, percent).value for percent in percents),
                PAPER_CONCENTRATION[name],
                ", ".join(f"{value:.3f}" for value in PAPER_CONCENTRATIONS[name]),
            )
            for name in FOUR
        ),
        caption="AUROC of the most used columns over that of the rest, less 1. The paper's "
        "percentages are lost from our copy of it.",
    )


def _titled(found: Mapping[str, BatchesResult]) -> dict[str, BatchesResult]:
    return {f"fitted to {fit} wells": result for fit, result in found.items()}


def _says(found: Mapping[str, BatchesResult]) -> str:
    said = []
    for fit, result in found.items():
        value = result.score("ica").auroc
        if value is not None:
            said.append(
                f"fitted to {fit} wells, PCA + ICA has {value.value:.3f} "
                f"({gain(result, 'ica', 'base'):+.3f} over base, "
                f"{gain(result, 'ica', 'random').value:+.3f} over a random rotation)"
            )
    return "; ".join(said) or "no guide could be judged"
