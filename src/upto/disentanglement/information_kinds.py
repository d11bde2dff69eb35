"""Declarations of the scores based on information between codes and factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.disentanglement.code_gaps import dcimig, mig_sup
from upto.disentanglement.gaps import jemmig, mig, rmig
from upto.disentanglement.info_variants import VARIANTS
from upto.disentanglement.information_gaps import ESTIMATORS
from upto.disentanglement.kinds import ADJUSTED, Compute, ScoreKind
from upto.disentanglement.modularity import ridgeway_modularity

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.disentanglement.score import FactorScore
    from upto.disentanglement.views import View


def _infomec(part: str) -> Compute:
    return lambda view, variant: view.infomec(part, variant)


def _of_information(score: Callable[..., FactorScore], *, fixed: bool = False) -> Compute:
    """Return the computation of an information score; `fixed` if it has only one variant."""

    def compute(view: View, variant: str) -> FactorScore:
        settings: dict[str, Any] = {} if fixed else {"variant": variant}
        return score(
            view.codes,
            view.factors,
            information=view.information(ESTIMATORS[variant]),
            **settings,
            **view.kinds,
        )

    return compute


_ESTIMATORS = {name: variant.estimator for name, variant in VARIANTS.items()}
_HSU = "Hsu et al. 2023 (InfoMEC)"
_UBISOFT_FIRST = ("ubisoft", "disentanglement_lib", ADJUSTED)
_LIBRARY_FIRST = ("disentanglement_lib", "ubisoft", ADJUSTED)

INFORMATION_KINDS = (
    ScoreKind(
        name="infomec/modularity",
        family="infomec",
        title="InfoM",
        says="The concentration of each active code's information on its best factor, averaged "
        "over active codes.",
        rewards="each code is informative about one factor",
        source=_HSU,
        variants=tuple(_ESTIMATORS),
        compute=_infomec("modularity"),
        estimators=_ESTIMATORS,
    ),
    ScoreKind(
        name="infomec/compactness",
        family="infomec",
        title="InfoC",
        says="The concentration of the information about each factor in its best active code, "
        "averaged over factors.",
        rewards="each factor is encoded in one code",
        source=_HSU,
        variants=tuple(_ESTIMATORS),
        compute=_infomec("compactness"),
        estimators=_ESTIMATORS,
    ),
    ScoreKind(
        name="infomec/explicitness",
        family="infomec",
        title="InfoE",
        says="The share of a factor's uncertainty that a linear predictor from all codes removes.",
        rewards="factors are linear in the codes, in any rotation",
        source=_HSU,
        variants=tuple(_ESTIMATORS),
        low=-math.inf,
        compute=_infomec("explicitness"),
        estimators=_ESTIMATORS,
    ),
    ScoreKind(
        name="mig",
        family="mig",
        title="MIG",
        says="The difference in information about a factor between the best and the second-best "
        "code, as a share of entropy, averaged over factors.",
        rewards="each factor is encoded in one code",
        source="Chen et al. 2018",
        variants=_LIBRARY_FIRST,
        compute=_of_information(mig),
        estimators=ESTIMATORS,
    ),
    ScoreKind(
        name="mig-sup",
        family="mig-sup",
        title="MIG-sup",
        says="The difference in a code's information about its best and its second-best factor, "
        "as a share of entropy, averaged over codes.",
        rewards="each code encodes one factor, and all of it",
        source="Li et al. 2020",
        variants=_UBISOFT_FIRST,
        compute=_of_information(mig_sup),
        estimators=ESTIMATORS,
    ),
    ScoreKind(
        name="dcimig",
        family="dcimig",
        title="DCIMIG",
        says="The gaps of codes between their two best factors as a share of total entropy; each "
        "factor counts its largest gap.",
        rewards="each factor has a code of its own",
        source="Sepliarskaia et al. 2019",
        variants=_UBISOFT_FIRST,
        compute=_of_information(dcimig),
        estimators=ESTIMATORS,
    ),
    ScoreKind(
        name="rmig",
        family="rmig",
        title="RMIG",
        says="The gap of MIG in nats, not divided by an entropy.",
        rewards="each factor is encoded in one code",
        source="Do and Tran 2020",
        variants=_UBISOFT_FIRST[:2],
        high=math.inf,
        compute=_of_information(rmig),
        estimators=ESTIMATORS,
    ),
    ScoreKind(
        name="jemmig",
        family="jemmig",
        title="JEMMIG",
        says="The gap of MIG, penalised for information in the best code beyond its factor.",
        rewards="each factor is encoded in one code that contains nothing else",
        source="Do and Tran 2020",
        variants=_UBISOFT_FIRST[:1],
        compute=_of_information(jemmig, fixed=True),
        estimators=ESTIMATORS,
    ),
    ScoreKind(
        name="ridgeway/modularity",
        family="ridgeway",
        title="modularity",
        says="One minus the squared information of codes about all factors but their best, "
        "relative to the best, averaged over codes.",
        rewards="each code is informative about one factor",
        source="Ridgeway and Mozer 2018",
        variants=_LIBRARY_FIRST,
        compute=_of_information(ridgeway_modularity),
        estimators=ESTIMATORS,
    ),
)
