"""Quantities, tables and plots of the study of dropped assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Column, Estimate, Group, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.fitted_decoders import KINDS, STARTS
from upto_studies.study_marks import estimate_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Cell
    from upto_studies.dropped_assumptions import Compared, Findings, Settings
    from upto_studies.fitted_decoders import Search

RUNGS = {"injective": "F4 holds", "flat": "only F3", "zigzag": "only F2", "fold": "not F2"}
"""What holds of each fitted decoder."""
SMOOTH = "F1: 64 pieces of a smooth f"
COUNTED = (
    "Sharp: the rival differs by what the prediction leaves open. Only what could have come out "
    "otherwise is counted."
)
_MATCHED = 0.999
_APART = 0.01
"""Difference of priors, in standard deviations, that counts as a loss."""


def holds(settings: Settings, each: Compared) -> bool | None:
    """Return whether a rival keeps what is promised; None if it cannot break it.

    Nothing can be broken where nothing is promised, nor up to affine maps by rivals in the plane,
    which are linear images of their models by construction.
    """
    if each.predicted is not Group.SCALED_PERMUTATION:
        return None
    return each.up_to_scale <= settings.same and each.mcc >= _MATCHED


def loses(each: Compared) -> bool | None:
    """Return whether a rival differs by as much as the prediction allows; None if it must.

    Order and scale leave nothing to lose, and another number of components is always a loss.
    """
    if each.predicted is Group.SCALED_PERMUTATION:
        return None
    if each.predicted is Group.AFFINE:
        return each.mcc < _MATCHED
    return None if each.up_to_affine == 1.0 else each.up_to_affine > _APART


def tally(found: Iterable[bool | None]) -> tuple[int, int]:
    """Return how many are true, of how many that could be false."""
    counted = [each for each in found if each is not None]
    return sum(counted), len(counted)


def measured_of(settings: Settings, found: Findings) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    every = [each for own in found.pairs.values() for each in own]
    exact = [each for case, own in found.pairs.items() if case != SMOOTH for each in own]
    measured = {
        "divergence of rivals": Estimate(value=max(abs(each.divergence) for each in exact)),
        "agreement by chance": over_pairs([each.chance for each in every]),
    }
    shares = {
        "predictions that hold": tally(holds(settings, each) for each in every),
        "predictions that cannot be sharper": tally(loses(each) for each in every),
    }
    for name, (count, total) in shares.items():
        if total:
            measured[name] = Estimate(value=count / total)
    for case, own in found.pairs.items():
        measured[f"MCC of latents, {case}"] = over_pairs([each.mcc for each in own], high=1.0)
        measured[f"mean CCA of latents, {case}"] = over_pairs(
            [each.mean_cca for each in own], high=1.0
        )
        measured[f"prior up to affine, {case}"] = over_pairs(
            [each.up_to_affine for each in own], low=0.0
        )
        measured[f"prior up to scale, {case}"] = over_pairs(
            [each.up_to_scale for each in own], low=0.0
        )
    measured["L2 distance, one Gaussian"] = over_pairs(
        [each.densities for each in found.pairs[SMOOTH] if each.densities is not None], low=0.0
    )
    last = max(found.pieces)
    measured["divergence, most pieces"] = over_pairs(found.pieces[last])
    loosest = max(settings.limits)
    for kind in KINDS:
        for name, limit in (("loosest", loosest), ("strictest", min(settings.limits))):
            apart = _farthest(found.searches[kind], limit)
            if apart is not None:
                measured[f"farthest fit, {RUNGS[kind]}, {name} limit"] = apart
    return measured


def says_of(settings: Settings, found: Findings, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    every = [each for own in found.pairs.values() for each in own]
    kept = tally(holds(settings, each) for each in every)
    return sentence(kept, len(every), max(found.pieces), measured)


def sentence(
    kept: tuple[int, int], n_rivals: int, n_pieces: int, measured: dict[str, Estimate]
) -> str:
    """Return the result sentence from counts and quantities.

    Parameters
    ----------
    kept
        Rivals that keep the promise, and those that could break it.
    n_rivals
        Number of all rivals.
    n_pieces
        Most pieces of the decoder that takes a Gaussian to a mixture.
    measured
        The quantities.
    """
    return (
        f"{kept[0]} of {kept[1]} rivals searched for where all assumptions hold keep order and "
        f"scale of coordinates; {n_rivals - kept[1]} others are made to show what is "
        f"lost: priors differ by {measured['prior up to affine, F2: f = |z|']:.2f} standard "
        f"deviations under |z| and by "
        f"{measured['prior up to affine, P1: all components are points']:.2f} if all "
        f"components are points, where the paper promises none; a single Gaussian and a decoder "
        f"of {n_pieces} pieces are within "
        f"{measured['divergence, most pieces'].value:.1g} nats of a mixture of two"
    )


def tables_of(settings: Settings, found: Findings) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    return _pairs_table(settings, found), _fits_table(settings, found), _pieces_table(found)


def panels_of(settings: Settings, found: Findings) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    cases = tuple(found.pairs)
    counts = sorted(found.pieces)
    return (
        Panel(
            title="Latents of models with one law of x",
            x="assumption dropped",
            y="agreement",
            marks=(
                estimate_marks(
                    "mean CCA: up to an affine map",
                    [
                        over_pairs([each.mean_cca for each in found.pairs[case]], high=1.0)
                        for case in cases
                    ],
                ),
                estimate_marks(
                    "MCC: up to order and scale",
                    [
                        over_pairs([each.mcc for each in found.pairs[case]], high=1.0)
                        for case in cases
                    ],
                ),
            ),
            x_names=cases,
            y_zero=True,
            caption="Held out; means over models with 95 % intervals. Shuffled latents agree by "
            f"{max(each.chance for own in found.pairs.values() for each in own):.2f} at most.",
        ),
        Panel(
            title="Priors of fits, by how nearly laws of x agree",
            x="divergence of the fit, nats",
            y="distance of priors",
            marks=tuple(
                Marks(
                    name=f"{kind}, {RUNGS[kind]}",
                    x=tuple(float(max(value, 1e-12)) for value in _all(own, "divergences")),
                    y=tuple(_all(own, "distances")),
                )
                for kind, own in found.searches.items()
            ),
            x_log=True,
            y_zero=True,
            caption=f"L-BFGS over all parameters from {settings.n_starts} starts of each of "
            f"{settings.n_fitted} models.",
        ),
        Panel(
            title="One Gaussian in place of two",
            x="pieces of the decoder",
            y="divergence, nats",
            marks=(
                Marks(
                    name="mean over models",
                    x=tuple(map(float, counts)),
                    y=tuple(float(found.pieces[count].mean()) for count in counts),
                    kind="line",
                ),
            ),
            x_log=True,
            y_log=True,
            caption="The decoder approximates the map that takes the Gaussian to the mixture.",
        ),
    )


def _pairs_table(settings: Settings, found: Findings) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case, own in found.pairs.items():
        groups = {each.predicted for each in own}
        known = [each.densities for each in own if each.densities is not None]
        rows.append(
            (
                case,
                ", ".join(sorted("nothing" if each is None else str(each) for each in groups)),
                len(own),
                max(abs(each.divergence) for each in own),
                over_pairs([each.up_to_affine for each in own], low=0.0),
                over_pairs([each.up_to_scale for each in own], low=0.0),
                over_pairs(known, low=0.0) if known else None,
                over_pairs([each.mean_cca for each in own], high=1.0),
                over_pairs([each.mcc for each in own], high=1.0),
                _counted(tally(holds(settings, each) for each in own)),
                _counted(tally(loses(each) for each in own)),
            )
        )
    return Table(
        title="Rivals with the same law of x",
        columns=(
            Column(name="dropped"),
            Column(name="P(Z) predicted up to"),
            Column(name="models"),
            Column(name="largest divergence", spec=".1e"),
            Column(name="prior up to affine", spec=".3g"),
            Column(name="prior up to scale", spec=".3g"),
            Column(name="L2 distance", spec=".3f"),
            Column(name="mean CCA", spec=".3f"),
            Column(name="MCC", spec=".3f"),
            Column(name="prediction holds"),
            Column(name="and is sharp"),
        ),
        rows=tuple(rows),
        caption="Means over models with 95 % intervals. Priors: largest difference of components "
        "after the best map, in standard deviations; 1 if their numbers differ. L2 distance of "
        "densities up to an affine map. Mean CCA and MCC: of latents with the same images, held "
        f"out. {COUNTED}",
    )


def _counted(counts: tuple[int, int]) -> str | None:
    return f"{counts[0]} of {counts[1]}" if counts[1] else None


def _fits_table(settings: Settings, found: Findings) -> Table:
    limits = sorted(settings.limits, reverse=True)
    rows: list[tuple[Cell, ...]] = []
    for kind, own in found.searches.items():
        for limit in limits:
            counts = [int((each.divergences <= limit).sum()) for each in own]
            rows.append(
                (
                    f"{kind}, {RUNGS[kind]}",
                    f"{limit:.0e}",
                    f"{sum(counts)} of {settings.n_starts * len(own)}",
                    sum(count > 0 for count in counts),
                    _farthest(own, limit),
                )
            )
    return Table(
        title="Priors of fits from many starts",
        columns=(
            Column(name="decoder"),
            Column(name="divergence up to"),
            Column(name="fits"),
            Column(name="models with a fit"),
            Column(name="farthest prior", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="L2 distance of the prior of a fit from the truth up to an affine map: the "
        "largest of each model's fits, mean over models with 95 % interval. Starts by turns: "
        f"{', '.join(STARTS)}; L-BFGS, at most {settings.n_steps} steps.",
    )


def _pieces_table(found: Findings) -> Table:
    return Table(
        title="One Gaussian in place of two",
        columns=(Column(name="pieces"), Column(name="divergence", spec=".2e")),
        rows=tuple((str(count), over_pairs(found.pieces[count])) for count in sorted(found.pieces)),
        caption="Means over models with 95 % intervals.",
    )


def _farthest(own: Sequence[Search], limit: float) -> Estimate | None:
    values = [value for each in own if (value := each.farthest(limit)) is not None]
    return over_pairs(values) if values else None


def _all(own: Sequence[Search], name: str) -> list[float]:
    return [value for each in own for value in getattr(each, name).tolist()]
