"""Figure of latents and factors: heat maps before and after ICA, scores and errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.questions.factors.latent_map import state_of
from upto.questions.factors.score_chart import groups_of, score_ends, score_label
from upto.report.axes import BLUE, GREY, INK, ORANGE, blank_figure, plain
from upto.report.markup import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import Estimate
    from upto.questions.factors.parts import FormScore, LatentForm
    from upto.questions.factors.result import FactorsResult

_NAME, _LABEL, _TITLE = 18, 32, 60
_MAX_NUMBERED_FACTORS, _MAX_NUMBERED_LATENTS = 8, 24
_MAX_LATENTS, _MAX_NAMED = 128, 40
_MAX_SCORES = 24
_LOOKS = (("s", GREY), ("o", BLUE))
"""Marker and colour before and after ICA."""


def draw(result: FactorsResult) -> Figure:
    """Draw the result in a new figure."""
    return draw_factors(blank_figure(*factors_size(result)), result)


def factors_size(result: FactorsResult) -> tuple[float, float]:
    """Return the width and height of the figure in inches."""
    return max(7.6, 2 * (0.17 * _n_columns(result) + 1.1)), sum(_heights(result)) + 0.4


def draw_factors(figure: Figure, result: FactorsResult) -> Figure:
    """Draw the heat maps before and after ICA, with scores and errors below."""
    forms = shown_forms(result)
    above, below = _heights(result)
    title = shorten(result.name, _TITLE)
    if not below:
        _draw_maps(figure, result, forms)
        figure.suptitle(title, fontsize=10, parse_math=False)
        return figure
    parts: Any = figure.subfigures(2, height_ratios=(above, below))
    upper, lower = parts
    _draw_maps(upper, result, forms)
    upper.suptitle(title, fontsize=10, parse_math=False)
    names = [form.name for form in forms]
    lines = _score_rows(result, names)
    drawers: list[Any] = [_draw_scores] if lines else []
    drawers += [_draw_errors] if result.structure else []
    for axes, drawer in zip(
        lower.subplots(1, len(drawers), squeeze=False).flat, drawers, strict=True
    ):
        drawer(axes, result, names)
    _keys(lower, names)
    return figure


def shown_forms(result: FactorsResult) -> tuple[LatentForm, ...]:
    """Return the forms to draw: the first, and the one shown in detail."""
    given, after = result.forms[0], result.detailed
    if after is given and len(result.forms) > 1:
        after = result.forms[1]
    return (given,) if after is given else (given, after)


def _n_columns(result: FactorsResult) -> int:
    return min(len(result.factors), _MAX_NAMED)


def _heights(result: FactorsResult) -> tuple[float, float]:
    latents = min(max(form.n_latents for form in shown_forms(result)), _MAX_LATENTS)
    above = min(max(0.2 * latents, 1.2), 8.0) + 1.5
    n_scores = len(_score_rows(result, [form.name for form in shown_forms(result)]))
    n_groups = len(groups_of(result.structure))
    rows = max(n_scores, n_groups)
    return above, 0.32 * rows + 1.1 if rows else 0.0


def _draw_maps(figure: Any, result: FactorsResult, forms: Sequence[LatentForm]) -> None:
    panels = figure.subplots(1, len(forms), squeeze=False)[0]
    image = None
    for form, axes in zip(forms, panels, strict=True):
        image = _draw_map(axes, result, form)
    bar = figure.colorbar(image, ax=panels.tolist(), shrink=0.8, aspect=25)
    bar.set_label("share of a factor's information", fontsize=7)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)


def _draw_map(axes: Axes, result: FactorsResult, form: LatentForm) -> Any:
    shown = form.order[:_MAX_LATENTS]
    values = [
        [math.nan if share is None else share for share in form.shares[latent]] for latent in shown
    ]
    image = axes.imshow(
        values, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto"
    )
    rows = {latent: row for row, latent in enumerate(shown)}
    for column, match in enumerate(form.matches):
        if match.assigned in rows:
            axes.add_patch(_frame(column, rows[match.assigned]))
    if len(result.factors) <= _MAX_NUMBERED_FACTORS and len(shown) <= _MAX_NUMBERED_LATENTS:
        for row, shares in enumerate(values):
            for column, share in enumerate(shares):
                if share >= 0.005:
                    ink = "white" if share > 0.65 else INK
                    text = f"{share:.2f}"
                    axes.text(column, row, text, ha="center", va="center", size=5.5, color=ink)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    columns, lines = (-(-count // _MAX_NAMED) for count in (len(result.factors), len(shown)))
    names = [shorten(factor.name, _NAME) for factor in result.factors]
    axes.set_xticks(range(0, len(names), columns), names[::columns], parse_math=False, rotation=90)
    latents = [_latent_text(form, latent) for latent in shown]
    axes.set_yticks(range(0, len(latents), lines), latents[::lines])
    for label, latent in zip(axes.get_yticklabels(), shown[::lines], strict=True):
        label.set_color(INK if state_of(form, latent) == "active" else GREY)
    title = form.name if form.converged is not False else f"{form.name}, not converged"
    axes.set_title(shorten(title, _LABEL), loc="left", fontsize=8, parse_math=False)
    if len(shown) < form.n_latents:
        words = f"the first {len(shown)} of {form.n_latents} latents"
        axes.set_xlabel(words, fontsize=7)
    return image


def _frame(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, ec=ORANGE, lw=1)


def _latent_text(form: LatentForm, latent: int) -> str:
    state = state_of(form, latent)
    return str(latent) if state == "active" else f"{state} {latent}"


def _score_rows(result: FactorsResult, forms: Sequence[str]) -> list[list[FormScore]]:
    """Return the scores with a value, grouped by name."""
    found: dict[str, list[FormScore]] = {}
    for score in result.scores:
        if score.form in forms and score.value is not None:
            found.setdefault(score.name, []).append(score)
    return list(found.values())[:_MAX_SCORES]


def _draw_scores(axes: Axes, result: FactorsResult, forms: Sequence[str]) -> None:
    lines = _score_rows(result, forms)
    for row, scores in enumerate(lines):
        far, near = score_ends(scores)
        axes.plot([0, 1], [row, row], color="#e1e4e8", lw=0.8, zorder=0)
        for score in scores:
            _draw_score(axes, score, row, forms, (far, near))
    labels = [shorten(score_label(scores[0]), _LABEL) for scores in lines]
    axes.set_yticks(range(len(lines)), labels, parse_math=False, fontsize=7)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 1], ["worse", "better"], fontsize=7)
    axes.set_title("scores, each on its own range", loc="left", fontsize=8)
    plain(axes)


def _draw_score(
    axes: Axes, score: FormScore, row: int, forms: Sequence[str], ends: tuple[float, float]
) -> None:
    far, near = ends

    def place(value: float) -> float:
        return min(max((value - far) / (near - far), 0.0), 1.0)

    y = row + _offset(score.form, forms)
    if score.limit is not None:
        limit = place(score.limit)
        if score.chance is not None:
            chance = place(score.chance)
            axes.barh(y, limit - chance, 0.3, left=chance, color=ORANGE, alpha=0.3, lw=0)
        axes.plot(limit, y, "|", color=ORANGE, markersize=6, mew=1.4)
    if score.value is not None:
        _draw_value(
            axes, y, place(score.value.value), [place(end) for end in _interval(score.value)],
            look=_LOOKS[forms.index(score.form)], within=score.is_beyond_chance is False,
        )  # fmt: skip


def _offset(form: str, forms: Sequence[str]) -> float:
    """Return the vertical offset of a form within its row."""
    return 0.36 * (forms.index(form) - 0.5) if len(forms) > 1 else 0.0


def _interval(estimate: Estimate) -> tuple[float, ...]:
    return () if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def _draw_value(
    axes: Axes,
    y: float,
    value: float,
    ends: Sequence[float],
    *,
    look: tuple[str, str],
    within: bool,
) -> None:
    mark, colour = look
    if ends:
        axes.plot(ends, [y, y], color=colour, alpha=0.45, lw=2.5)
    inside = "white" if within else colour
    axes.plot(value, y, mark, mfc=inside, mec=colour, markersize=4)


def _draw_errors(axes: Axes, result: FactorsResult, forms: Sequence[str]) -> None:
    groups = groups_of(result.structure)
    for each in result.structure:
        if each.form not in forms:
            continue
        for fit in each.fits:
            y, error = groups.index(fit.up_to) + _offset(each.form, forms), fit.error
            if fit.chance is not None:
                axes.plot(fit.chance, y, "|", color=ORANGE, markersize=6, mew=1.4)
            _draw_value(
                axes, y, error.value, _interval(error),
                look=_LOOKS[forms.index(each.form)], within=fit.is_beyond_chance is False,
            )  # fmt: skip
            if fit.up_to is each.up_to:
                axes.annotate("←", (error.value, y), (6, -2.5), textcoords="offset points", size=7)
    axes.set_yticks(range(len(groups)), [str(group) for group in groups], fontsize=7)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("← strictest group that loses little", fontsize=7)
    axes.set_title("mean error to the truth over the diameter", loc="left", fontsize=8)
    plain(axes)


def _keys(figure: Any, forms: Sequence[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colour, marker=mark, markersize=4, lw=0, label=shorten(form, _LABEL))
        for form, (mark, colour) in zip(forms, _LOOKS, strict=False)
    ]
    handles += [
        Line2D([], [], marker="o", mfc="white", mec=INK, markersize=4, lw=0, label="within chance"),
        Patch(color=ORANGE, alpha=0.3, lw=0, label="chance, mean to limit"),
    ]
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=7
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
