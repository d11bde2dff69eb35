"""Score the latents of autoencoders: every form of the plain ones, selected in two ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.disentanglement import infomec, information
from upto.disentanglement.info_scores import ratio_scores
from upto.disentanglement.info_variants import VARIANTS, active_codes
from upto.engines import ThreadsEngine
from upto.measures.matching import mean_correlation
from upto.measures.moments import pair_moments
from upto.questions.factors.forms import FORMS, bring_into
from upto_studies.image_runs import SETS, evaluated_points
from upto_studies.pretrained_vaes import pretrained_files, pretrained_latents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto_studies.autoencoder_ica import Settings
    from upto_studies.image_runs import Encoded
    from upto_studies.outcome import Work


PUBLISHED_VARIANT = "latent_quantization"
"""The authors' own file: ten neighbours, latents above a twentieth of the largest range."""
Choice = Literal["by InfoM", "by agreement"]
CHOICES: tuple[Choice, ...] = ("by InfoM", "by agreement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """InfoMEC of one autoencoder: as published, of shuffled rows, and adjusted.

    None is an undefined score.
    """

    modularity: float | None
    explicitness: float | None
    compactness: float | None
    chance_modularity: float | None
    chance_compactness: float | None
    adjusted_modularity: float | None
    adjusted_compactness: float | None
    psnr: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table: a model, how it was selected, and the scores of its seeds.

    `form` is None for models scored without ICA; `weight_decay` and `step` are the selected values,
    and None for models trained elsewhere.
    """

    images: str
    model: str
    form: str | None
    choice: Choice | None
    weight_decay: float | None
    step: int | None
    seeds: tuple[Scores, ...]
    converged: bool = True

    def values(self, name: str) -> Float:
        """Return one score of every seed; NaN where undefined."""
        found = [getattr(each, name) for each in self.seeds]
        return np.array([np.nan if each is None else each for each in found])


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A weight decay and checkpoint of the plain autoencoders, as a candidate for selection."""

    weight_decay: float
    look: int
    step: int
    psnr: float
    modularity: float
    agreement: float


def scored_sets(
    settings: Settings, work: Work, encoded: Sequence[Encoded]
) -> tuple[list[Row], dict[tuple[str, str], list[Candidate]]]:
    """Return one row per model and set, and the candidates of each set and form."""
    from upto_studies.autoencoder_ica import image_plan

    rows: list[Row] = []
    candidates: dict[tuple[str, str], list[Candidate]] = {}
    with work.progress.task("scoring", len(settings.sets)) as advance:
        for images in settings.sets:
            points = evaluated_points(images, image_plan(settings, work.seed))
            levels = SETS[images].grid().levels(points)
            own = [each for each in encoded if each.member.images == images]
            plain = [each for each in own if each.member.model.kind == "ae"]
            scorer = Scorer(levels, settings.n_permutations, work.seed)
            for form in FORMS:
                found = _candidates(plain, form, scorer, settings)
                candidates[images, form] = found
                for choice in CHOICES:
                    rows.append(_chosen_row(images, plain, form, choice, found, scorer, settings))
            others = dict.fromkeys(
                each.member.model for each in own if each.member.model.kind != "ae"
            )
            for model in others:
                trained = [each for each in own if each.member.model == model]
                rows.append(
                    Row(
                        images=images,
                        model=model.kind,
                        form=None,
                        choice=None,
                        weight_decay=model.weight_decay,
                        step=trained[0].steps[-1],
                        seeds=tuple(scorer.scores(each, "raw", -1)[0] for each in trained),
                    )
                )
            if images == "sprites":
                factors = SETS[images].grid().factors(points)
                rows += [
                    _pretrained_row(title, pretrained_latents(path, factors), form, scorer)
                    for title, path in pretrained_files(work.data).items()
                    for form in ("raw", "ica-active")
                ]
            advance(1)
    return rows, candidates


def _pretrained_row(title: str, latents: Float, form: str, scorer: Scorer) -> Row:
    found = bring_into(FORMS[form], latents, engine=scorer.engine, seed=scorer.seed)
    after = "" if form == "raw" else f" + {FORMS[form].name}"
    return Row(
        images="sprites",
        model=f"public {title}{after}",
        form=None,
        choice=None,
        weight_decay=None,
        step=None,
        seeds=(scorer.scores_of(found.latents, None),),
        converged=found.converged is not False,
    )


class Scorer:
    """Scores of latents against factor levels, cached."""

    def __init__(self, levels: NDArray[np.int64], n_permutations: int, seed: int) -> None:
        self.levels, self.n_permutations, self.seed = levels, n_permutations, seed
        self.engine = ThreadsEngine()
        self._formed: dict[tuple[Any, str, int], tuple[NDArray[Any], bool]] = {}

    def formed(self, encoded: Encoded, form: str, look: int) -> tuple[NDArray[Any], bool]:
        """Return the latents in a form, and whether ICA converged."""
        key = (encoded.member, form, look % len(encoded.steps))
        if key not in self._formed:
            latents = encoded.latents[look]
            if latents.dtype.kind == "f":
                found = bring_into(
                    FORMS[form], latents.astype(np.float64), engine=self.engine, seed=self.seed
                )
                self._formed[key] = found.latents, found.converged is not False
            else:
                self._formed[key] = latents, True
        return self._formed[key]

    def modularity(self, encoded: Encoded, form: str, look: int) -> float:
        """Return InfoM as published; 0 if undefined."""
        latents, _ = self.formed(encoded, form, look)
        # Explicitness is the most expensive, and no selection needs it.
        found = information(latents, self.levels)
        active = active_codes(found, VARIANTS[PUBLISHED_VARIANT].active)
        score, _ = ratio_scores(found.shares, active, found.faults, PUBLISHED_VARIANT)
        return 0.0 if score.value is None else score.value

    def scores(self, encoded: Encoded, form: str, look: int) -> tuple[Scores, bool]:
        """Return all scores, and whether ICA converged."""
        latents, converged = self.formed(encoded, form, look)
        return self.scores_of(latents, encoded.psnr[look]), converged

    def scores_of(self, latents: NDArray[Any], psnr: float | None) -> Scores:
        """Return all scores of latents."""
        published = self._infomec(latents, PUBLISHED_VARIANT, self.n_permutations)
        adjusted = self._infomec(latents, "adjusted", None)
        return Scores(
            modularity=published.modularity.value,
            explicitness=published.explicitness.value,
            compactness=published.compactness.value,
            chance_modularity=published.chance_modularity,
            chance_compactness=published.chance_compactness,
            adjusted_modularity=adjusted.modularity.value,
            adjusted_compactness=adjusted.compactness.value,
            psnr=psnr,
        )

    def _infomec(self, latents: NDArray[Any], variant: str, permutations: int | None) -> Any:
        return infomec(
            latents,
            self.levels,
            variant=variant,
            discrete_codes=latents.dtype.kind != "f",
            permutations=permutations,
            seed=self.seed,
        )


def _candidates(
    plain: Sequence[Encoded], form: str, scorer: Scorer, settings: Settings
) -> list[Candidate]:
    found = []
    for weight_decay in settings.weight_decays:
        trained = [each for each in plain if each.member.model.weight_decay == weight_decay]
        for look, step in enumerate(trained[0].steps):
            codes = [scorer.formed(each, form, look)[0] for each in trained]
            agreements = [
                mean_correlation(moments, moments)
                for moments in (pair_moments(one, other) for one, other in combinations(codes, 2))
            ]
            found.append(
                Candidate(
                    weight_decay=weight_decay,
                    look=look,
                    step=step,
                    psnr=float(np.mean([each.psnr[look] for each in trained])),
                    modularity=float(
                        np.mean([scorer.modularity(each, form, look) for each in trained])
                    ),
                    agreement=float(np.mean(agreements)),
                )
            )
    return found


def chosen(candidates: Sequence[Candidate], choice: Choice, tolerance: float) -> Candidate:
    """Return the best candidate among those with nearly the best reconstruction."""
    best = max(each.psnr for each in candidates)
    good = [each for each in candidates if each.psnr >= best - tolerance]
    if choice == "by InfoM":
        return max(good, key=lambda each: each.modularity)
    return max(good, key=lambda each: each.agreement)


def _chosen_row(
    images: str,
    plain: Sequence[Encoded],
    form: str,
    choice: Choice,
    candidates: Sequence[Candidate],
    scorer: Scorer,
    settings: Settings,
) -> Row:
    taken = chosen(candidates, choice, settings.psnr_tolerance)
    trained = [each for each in plain if each.member.model.weight_decay == taken.weight_decay]
    found = [scorer.scores(each, form, taken.look) for each in trained]
    return Row(
        images=images,
        model="ae",
        form=form,
        choice=choice,
        weight_decay=taken.weight_decay,
        step=taken.step,
        seeds=tuple(scores for scores, _ in found),
        converged=all(converged for _, converged in found),
    )
