"""The scores that fit predictors, hold factors, match classes or look at codes alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.disentanglement import importances, interventions, probes, sap
from upto.disentanglement.above_chance import above_chance
from upto.disentanglement.class_matching import MATCHES, SIMILARITIES, score_classes
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
    """Return a score that draws rows and has a version that is counted from permuted rows."""

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
    return interventions.irs_score(view.codes, view.factors, variant=variant, **view.kinds).score


def _ridgeway_explicitness(view: View, variant: str) -> FactorScore:
    return probes.ridgeway_explicitness(
        view.codes, view.factors, variant=variant, seed=view.seed, **view.kinds
    )


def _linear_probe(view: View, _: str) -> FactorScore:
    return probes.linear_probe(view.codes, view.factors, seed=view.seed, **view.kinds)


def _downstream(view: View, variant: str) -> FactorScore:
    return probes.downstream_probe(
        view.codes, view.factors, predictor=variant, seed=view.seed, **view.kinds
    )


def _matched(match: str) -> Compute:
    return lambda view, variant: score_classes(match, view.similarities(variant))


def _of_codes(score: Callable[..., FactorScore]) -> Compute:
    """Return a score of the covariance of codes, which discrete codes have none of."""

    def compute(view: View, variant: str) -> FactorScore:
        if view.discrete_codes:
            says = "Codes are discrete: their covariance depends on how values are numbered."
            return FactorScore(name=variant, value=None, says=says)
        settings = {"normalised": True} if variant == "normalised" else {}
        return score(view.codes, **settings)

    return compute


_DRAWN = tuple(name + end for end in ("", FROM_CHANCE) for name in interventions.VARIANTS)

OTHER_KINDS = (
    ScoreKind(
        name="ridgeway/explicitness",
        family="ridgeway",
        title="explicitness",
        says="The area under the curve of telling each class of a factor from the others by a "
        "logistic regression on all codes.",
        rewards="classes are linearly separable, in any rotation",
        source="Ridgeway and Mozer 2018",
        variants=probes.RIDGEWAY,
        low=-1.0,
        compute=_ridgeway_explicitness,
    ),
    ScoreKind(
        name="sap",
        family="sap",
        title="SAP",
        says="How much better the best single code predicts a factor linearly than the second.",
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
                "How concentrated the importance of each code is on one factor, by a predictor.",
                "each code helps with one factor",
            ),
            (
                "completeness",
                0.0,
                "How concentrated the importance for each factor is on one code, by a predictor.",
                "each factor is helped by one code",
            ),
            (
                "informativeness",
                -math.inf,
                "How well held-out labels are predicted from all codes: the share that is right, "
                "or R².",
                "factors can be predicted",
            ),
            (
                "fitted",
                -math.inf,
                "The same on the rows that the predictor was fitted to.",
                "factors can be learnt by heart",
            ),
        )
    ),
    ScoreKind(
        name="linear-probe",
        family="linear-probe",
        title="held-out R²",
        says="The R² of factors by least squares on all codes, on rows held out; of a discrete "
        "factor, of the indicators of its classes.",
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
        says="How well held-out labels are predicted by a model chosen by cross-validation: the "
        "share that is right, or R².",
        rewards="factors can be predicted",
        source="Locatello et al. 2019",
        variants=probes.PREDICTORS,
        low=-math.inf,
        costly=True,
        compute=_downstream,
    ),
    ScoreKind(
        name="beta-vae",
        family="beta-vae",
        title="BetaVAE score",
        says="How often a linear classifier tells which factor pairs of rows have in common, by "
        "how far their codes are apart.",
        rewards="a held factor stills some codes, in any rotation",
        source="Higgins et al. 2017",
        variants=_DRAWN,
        low=-1.0,
        compute=_drawn(interventions.beta_vae_score),
    ),
    ScoreKind(
        name="factor-vae",
        family="factor-vae",
        title="FactorVAE score",
        says="How often the code that varies least tells which factor is held.",
        rewards="a held factor stills one code most",
        source="Kim and Mnih 2018",
        variants=_DRAWN,
        low=-1.0,
        compute=_drawn(interventions.factor_vae_score),
    ),
    ScoreKind(
        name="irs",
        family="irs",
        title="IRS",
        says="How little codes vary while the factor that decides them most is held.",
        rewards="each code is a function of one factor",
        source="Suter et al. 2019",
        variants=interventions.VARIANTS,
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
            source="DRVI, bioRxiv 2024.11.06.622266",
            variants=SIMILARITIES,
            compute=_matched(match),
        )
        for match, says, rewards in zip(
            MATCHES,
            (
                "The similarity of classes to a code each of their own, matched as well as can be.",
                "The similarity of every class to its most similar code, averaged.",
                "How far the most similar code of a class outdoes the second, averaged.",
            ),
            (
                "each class has a code of its own",
                "each class is seen in some code",
                "each class is seen in one code only",
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
        rewards="codes are uncorrelated, whatever the factors",
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
        says="The squared Wasserstein distance of the same two Gaussians, or that over the total "
        "variance.",
        rewards="codes are uncorrelated, whatever the factors",
        source="Locatello et al. 2019",
        variants=("disentanglement_lib", "normalised"),
        high=math.inf,
        better="lower",
        unsupervised=True,
        compute=_of_codes(wasserstein_correlation),
    ),
)
