"""Screens of the held-out-plate study: one that meets the theory's assumptions, and exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from upto.simulate import PlateLayout, Screen, ScreenEffects, draw_screen

MAIN = "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of screen, defined by its differences from the main one.

    Parameters
    ----------
    name, says
        Name and description.
    wells
        Wells per plate, as a multiple of the default.
    layout, effects, drawing
        Arguments of `PlateLayout`, `ScreenEffects` and `draw_screen` that differ.
    components
        Fraction of components kept, relative to the features; None keeps all.
    classifier
        Classifier of the label.
    """

    name: str
    says: str
    wells: float = 1.0
    layout: Mapping[str, Any] = field(default_factory=dict)
    effects: Mapping[str, Any] = field(default_factory=dict)
    drawing: Mapping[str, Any] = field(default_factory=dict)
    components: float | None = None
    classifier: str = "boosted"


# Four times as many features as factors, so that most directions are pure noise.
_NOISY = {"factors_share": 0.25, "noise": 0.3}

CASES = {
    case.name: case
    for case in (
        Case(name=MAIN, says="a rotation of independent Laplace factors"),
        Case(name="axis-aligned", says="no mixing", drawing={"mixing": "none"}),
        Case(
            name="principal",
            says="factors of different variances, rotated",
            drawing={"mixing": "principal"},
        ),
        Case(name="any matrix", says="a random matrix", drawing={"mixing": "linear"}),
        Case(
            name="bent",
            says="a LeakyReLU network of slopes 1 and 1/2",
            drawing={"mixing": "leaky"},
        ),
        Case(name="gaussian", says="Gaussian factors", drawing={"sources": "gaussian"}),
        Case(name="logistic", says="logistic factors", drawing={"sources": "logistic"}),
        Case(name="uniform", says="uniform factors", drawing={"sources": "uniform"}),
        Case(name="an eighth", says="an eighth of the wells", wells=0.125),
        Case(name="a quarter", says="a quarter of the wells", wells=0.25),
        Case(name="half", says="half of the wells", wells=0.5),
        Case(name="double", says="twice the wells", wells=2.0),
        Case(name="linear", says="a linear classifier", classifier="linear"),
        Case(
            name="no plates",
            says="no plate effects",
            effects={"plate_offset": 0.0, "plate_scale": 0.0},
        ),
        Case(name="strong plates", says="plate effects of 3", effects={"plate_offset": 3.0}),
        Case(
            name="shared",
            says="plates move the biological factors",
            effects={"n_shared": 4},
        ),
        Case(
            name="shared and strong",
            says="plates move the biological factors by 3",
            effects={"n_shared": 4, "plate_offset": 3.0},
        ),
        Case(
            name="plates on rows",
            says="plates move every coordinate",
            effects={"observed_offset": 0.5, "observed_scale": 0.2},
        ),
        Case(
            name="many axes",
            says="every guide moves all biological factors by half as much",
            effects={"n_axes": 4, "shift_share": 0.5},
        ),
        Case(
            name="noise, all kept",
            says="three of four directions are noise, all kept",
            drawing=_NOISY,
        ),
        Case(
            name="noise, half kept",
            says="three of four directions are noise, half kept",
            drawing=_NOISY,
            components=0.5,
        ),
        Case(
            name="noise, a quarter kept",
            says="three of four directions are noise, a quarter kept",
            drawing=_NOISY,
            components=0.25,
        ),
        Case(
            name="confounded",
            says="guides that do nothing, on plates of their own",
            layout={"confounded": 1.0},
            effects={"shift_share": 0.0, "plate_offset": 2.0},
        ),
    )
}
"""Cases by name."""


def draw_case(
    case: Case,
    layout: PlateLayout,
    effects: ScreenEffects,
    *,
    n_features: int,
    noise: float,
    seed: int,
) -> Screen:
    """Simulate a screen of a case, based on the layout and effects of the main one."""
    changes = dict(case.effects)
    shift = effects.shift * changes.pop("shift_share", 1.0)
    drawing = {"noise": noise, **case.drawing}
    share = drawing.pop("factors_share", 1.0)
    n_wells = max(2, round(layout.n_wells * case.wells))
    return draw_screen(
        replace(layout, n_wells=n_wells, **case.layout),
        replace(effects, shift=shift, **changes),
        n_features=n_features,
        n_factors=round(n_features * share),
        seed=seed,
        **drawing,
    )
