"""A search for models with one law of x whose latents differ by more than is promised.

Each model and each rival is given to `check_prior`, `check_decoder` and `what_is_identified`. What is
promised to both must hold between them; what is promised to one of them only is a promise about
other rivals. The rule that the paper prints, with degenerate components, is judged on the same pairs
as a control, and is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Group
from upto.theory.decoders import check_decoder
from upto.theory.hierarchy import Assumption, Identified, stated, what_is_identified
from upto.theory.priors import check_prior
from upto.theory.trials.case import Case
from upto.theory.trials.relations import UNLIKE, decoder_distance, prior_distance
from upto.theory.trials.rivals import Model, Rival, draw_model, draw_rival, one_law

if TYPE_CHECKING:
    from collections.abc import Iterable

Rule = Callable[[Model], "Identified"]

ROUNDING_OF_LAWS = 1e-6
"""Latents that are further than this from being related as promised, in standard units, are not."""

_MOVES = 6


def identified_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Attack every promise of `what_is_identified`, and those of the paper as it is printed.

    Parameters
    ----------
    rng
        Generator of everything random.
    count
        How many models, of one and two coordinates in turn; several rivals of each are tried.

    Returns
    -------
    Cases of the rule, named ``identified-…``, and of the rule in print, named ``printed-…``.
    """
    cases = []
    for number in range(count):
        width = 1 + number % 2
        drawn = draw_model(rng, width)
        for _ in range(_MOVES):
            rival = draw_rival(rng, drawn)
            if not _is_spread(drawn.model, rival.model) or not one_law(rng, drawn.model, rival):
                continue
            cases += judged(drawn.model, rival, promised, "identified")
            cases += judged(drawn.model, rival, promised_in_print, "printed")
    return cases


def judged(model: Model, rival: Rival, rule: Rule, name: str) -> list[Case]:
    """Compare a model and a rival of one law of x with what a rule promises to both."""
    first, second = rule(model), rule(rival.model)
    found = {}
    if first.prior is not None and second.prior is not None:
        found["prior"] = prior_distance(model, rival.model, _weaker(first.prior, second.prior))
    if first.decoder is not None and second.decoder is not None:
        group = _weaker(first.decoder, second.decoder)
        found["decoder"] = decoder_distance(model, rival, group)
    if first.hidden and second.hidden:
        found["hidden"] = weights_apart(model, rival.model)
    return [
        Case(
            statement=f"{name}-{what}",
            kind=f"{model.kind}, {rival.move}",
            n_dimensions=model.means.shape[1],
            measured=measured,
            bound=ROUNDING_OF_LAWS,
        )
        for what, measured in found.items()
    ]


def promised(model: Model) -> Identified:
    """Say what is identified of a model, by the checks of the library."""
    return what_is_identified(_checks(model), hidden_variables=1)


def promised_in_print(model: Model) -> Identified:
    """Say what the paper's theorems promise as printed: components may be degenerate."""
    allowed = [
        Assumption(name=each.name, holds=True, evidence="allowed in print")
        if each.name.startswith("P1")
        else each
        for each in _checks(model)
    ]
    return what_is_identified(allowed, hidden_variables=1)


def _checks(model: Model) -> Iterable[Assumption]:
    checked = [*check_prior(model.mixture), *check_decoder(model.network)]
    # Of one coordinate the checks decide alone; of more, injectivity is known by construction.
    known = stated(*model.facts) if model.means.shape[1] > 1 else ()
    return [*checked, *known]


def _weaker(first: Group, second: Group) -> Group:
    return Group.AFFINE if Group.AFFINE in (first, second) else first


def _is_spread(*models: Model) -> bool:
    """Say whether latents vary in every direction, so that a map between them is unique."""
    for model in models:
        away = model.means - model.weights @ model.means
        total = model.covariances + away[:, :, None] * away[:, None]
        values = np.linalg.eigvalsh(np.einsum("j,jab->ab", model.weights, total))
        if values[0] <= 1e-6 * values[-1]:
            return False
    return True


def weights_apart(model: Model, other: Model) -> float:
    """Return how far P(U) of one model is from that of another, but for the order of states."""
    if len(model.weights) != len(other.weights):
        return UNLIKE
    return float(np.abs(np.sort(model.weights) - np.sort(other.weights)).max())
