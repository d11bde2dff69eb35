"""Report of the autoencoder and ICA study: Table 2, gains, selections and speed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from upto.core import Column, Estimate, Marks, Panel, Table
from upto.questions.factors.forms import FORMS
from upto_studies.autoencoder_scores import CHOICES, Row
from upto_studies.image_runs import SETS
from upto_studies.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.autoencoder_ica import Settings
    from upto_studies.autoencoder_scores import Candidate
    from upto_studies.image_runs import Encoded


PAPER: dict[str, dict[str, tuple[float, float, float]]] = {
    "Shapes3D": {
        "ae": (0.34, 0.99, 0.16),
        "ae + ICA": (0.79, 0.99, 0.52),
        "beta-vae": (0.59, 0.99, 0.49),
        "beta-tcvae": (0.61, 0.82, 0.62),
        "bio-ae": (0.56, 0.98, 0.44),
    },
    "Falcor3D": {
        "ae": (0.37, 0.83, 0.20),
        "ae + ICA": (0.71, 0.83, 0.33),
        "beta-vae": (0.71, 0.73, 0.70),
        "beta-tcvae": (0.66, 0.74, 0.71),
        "bio-ae": (0.54, 0.73, 0.31),
    },
}
"""Table 2: InfoM, InfoE and InfoC on the published sets, whose images differ from ours."""
_NAMES = {
    "ae": "AE",
    "beta-vae": "β-VAE",
    "annealed-vae": "annealed β-VAE",
    "beta-tcvae": "β-TCVAE",
    "factor-vae": "FactorVAE",
    "bio-ae": "BioAE",
    "vq-vae": "VQ-VAE",
    "qlae": "QLAE",
}
_OTHERS = tuple(kind for kind in _NAMES if kind != "ae")
_UNMIXED = tuple(form for form in FORMS if form != "as-given")


def seed_mean(values: Float) -> Estimate | None:
    """Return a mean over seeds with Student's interval; None if the score is undefined."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    mean = float(known.mean())
    if len(known) < 2:
        return Estimate(value=mean)
    half = float(stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known)))
    return Estimate(value=mean, low=mean - half, high=mean + half)


def outcome_of(
    settings: Settings,
    scored: tuple[list[Row], dict[tuple[str, str], list[Candidate]]],
    encoded: Sequence[Encoded],
) -> Outcome:
    """Return the outcome of the study."""
    rows, candidates = scored
    measured = _measured(settings, rows, encoded)
    return Outcome(
        measured=measured,
        says=_says(settings, measured),
        tables=(
            *(_scores_table(images, rows) for images in settings.sets),
            _gains_table(settings, rows),
            _choices_table(candidates),
            _speed_table(settings, encoded),
        ),
        panels=tuple(_panel(images, rows) for images in settings.sets),
        device=encoded[0].device,
    )


def _row(rows: Sequence[Row], images: str, form: str, choice: str) -> Row:
    return next(row for row in rows if (row.images, row.form, row.choice) == (images, form, choice))


def gain(rows: Sequence[Row], images: str, form: str, choice: str, score: str) -> Estimate | None:
    """Return the paired gain of a form of ICA in a score; each form is selected separately."""
    before, after = (_row(rows, images, each, choice) for each in ("as-given", form))
    return seed_mean(after.values(score) - before.values(score))


def _measured(
    settings: Settings, rows: Sequence[Row], encoded: Sequence[Encoded]
) -> dict[str, Estimate]:
    found: dict[str, Estimate | None] = {}
    for images in settings.sets:
        for form in _UNMIXED:
            name = f"{images}: gain of InfoM by {FORMS[form].name}"
            found[name] = gain(rows, images, form, "by InfoM", "modularity")
        found[f"{images}: gain of adjusted InfoM by ICA, active"] = gain(
            rows, images, "ica-active", "by InfoM", "adjusted_modularity"
        )
        found[f"{images}: the same chosen by agreement"] = gain(
            rows, images, "ica-active", "by agreement", "adjusted_modularity"
        )
        plain = _row(rows, images, "as-given", "by InfoM")
        found[f"{images}: InfoM of the autoencoder over chance"] = seed_mean(
            plain.values("modularity") - plain.values("chance_modularity")
        )
        found[f"{images}: loss of InfoE by ICA, active"] = seed_mean(
            plain.values("explicitness")
            - _row(rows, images, "ica-active", "by InfoM").values("explicitness")
        )
        others = [row for row in rows if row.images == images and row.model in _OTHERS]
        if others:
            best = max(float(np.nanmean(row.values("adjusted_modularity"))) for row in others)
            own = _row(rows, images, "ica-active", "by InfoM").values("adjusted_modularity")
            found[f"{images}: ICA, active, over the best other model"] = seed_mean(own - best)
        found[f"{images}: best reconstruction"] = Estimate(
            value=max(max(each.psnr) for each in encoded if each.member.images == images)
        )
    found["steps a second"] = Estimate(value=float(np.mean([each.rate for each in encoded])))
    return {name: each for name, each in found.items() if each is not None}


def _says(settings: Settings, measured: dict[str, Estimate]) -> str:
    gains = [
        f"{measured[name]:+.2f} on {images}"
        for images in settings.sets
        if (name := f"{images}: gain of adjusted InfoM by ICA, active") in measured
    ]
    return (
        "ICA on the active directions of plain autoencoders changes InfoM, beyond chance, by "
        + " and ".join([", ".join(gains[:-1]), gains[-1]] if len(gains) > 1 else gains)
    )


def _title(row: Row) -> str:
    name = _NAMES.get(row.model, row.model)
    if row.form is None:
        return name
    form = "" if row.form == "as-given" else f" + {FORMS[row.form].name}"
    return f"{name}{form}, {row.choice}"


def _paper(row: Row) -> str:
    published = PAPER.get(SETS[row.images].published or "", {})
    unmixed = row.form in ("ica-literal", "ica")
    found = published.get("ae + ICA" if unmixed else row.model)
    if found is None or row.choice == "by agreement" or row.form == "ica-active":
        return "–"
    return " ".join(f"{value:.2f}".removeprefix("0") for value in found)


def _scores_table(images: str, rows: Sequence[Row]) -> Table:
    chosen = [row for row in rows if row.images == images]
    body: list[tuple[Cell, ...]] = [
        (
            _title(row),
            "–" if row.weight_decay is None else f"{row.weight_decay:g}",
            row.step,
            *(
                seed_mean(row.values(name))
                for name in ("modularity", "explicitness", "compactness")
            ),
            seed_mean(row.values("chance_modularity")),
            seed_mean(row.values("adjusted_modularity")),
            seed_mean(row.values("adjusted_compactness")),
            seed_mean(row.values("psnr")),
            "–" if row.form in (None, "as-given") else ("yes" if row.converged else "no"),
            _paper(row),
        )
        for row in chosen
    ]
    published = SETS[images].published
    return Table(
        title=f"{SETS[images].title}: means over {len(chosen[0].seeds)} seeds",
        columns=(
            Column(name="model"),
            Column(name="decay"),
            Column(name="step"),
            Column(name="InfoM", spec=".2f"),
            Column(name="InfoE", spec=".2f"),
            Column(name="InfoC", spec=".2f"),
            Column(name="InfoM of chance", spec=".2f"),
            Column(name="adjusted InfoM", spec=".2f"),
            Column(name="adjusted InfoC", spec=".2f"),
            Column(name="PSNR", spec=".1f"),
            Column(name="converged"),
            Column(name=f"paper, on {published or 'other sets'}"),
        ),
        rows=tuple(body),
        caption=(
            "InfoM, InfoE, InfoC by the authors' file, in sample as there; 95 % intervals of "
            "Student over seeds. Chance: the rows of latents shuffled. The paper's numbers are of "
            "other images with the same grid of factors, after 50 times as many steps."
        ),
    )


def _gains_table(settings: Settings, rows: Sequence[Row]) -> Table:
    body: list[tuple[Cell, ...]] = [
        (
            SETS[images].title,
            FORMS[form].name,
            choice,
            *(
                gain(rows, images, form, choice, score)
                for score in (
                    "modularity",
                    "adjusted_modularity",
                    "compactness",
                    "adjusted_compactness",
                    "explicitness",
                )
            ),
        )
        for images in settings.sets
        for form in _UNMIXED
        for choice in CHOICES
    ]
    return Table(
        title="What ICA adds to a plain autoencoder, seed by seed",
        columns=(
            Column(name="images"),
            Column(name="form"),
            Column(name="chosen"),
            Column(name="InfoM", spec="+.2f"),
            Column(name="adjusted InfoM", spec="+.2f"),
            Column(name="InfoC", spec="+.2f"),
            Column(name="adjusted InfoC", spec="+.2f"),
            Column(name="InfoE", spec="+.2f"),
        ),
        rows=tuple(body),
        caption="Weight decay and step are chosen for each form on its own, as in the paper.",
    )


def _choices_table(candidates: dict[tuple[str, str], list[Candidate]]) -> Table:
    return Table(
        title="What was chosen from",
        columns=(
            Column(name="images"),
            Column(name="form"),
            Column(name="decay", spec="g"),
            Column(name="step"),
            Column(name="PSNR", spec=".1f"),
            Column(name="InfoM", spec=".3f"),
            Column(name="agreement of seeds", spec=".3f"),
        ),
        rows=tuple(
            (
                images,
                FORMS[form].name,
                each.weight_decay,
                each.step,
                each.psnr,
                each.modularity,
                each.agreement,
            )
            for (images, form), found in candidates.items()
            for each in found
        ),
        caption="Agreement: mean correlation of latents matched one to one between seeds.",
    )


def _speed_table(settings: Settings, encoded: Sequence[Encoded]) -> Table:
    groups: dict[tuple[str, float], int] = {}
    for each in encoded:
        key = (each.member.images, each.rate)
        groups[key] = groups.get(key, 0) + 1
    return Table(
        title="How fast members were trained side by side",
        columns=(
            Column(name="images"),
            Column(name="members"),
            Column(name="steps a second, together", spec=".1f"),
            Column(name="images a second", spec=".0f"),
        ),
        rows=tuple(
            (images, count, rate, rate * settings.batch_images)
            for (images, rate), count in groups.items()
        ),
        caption=encoded[0].device,
    )


def _panel(images: str, rows: Sequence[Row]) -> Panel:
    own = [row for row in rows if row.images == images and row.choice != "by agreement"]
    marks = []
    for name, score, aside in (
        ("InfoM", "modularity", -0.15),
        ("InfoM of chance", "chance_modularity", 0.0),
        ("adjusted InfoM", "adjusted_modularity", 0.15),
    ):
        means = [seed_mean(row.values(score)) for row in own]
        known = [(place + 1 + aside, each) for place, each in enumerate(means) if each is not None]
        marks.append(
            Marks(
                name=name,
                x=tuple(x for x, _ in known),
                y=tuple(each.value for _, each in known),
                low=tuple(each.value if each.low is None else each.low for _, each in known),
                high=tuple(each.value if each.high is None else each.high for _, each in known),
            )
        )
    return Panel(
        title=SETS[images].title,
        x="model",
        y="InfoM",
        marks=tuple(marks),
        y_zero=True,
        x_names=tuple(_title(row).removesuffix(", by InfoM") for row in own),
        caption="Means over seeds with 95 % intervals; autoencoders are chosen by InfoM.",
    )
