"""What a deep latent mixture model identifies, from what is assumed of its prior and decoder.

The model is x = f(z) + noise of known law, with z in R^m a Gaussian mixture whose component is the
hidden state U, and f into R^n, m ≤ n. The hierarchy is that of Kivva et al. 2022: Theorems 3.9 and
3.10, whose rows are `LEVELS` here. An assumption that nobody stated and no check decided counts as
missing.

The paper lets components be degenerate, and then its theorems fail: thirds at 0, 1 and 3 and thirds
at 0, 1 and 5 have one image under two injective decoders, and a component that is a point can stand
anywhere among the preimages of its image. So P1 asks for positive definite covariances here; of one
only where f is continuous and injective. docs/linear-identifiability.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Cell, Column, Group, InputError, Table
from upto.theory.arguments import check_count

if TYPE_CHECKING:
    from collections.abc import Iterable

MEANINGS = {
    "P1": "z is a Gaussian mixture whose covariances are all positive definite",
    "P1 partly": "z is a Gaussian mixture one of whose covariances is positive definite",
    "distinct": "no two components of the mixture are equal",
    "P2": "coordinates of z are independent given U, and two states have variances whose ratios "
    "all differ",
    "P3": "hidden variables are as many as possible, all seen, and none seen only where another is",
    "F1": "f is piecewise affine: affine on each of finitely many polyhedra with an interior",
    "F2": "f is weakly injective: some ball of its image has single preimages, and infinite ones "
    "have measure zero",
    "F3": "f is observably injective: almost every point of its image has one preimage",
    "F4": "f is injective",
    "continuous": "f is continuous",
}
"""The assumptions by name; a model with one hidden variable also has ``"one hidden variable"``."""

NOISE = "noise of known law"
"""What every level rests on besides, and nothing here checks."""
_ONE = "one hidden variable"
_IMPLIED = (("P1", "P1 partly"), ("P3", "distinct"), ("F4", "F3"), ("F3", "F2"))
"""Pairs of which the first implies the second, in an order in which one pass finds all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One assumption, whether it holds, and how that is known.

    Parameters
    ----------
    name
        As ``"P1"``.
    holds
        None where the check could not decide; what was seen is then evidence, not proof.
    evidence
        What was found, in words with the numbers.
    hidden_variables
        For how many hidden variables P3 was checked.
    """

    name: str
    holds: bool | None
    evidence: str
    hidden_variables: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One row of the hierarchy: what follows, by which theorem, from any one of some sets."""

    what: str
    routes: tuple[tuple[str, ...], ...]
    theorem: str


_WEAK = ("P1", "F1", "F2")
_INJECTIVE = ("P1 partly", "F1", "F4", "continuous")


def _either(*more: str) -> tuple[tuple[str, ...], ...]:
    return (*_WEAK, *more), (*_INJECTIVE, *more)


PRIOR_AFFINE = Level(what="P(Z) up to an affine map", routes=_either(), theorem="Theorem 3.10(a)")
DECODER_AFFINE = Level(
    what="f up to the same affine map", routes=(_INJECTIVE,), theorem="Theorem 3.10(d)"
)
PRIOR_COORDINATES = Level(
    what="P(Z) up to a permutation, scaling and translation of its coordinates",
    routes=_either("P2"),
    theorem="Theorem 3.10(b)",
)
DECODER_COORDINATES = Level(
    what="f up to the same permutation, scaling and translation",
    routes=((*_INJECTIVE, "P2"),),
    theorem="Theorem 3.10(b, d)",
)
HIDDEN_STATE = Level(
    what="P(U), for one hidden variable",
    routes=_either("distinct", _ONE),
    theorem="Theorem 3.9(a)",
)
HIDDEN_VARIABLES = Level(
    what="number k of hidden variables, their sizes d_i and P(U), up to their order",
    routes=_either("P2", "P3"),
    theorem="Theorem 3.10(c)",
)
LEVELS = (
    PRIOR_AFFINE,
    DECODER_AFFINE,
    PRIOR_COORDINATES,
    DECODER_COORDINATES,
    HIDDEN_STATE,
    HIDDEN_VARIABLES,
)
"""The hierarchy, the weakest guarantee first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A level, the assumptions it needs, and those it still lacks: none where it is reached.

    Of several sets of assumptions that would do, `needs` is the one that lacks least.
    """

    level: Level
    needs: tuple[str, ...]
    lacks: tuple[Assumption, ...]

    @property
    def reached(self) -> bool:
        """Whether all that it needs is there."""
        return not self.lacks

    def __str__(self) -> str:
        if self.reached:
            needs = ", ".join(self.needs)
            return f"{self.level.what}: by {self.level.theorem} from {needs} and {NOISE}"
        lacks = "; ".join(f"{each.name} ({each.evidence})" for each in self.lacks)
        return f"{self.level.what}: lacks {lacks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """What is identified from the law of x alone.

    Parameters
    ----------
    prior
        The group up to which P(Z) is identified; None where it is not.
    decoder
        The same for f.
    hidden
        Whether P(U), and with it the number and sizes of the hidden variables, is identified.
    guarantees
        Every level, reached or not, and what the others lack.
    assumptions
        What it rests on, those that follow from others included.
    """

    prior: Group | None
    decoder: Group | None
    hidden: bool
    guarantees: tuple[Guarantee, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def remark(self) -> str:
        """What is left of f where it is observably but not known to be fully injective."""
        known = {each.name: each.holds for each in self.assumptions}
        if self.decoder is not None or self.prior is None or not known.get("F3"):
            return ""
        return (
            "f is identified up to an affine map on each connected part of the latents whose image "
            "has one preimage, and the map may differ from part to part (Remark 3.11)"
        )

    def tables(self) -> tuple[Table, Table]:
        """Return the levels and the assumptions."""
        levels: list[tuple[Cell, ...]] = [
            (
                each.level.what,
                "yes" if each.reached else "no",
                each.level.theorem,
                ", ".join(check.name for check in each.lacks) or None,
            )
            for each in self.guarantees
        ]
        words = {True: "yes", False: "no", None: "not known"}
        return (
            Table(
                title="What is identified",
                columns=tuple(Column(name=name) for name in ("what", "is", "by", "lacks")),
                rows=tuple(levels),
            ),
            Table(
                title="What it rests on",
                columns=tuple(Column(name=name) for name in ("assumption", "holds", "evidence")),
                rows=(
                    *((each.name, words[each.holds], each.evidence) for each in self.assumptions),
                    (NOISE, "assumed", "the model; no check of prior or decoder tells"),
                ),
            ),
        )


def stated(*names: str) -> tuple[Assumption, ...]:
    """Take assumptions as given, because the model was built so.

    Examples
    --------
    >>> what_is_identified(stated("P1", "F1", "F4", "continuous")).decoder
    <Group.AFFINE: 'affine'>
    """
    return tuple(Assumption(name=name, holds=True, evidence="stated") for name in names)


def what_is_identified(
    assumptions: Iterable[Assumption], *, hidden_variables: int | None = None
) -> Identified:
    """Say what the law of x identifies under assumptions that were stated or checked.

    Parameters
    ----------
    assumptions
        What was stated or checked; where two say different things of one assumption, a failure
        counts most and an undecided check least.
    hidden_variables
        The number k of hidden variables, if it is known. Where it is one, P(U) is the weights of
        the mixture, and components that are distinct take the place of P2 and P3.

    Raises
    ------
    InputError
        If an assumption has no meaning here, or P3 was checked for another number of variables.
    """
    known: dict[str, Assumption] = {}
    for check in assumptions:
        if check.name not in MEANINGS:
            message = f"{check.name!r} is none of {', '.join(MEANINGS)}."
            raise InputError(message)
        before = known.get(check.name)
        if before is None or _weight(check) > _weight(before):
            known[check.name] = check
    _add_implied(known)
    one = Assumption(name=_ONE, holds=None, evidence="not stated")
    if hidden_variables is not None:
        count = check_count(hidden_variables, "hidden_variables")
        _refuse_another_number(known.get("P3"), count)
        one = Assumption(name=_ONE, holds=count == 1, evidence=f"k = {count}")
    guarantees = tuple(_guarantee(level, known | {_ONE: one}) for level in LEVELS)
    reached = {each.level.what for each in guarantees if each.reached}
    return Identified(
        prior=_group(reached, PRIOR_AFFINE, PRIOR_COORDINATES),
        decoder=_group(reached, DECODER_AFFINE, DECODER_COORDINATES),
        hidden=bool({HIDDEN_STATE.what, HIDDEN_VARIABLES.what} & reached),
        guarantees=guarantees,
        assumptions=tuple(known[name] for name in MEANINGS if name in known),
    )


def _refuse_another_number(check: Assumption | None, count: int) -> None:
    checked = None if check is None else check.hidden_variables
    if checked is not None and checked != count:
        message = (
            f"hidden_variables is {count}, but P3 was checked for {checked}: give check_prior the "
            f"states of {count} hidden variable{'s' * (count != 1)}."
        )
        raise InputError(message)


def _weight(check: Assumption) -> int:
    return {None: 0, True: 1, False: 2}[check.holds]


def _add_implied(known: dict[str, Assumption]) -> None:
    """Add what follows: F4 ⇒ F3 ⇒ F2 for a piecewise affine f, and so on; failures count most."""
    for stronger, weaker in reversed(_IMPLIED):
        if _holds(known, weaker) is False and _holds(known, stronger) is not False:
            evidence = f"follows from the failure of {weaker}"
            known[stronger] = Assumption(name=stronger, holds=False, evidence=evidence)
    for stronger, weaker in _IMPLIED:
        if _holds(known, stronger) and _holds(known, weaker) is None:
            evidence = f"follows from {stronger}"
            known[weaker] = Assumption(name=weaker, holds=True, evidence=evidence)


def _holds(known: dict[str, Assumption], name: str) -> bool | None:
    return known[name].holds if name in known else None


def _guarantee(level: Level, known: dict[str, Assumption]) -> Guarantee:
    lacks = [_lacking(route, known) for route in level.routes]
    best = min(range(len(lacks)), key=lambda number: len(lacks[number]))
    return Guarantee(level=level, needs=level.routes[best], lacks=lacks[best])


def _lacking(route: tuple[str, ...], known: dict[str, Assumption]) -> tuple[Assumption, ...]:
    needed = (
        known.get(name, Assumption(name=name, holds=None, evidence="neither stated nor checked"))
        for name in route
    )
    return tuple(each for each in needed if each.holds is not True)


def _group(reached: set[str], affine: Level, coordinates: Level) -> Group | None:
    if coordinates.what in reached:
        return Group.SCALED_PERMUTATION
    return Group.AFFINE if affine.what in reached else None
