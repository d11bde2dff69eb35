"""Figure of latents and factors: heat maps before and after ICA, scores and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.questions.factors.latent_map import state_of
from upto.questions.factors.score_chart import groups_of, score_ends, score_label
from upto.report import chart
from upto.report.chart import BLUE, GREY, INK, ORANGE
from upto.report.markup import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.factors.parts import FormScore, LatentForm
    from upto.questions.factors.result import FactorsResult

_LABEL, _TITLE = 32, 60
_MAX_LATENTS, _MAX_NAMED = 128, 40
_MAX_SCORES = 24
_Looks = dict[str, tuple[float, tuple[str, str]]]
"""Offset within a row, marker and colour of each form."""


def draw(result: FactorsResult, *, narrow: bool = False) -> Figure:
    """Draw the heat maps before and after ICA, with scores and errors below."""
    forms = shown_forms(result)
    looks: _Looks = {forms[0].name: (0.0 if len(forms) == 1 else -0.18, ("s", GREY))}
    looks |= {form.name: (0.18, ("o", BLUE)) for form in forms[1:]}
    lines = _score_rows(result, looks)
    n_latents = min(max(form.n_latents for form in forms), _MAX_LATENTS)
    down = 2 if narrow else 1
    above = down * (min(max(0.2 * n_latents, 1.2), 8.0) + 1.5)
    rows = max(len(lines), len(groups_of(result.structure)))
    below = down * (0.32 * rows + 1.1) if rows else 0.0
    width = max(7.6, 2 * (0.17 * min(len(result.factors), _MAX_NAMED) + 1.1))
    figure = chart.blank_figure(width / down, above + below + 0.4)
    upper: Any = figure
    if rows:
        parts: Any = figure.subfigures(2, height_ratios=(above, below))
        upper, lower = parts
        panels = chart.panel_grid(lower, bool(lines) + bool(result.structure), 2 // down)
        if lines:
            _draw_scores(panels[0], lines, looks)
        if result.structure:
            _draw_errors(panels[-1], result, looks)
        keys = [
            *(chart.key(shorten(name, _LABEL), *look, 4) for name, (_, look) in looks.items()),
            chart.key("within chance", colour=INK, size=4, mfc="white"),
            chart.key("chance, mean to limit", "", ORANGE, lw=5, alpha=0.3),
        ]
        chart.legend(lower, handles=keys, loc="outside lower center", ncols=4 // down)
    upper.suptitle(shorten(result.name, _TITLE), fontsize=10, parse_math=False)
    maps = chart.panel_grid(upper, len(forms), 2 // down)
    images = [_draw_map(axes, result, form) for axes, form in zip(maps, forms, strict=True)]
    label = "share of a factor's information"
    chart.colour_bar(upper, images[-1], maps, label, shrink=0.8, aspect=25, size=7)
    return figure


def shown_forms(result: FactorsResult) -> tuple[LatentForm, ...]:
    """Return the forms to draw: the first, and the one shown in detail."""
    given, after = result.forms[0], result.detailed
    if after is given and len(result.forms) > 1:
        after = result.forms[1]
    return (given,) if after is given else (given, after)


def _draw_map(axes: Axes, result: FactorsResult, form: LatentForm) -> Any:
    from matplotlib.patches import Rectangle

    shown = form.order[:_MAX_LATENTS]
    shares = [form.shares[latent] for latent in shown]
    image = chart.heat_map(axes, shares, write_from=0.005, aspect="auto")
    for column, match in enumerate(form.matches):
        if match.assigned in shown:
            corner = (column - 0.46, shown.index(match.assigned) - 0.46)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, ec=ORANGE, lw=1))
    names = [factor.name for factor in result.factors]
    chart.name_ticks(axes.set_xticks, names, most=_MAX_NAMED, rotation=90)
    states = [state_of(form, latent) for latent in shown]
    latents = [
        str(latent) if state == "active" else f"{state} {latent}"
        for latent, state in zip(shown, states, strict=True)
    ]
    chart.name_ticks(axes.set_yticks, latents, most=_MAX_NAMED)
    for row, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True):
        label.set_color(INK if states[int(row)] == "active" else GREY)
    title = form.name if form.converged is not False else f"{form.name}, not converged"
    chart.write_title(axes, shorten(title, _LABEL), 8)
    if len(shown) < form.n_latents:
        axes.set_xlabel(f"the first {len(shown)} of {form.n_latents} latents", fontsize=7)
    return image


def _score_rows(result: FactorsResult, forms: Iterable[str]) -> list[list[FormScore]]:
    """Return the scores with a value, grouped by name."""
    found: dict[str, list[FormScore]] = {}
    for score in result.scores:
        if score.form in forms and score.value is not None:
            found.setdefault(score.name, []).append(score)
    return list(found.values())[:_MAX_SCORES]


def _draw_scores(axes: Axes, lines: list[list[FormScore]], looks: _Looks) -> None:
    labels = [score_label(scores[0]) for scores in lines]
    chart.range_rows(axes, labels, ("worse", "better"), length=_LABEL, size=7)
    for row, scores in enumerate(lines):
        place = chart.on_range(*score_ends(scores))
        for score in scores:
            offset, look = looks[score.form]
            y, value, beyond = row + offset, score.value, score.is_beyond_chance
            chart.chance_mark(axes, y, score.limit, score.chance, place=place, size=6, height=0.3)
            chart.value_mark(axes, y, value, place=place, look=look, size=4, beyond=beyond)
    chart.write_title(axes, "scores, each on its own range", 8)
    chart.plain(axes)


def _draw_errors(axes: Axes, result: FactorsResult, looks: _Looks) -> None:
    groups = groups_of(result.structure)
    for each in (each for each in result.structure if each.form in looks):
        offset, look = looks[each.form]
        for fit in each.fits:
            y, error = groups.index(fit.up_to) + offset, fit.error
            chart.chance_mark(axes, y, fit.chance, size=6)
            chart.value_mark(axes, y, error, look=look, size=4, beyond=fit.is_beyond_chance)
            if fit.up_to is each.up_to:
                axes.annotate("←", (error.value, y), (6, -2.5), textcoords="offset points", size=7)
    chart.name_rows(axes, [str(group) for group in groups], size=7)
    axes.set_xlim(left=0)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("← strictest group that loses little", fontsize=7)
    chart.write_title(axes, "mean error to the truth over the diameter", 8)
    chart.plain(axes)
