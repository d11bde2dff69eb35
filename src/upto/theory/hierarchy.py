"""Identifiability of deep latent mixture models, from assumptions on prior and decoder.

The model is x = f(z) + noise of known law, with z in R^m a Gaussian mixture whose component is the
hidden state U, and f into R^n, m ≤ n. The hierarchy is that of Kivva et al. 2022: Theorems 3.9 and
3.10, whose rows are `LEVELS` here. An assumption that is neither stated nor decided by a check
counts as missing.

The paper allows degenerate components, for which its theorems fail: thirds at 0, 1 and 3 and thirds
at 0, 1 and 5 have one image under two injective decoders, and a component that is a point can be
anywhere among the preimages of its image. So P1 requires positive definite covariances here; of one
component only, if f is continuous and injective. docs/linear-identifiability.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Cell, Column, Group, InputError, Table
from upto.theory.valid_numbers import check_count

if TYPE_CHECKING:
    from collections.abc import Iterable

MEANINGS = {
    "P1": "z is a Gaussian mixture whose covariances are all positive definite",
    "P1 partly": "z is a Gaussian mixture one of whose covariances is positive definite",
    "distinct": "no two components of the mixture are equal",
    "P2": "coordinates of z are independent given U, and two states have variances whose ratios "
    "all differ",
    "P3": "hidden variables are maximal, all observed, and none observed only where another is",
    "F1": "f is piecewise affine: affine on each of finitely many polyhedra with an interior",
    "F2": "f is weakly injective: some ball of its image has single preimages, and points "
    "with infinitely many have measure zero",
    "F3": "f is observably injective: almost every point of its image has one preimage",
    "F4": "f is injective",
    "continuous": "f is continuous",
}
"""The assumptions by name; a model with one hidden variable also has ``"one hidden variable"``."""

NOISE = "noise of known law"
"""A further assumption of every level, not checked here."""
_ONE = "one hidden variable"
_IMPLIED = (("P1", "P1 partly"), ("P3", "distinct"), ("F4", "F3"), ("F3", "F2"))
"""Pairs whose first member implies the second, ordered so that one pass finds all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One assumption, whether it holds, and the evidence.

    Parameters
    ----------
    name
        Name, e.g. ``"P1"``.
    holds
        Whether it holds; None if undecided, when the evidence is not proof.
    evidence
        Result of the check, with the numbers.
    hidden_variables
        Number of hidden variables for which P3 was checked.
    n_enough
        Number of rows from which a test that was passed would decide; None if it does, or was not.

    See Also
    --------
    stated : Assumptions that hold by construction of the model.
    check_prior : Checks those on the prior.
    check_decoder : Checks those on the decoder.
    what_is_identified : Takes assumptions.
    """

    name: str
    holds: bool | None
    evidence: str
    hidden_variables: int | None = None
    n_enough: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One row of the hierarchy: a guarantee, its theorem, and sets of sufficient assumptions."""

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
    """A level, the assumptions it needs, and those it still lacks: none if it is reached.

    Several sets of assumptions may suffice. `needs` is the set with the fewest that fail and, if
    that is equal, with the fewest that are lacking.
    """

    level: Level
    needs: tuple[str, ...]
    lacks: tuple[Assumption, ...]

    @property
    def reached(self) -> bool:
        """Whether all needed assumptions hold."""
        return not self.lacks

    def __str__(self) -> str:
        if self.reached:
            needs = ", ".join(self.needs)
            return f"{self.level.what}: by {self.level.theorem} from {needs} and {NOISE}"
        lacks = "; ".join(f"{each.name} ({each.evidence})" for each in self.lacks)
        return f"{self.level.what}: lacks {lacks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Parts of the model identified from the law of x alone.

    Parameters
    ----------
    prior
        Group up to which P(Z) is identified; None if it is not.
    decoder
        Group up to which f is identified; None if it is not.
    hidden
        Whether P(U), and with it the number and sizes of the hidden variables, is identified.
    guarantees
        Every level, reached or not, with the assumptions it lacks.
    assumptions
        The assumptions, including those that follow from others.

    See Also
    --------
    what_is_identified : Returns it.
    """

    prior: Group | None
    decoder: Group | None
    hidden: bool
    guarantees: tuple[Guarantee, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def remark(self) -> str:
        """Guarantee for f if it is observably, but not known to be fully, injective."""
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
                    (NOISE, "assumed", "the model; not testable from prior or decoder"),
                ),
            ),
        )


def stated(*names: str) -> tuple[Assumption, ...]:
    """Return assumptions that hold by construction of the model.

    Parameters
    ----------
    *names
        Names of assumptions, as in the table of `what_is_identified`.

    Returns
    -------
    tuple of Assumption
        One for each name.

    See Also
    --------
    what_is_identified : Takes them, and refuses unknown names.
    check_prior : Checks instead of stating.
    check_decoder : Checks instead of stating.

    Examples
    --------
    >>> from upto.theory import stated, what_is_identified
    >>> what_is_identified(stated("P1", "F1", "F4", "continuous")).decoder
    <Group.AFFINE: 'affine'>
    """
    return tuple(Assumption(name=name, holds=True, evidence="stated") for name in names)


def what_is_identified(
    assumptions: Iterable[Assumption], *, hidden_variables: int | None = None
) -> Identified:
    """Return what the law of x identifies under stated or checked assumptions.

    Parameters
    ----------
    assumptions
        Stated or checked assumptions; if two disagree, a failure takes precedence, and an undecided
        check counts least.
    hidden_variables
        Number k of hidden variables, if known. If it is one, P(U) are the weights of the mixture,
        and distinct components replace P2 and P3.

    Returns
    -------
    Identified
        The groups, and every level with the assumptions it lacks.

    Raises
    ------
    InputError
        If an assumption is unknown, or P3 was checked for another number of variables.

    See Also
    --------
    stated : Assumptions that hold by construction.
    check_prior : Checks of the assumptions on the prior.
    check_decoder : Checks of the assumptions on the decoder.
    upto.mixture : Checks, table and verdict for runs of codes.

    Notes
    -----
    The model is x = f(z) + noise of known law, with z a Gaussian mixture.

    ==============  ======================================================================
    ``P1``          all covariances are positive definite
    ``P1 partly``   one covariance is positive definite
    ``distinct``    no two components are equal
    ``P2``          coordinates are independent within components, and all ratios of the
                    variances of two of them differ
    ``P3``          hidden variables are maximal, all observed, and none observed only
                    where another is
    ``F1``          f is piecewise affine
    ``F2``          f is weakly injective
    ``F3``          f is observably injective: almost every image has one preimage
    ``F4``          f is injective
    ``continuous``  f is continuous
    ==============  ======================================================================

    ``P1, F1, F2`` identify the law of z up to an affine map; ``P1 partly, F1, F4, continuous`` also
    f. With ``P2`` both are identified up to a permutation, scaling and translation of the
    coordinates, and with ``P3`` the hidden variables too. The paper allows degenerate components,
    for which its theorems fail; so P1 is stricter here.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> from upto.theory import stated, what_is_identified
    >>> found = what_is_identified(stated("P1", "P2", "F1", "F2"))
    >>> found.prior, found.decoder, found.hidden
    (<Group.SCALED_PERMUTATION: 'scaled-permutation'>, None, False)
    """
    known: dict[str, Assumption] = {}
    for check in assumptions:
        if check.name not in MEANINGS:
            message = f"{check.name!r} is not one of {', '.join(MEANINGS)}."
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
    """Add implied assumptions, e.g. F4 ⇒ F3 ⇒ F2 for a piecewise affine f; failures win."""
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
    # What is not known may yet be shown; what fails cannot.
    best = min(range(len(lacks)), key=lambda number: (_failures(lacks[number]), len(lacks[number])))
    return Guarantee(level=level, needs=level.routes[best], lacks=lacks[best])


def _failures(lacks: tuple[Assumption, ...]) -> int:
    return sum(each.holds is False for each in lacks)


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
