"""Declarations of the scores that fit predictors, fix factors, match classes or use codes only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.disentanglement import importances, interventions, probes, sap, stability
from upto.disentanglement.above_chance import above_chance
from upto.disentanglement.class_matching import MATCHES, score_classes
from upto.disentanglement.codes_and_classes import SIMILARITIES
from upto.disentanglement.gaussian_tc import gaussian_total_correlation, wasserstein_correlation
from upto.disentanglement.kinds import Compute, ScoreKind
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.disentanglement.views import View

FROM_CHANCE = "/from-chance"


def _dci(part: str) -> Compute:
    def compute(view: View, variant: str) -> FactorScore:
        found: FactorScore = getattr(view.dci(variant), part)
        return found

    return compute


def _drawn(score: Callable[..., FactorScore]) -> Compute:
    """Return a score that draws rows and can be rescaled by permuted rows."""

    def compute(view: View, variant: str) -> FactorScore:
        plain = variant.removesuffix(FROM_CHANCE)

        def of(each: View) -> FactorScore:
            found: FactorScore = each.once(
                (score, plain),
                lambda: score(
                    each.codes, each.factors, variant=plain, seed=each.seed, **each.kinds
                ),
            )
            return found

        if plain == variant:
            return of(view)
        return above_chance(of(view), view.permuted(of, (score, plain, "permuted")))

    return compute


def _sap(view: View, variant: str) -> FactorScore:
    return sap.sap_score(
        view.codes, view.factors, variant=variant, seed=view.seed, **view.kinds
    ).score


def _irs(view: View, variant: str) -> FactorScore:
    return stability.irs_score(view.codes, view.factors, variant=variant, **view.kinds).score


def _linear_probe(view: View, _: str) -> FactorScore:
    return probes.linear_probe(view.codes, view.factors, seed=view.seed, **view.kinds)


def _probe(score: Callable[..., FactorScore], option: str) -> Compute:
    """Return a probe that takes its variant as an option."""
    return lambda view, variant: score(
        view.codes, view.factors, seed=view.seed, **{option: variant}, **view.kinds
    )


def _matched(match: str) -> Compute:
    return lambda view, variant: score_classes(match, view.similarities(variant))


def _of_codes(score: Callable[..., FactorScore]) -> Compute:
    """Return a score of the covariance of codes, which is undefined for discrete codes."""

    def compute(view: View, variant: str) -> FactorScore:
        if view.discrete_codes:
            says = "Codes are discrete: their covariance depends on how values are numbered."
            return FactorScore(name=variant, value=None, says=says)
        settings = {"normalised": True} if variant == "normalised" else {}
        return score(view.codes, **settings)

    return compute


_DRAWN = tuple(name + end for end in ("", FROM_CHANCE) for name in stability.VARIANTS)

OTHER_KINDS = (
    ScoreKind(
        name="ridgeway/explicitness",
        family="ridgeway",
        title="explicitness",
        says="The area under the ROC curve of a logistic regression on all codes for each class of "
        "a factor against the others.",
        rewards="classes are linearly separable, in any rotation",
        source="Ridgeway and Mozer 2018",
        variants=probes.RIDGEWAY,
        low=-1.0,
        compute=_probe(probes.ridgeway_explicitness, "variant"),
    ),
    ScoreKind(
        name="sap",
        family="sap",
        title="SAP",
        says="The difference between the best and second-best code in linear prediction of a "
        "factor.",
        rewards="each factor is linear in one code only",
        source="Kumar et al. 2018",
        variants=sap.VARIANTS,
        compute=_sap,
    ),
    *(
        ScoreKind(
            name=f"dci/{part}",
            family="dci",
            title=f"DCI {part}",
            says=says,
            rewards=rewards,
            source="Eastwood and Williams 2018",
            variants=importances.VARIANTS,
            low=low,
            costly=True,
            compute=_dci(part),
        )
        for part, low, says, rewards in (
            (
                "disentanglement",
                0.0,
                "The concentration of each code's importance on one factor, by a predictor.",
                "each code is important for one factor",
            ),
            (
                "completeness",
                0.0,
                "The concentration of the importance for each factor on one code, by a predictor.",
                "one code is important for each factor",
            ),
            (
                "informativeness",
                -math.inf,
                "The held-out accuracy, or R², of the prediction of labels from all codes.",
                "factors can be predicted",
            ),
            (
                "fitted",
                -math.inf,
                "The accuracy, or R², on the rows to which the predictor was fitted.",
                "factors can be memorised",
            ),
        )
    ),
    ScoreKind(
        name="linear-probe",
        family="linear-probe",
        title="held-out R²",
        says="The held-out R² of least squares on all codes; for a discrete factor, of the "
        "indicators of its classes.",
        rewards="factors are linear in the codes, in any rotation",
        source="least squares",
        variants=("held-out",),
        low=-math.inf,
        compute=_linear_probe,
    ),
    ScoreKind(
        name="downstream",
        family="downstream",
        title="downstream accuracy",
        says="The held-out accuracy, or R², of the prediction of labels by a model selected by "
        "cross-validation.",
        rewards="factors can be predicted",
        source="Locatello et al. 2019",
        variants=probes.PREDICTORS,
        low=-math.inf,
        costly=True,
        compute=_probe(probes.downstream_probe, "predictor"),
    ),
    ScoreKind(
        name="beta-vae",
        family="beta-vae",
        title="BetaVAE score",
        says="The accuracy with which a linear classifier identifies the factor that pairs of rows "
        "share from the differences of their codes.",
        rewards="fixing a factor fixes some codes, in any rotation",
        source="Higgins et al. 2017",
        variants=_DRAWN,
        low=-1.0,
        compute=_drawn(interventions.beta_vae_score),
    ),
    ScoreKind(
        name="factor-vae",
        family="factor-vae",
        title="FactorVAE score",
        says="The accuracy with which the least varying code identifies the fixed factor.",
        rewards="fixing a factor fixes one code most",
        source="Kim and Mnih 2018",
        variants=_DRAWN,
        low=-1.0,
        compute=_drawn(interventions.factor_vae_score),
    ),
    ScoreKind(
        name="irs",
        family="irs",
        title="IRS",
        says="The stability of codes while the factor that determines them most is fixed.",
        rewards="each code is a function of one factor",
        source="Suter et al. 2019",
        variants=stability.VARIANTS,
        low=-math.inf,
        compute=_irs,
    ),
    *(
        ScoreKind(
            name=match,
            family="drvi",
            title=match.upper(),
            says=says,
            rewards=rewards,
            source="Moinfar and Theis 2024 (DRVI), bioRxiv 2024.11.06.622266",
            variants=SIMILARITIES,
            compute=_matched(match),
        )
        for match, says, rewards in zip(
            MATCHES,
            (
                "The similarity of each class to its own code under the best one-to-one matching.",
                "The similarity of each class to its most similar code, averaged.",
                "The gap between the most and the second most similar code of a class, averaged.",
            ),
            (
                "each class has a code of its own",
                "each class is encoded in some code",
                "each class is encoded in one code only",
            ),
            strict=True,
        )
    ),
    ScoreKind(
        name="gaussian-tc",
        family="independence",
        title="Gaussian total correlation",
        says="The divergence, in nats, of a Gaussian with the covariance of codes from "
        "independence.",
        rewards="codes are uncorrelated, regardless of the factors",
        source="Locatello et al. 2019",
        variants=("disentanglement_lib",),
        high=math.inf,
        better="lower",
        unsupervised=True,
        compute=_of_codes(gaussian_total_correlation),
    ),
    ScoreKind(
        name="wasserstein-correlation",
        family="independence",
        title="Gaussian Wasserstein correlation",
        says="The squared Wasserstein distance between a Gaussian with the covariance of codes and "
        "one with only its diagonal, optionally over the total variance.",
        rewards="codes are uncorrelated, regardless of the factors",
        source="Locatello et al. 2019",
        variants=("disentanglement_lib", "normalised"),
        high=math.inf,
        better="lower",
        unsupervised=True,
        compute=_of_codes(wasserstein_correlation),
    ),
)
