"""Search for models with one law of x whose latents differ by more than promised.

Each model and each rival is tested by `check_prior`, `check_decoder` and `what_is_identified`. A
promise made for both must hold between them; a promise for only one concerns other rivals. The rule
as printed in the paper, with degenerate components, is tested on the same pairs as a control, and
is violated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Group
from upto.theory.decoder_assumptions import check_decoder
from upto.theory.hierarchy import Assumption, Identified, stated, what_is_identified
from upto.theory.priors import check_prior
from upto_studies.trials.case import Case
from upto_studies.trials.group_distance import UNLIKE, decoder_distance, prior_distance
from upto_studies.trials.rivals import Model, Rival, draw_model, draw_rival, one_law

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDING_OF_LAWS = 1e-6
"""Distance in standard units above which latents are not related as promised."""

_MOVES = 6
_LATENTS = 32


def identified_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Attack every promise of `what_is_identified`, and those of the paper as printed.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of models, alternately of one and two coordinates; several rivals of each are tried.

    Returns
    -------
    Cases of the rule, named ``identified-…``, and of the printed rule, named ``printed-…``.
    """
    cases = []
    for number in range(count):
        width = 1 + number % 2
        drawn = draw_model(rng, width)
        for _ in range(_MOVES):
            rival = draw_rival(rng, drawn)
            if not _is_spread(drawn.model, rival.model) or not one_law(rng, drawn.model, rival):
                continue
            cases += judged(drawn.model, rival)
    return cases


def judged(model: Model, rival: Rival) -> list[Case]:
    """Test the promises of each rule on a model and a rival with one law of x."""
    checks = [_checks(each) for each in (model, rival.model)]
    cases = []
    for name, rule in RULES.items():
        first, second = (what_is_identified(map(rule, each), hidden_variables=1) for each in checks)
        cases += [
            Case(
                statement=f"{name}-{what}",
                kind=f"{model.kind}, {rival.move}",
                n_dimensions=model.means.shape[1],
                measured=measured,
                bound=ROUNDING_OF_LAWS,
            )
            for what, measured in _distances(model, rival, first, second).items()
        ]
    return cases


def in_print(check: Assumption) -> Assumption:
    """Return a check as the paper prints it: components may be degenerate."""
    if not check.name.startswith("P1"):
        return check
    return Assumption(name=check.name, holds=True, evidence="allowed in print")


RULES: dict[str, Callable[[Assumption], Assumption]] = {
    "identified": lambda check: check,
    "printed": in_print,
}
"""Interpretation of checks by the library's rule and by the control."""


def _distances(
    model: Model, rival: Rival, first: Identified, second: Identified
) -> dict[str, float]:
    found = {}
    if first.prior is not None and second.prior is not None:
        found["prior"] = prior_distance(model, rival.model, _weaker(first.prior, second.prior))
    if first.decoder is not None and second.decoder is not None:
        group = _weaker(first.decoder, second.decoder)
        found["decoder"] = decoder_distance(model, rival, group)
    if first.hidden and second.hidden:
        found["hidden"] = weights_apart(model, rival.model)
    return found


def _checks(model: Model) -> list[Assumption]:
    checked = [*check_prior(model.mixture), *check_decoder(model.network, n_points=_LATENTS)]
    # For one coordinate the checks decide; for more, injectivity is known by construction.
    known = stated(*model.facts) if model.means.shape[1] > 1 else ()
    return [*checked, *known]


def _weaker(first: Group, second: Group) -> Group:
    return Group.AFFINE if Group.AFFINE in (first, second) else first


def _is_spread(*models: Model) -> bool:
    """Return whether latents vary in every direction, so that a map between them is unique."""
    for model in models:
        away = model.means - model.weights @ model.means
        total = model.covariances + away[:, :, None] * away[:, None]
        values = np.linalg.eigvalsh(np.einsum("j,jab->ab", model.weights, total))
        if values[0] <= 1e-6 * values[-1]:
            return False
    return True


def weights_apart(model: Model, other: Model) -> float:
    """Return the distance of P(U) of two models, up to the order of states."""
    if len(model.weights) != len(other.weights):
        return UNLIKE
    return float(np.abs(np.sort(model.weights) - np.sort(other.weights)).max())
