"""Report section on latents and factors."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from upto.core import Group
from upto.questions.factors.latent_map import MAX_BESIDE, LatentMap, latent_maps, maps_data
from upto.questions.factors.score_chart import (
    ScoreLine,
    TruthLadder,
    number_text,
    score_label,
    score_lines,
    truth_ladder,
)
from upto.report.markup import counted, shorten
from upto.report.section import Section
from upto.report.table_view import CellView, TableView, table_view

if TYPE_CHECKING:
    from upto.core import Agreement
    from upto.questions.factors.parts import FactorMatch, FactorSummary, FormScore
    from upto.questions.factors.result import FactorsResult

_MAX_TABLE_ROWS = 300
_NUMBERS = re.compile(r" \([^()]*\bchance\b[^()]*\)")

_BADGES: dict[Agreement, tuple[str, str]] = {
    "identical": ("factors identified", "good"),
    "same": ("factors identified", "good"),
    "close": ("factors nearly identified", "good"),
    "partial": ("factors partly identified", "fair"),
    "weak": ("weakly related to the factors", "poor"),
    "chance": ("no better than chance", "poor"),
    "undecided": ("undecided", "fair"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorsBody:
    """Parts of the section on latents and factors.

    With few factors the first map is shown next to another one, otherwise alone; `chosen` is the
    form shown first.
    """

    maps: tuple[LatentMap, ...]
    chosen: int
    beside: bool
    scores: tuple[ScoreLine, ...]
    any_within: bool
    truth: TruthLadder | None


def page(result: FactorsResult) -> Section:
    """Return the report section of a result."""
    tables, omitted = factors_tables(result)
    return Section(
        names=(result.name,),
        badge=factors_badge(result),
        facts=factors_facts(result),
        tables=tables,
        body=factors_body(result),
        data={"latents": maps_data(result)},
        headline=factors_verdict(result),
        details="Tables of all scores, latents and factors",
        omitted=omitted,
    )


def factors_body(result: FactorsResult) -> FactorsBody:
    """Draw the heat maps, scores and errors to the truth of all forms."""
    return FactorsBody(
        maps=latent_maps(result),
        chosen=result.forms.index(result.detailed),
        beside=len(result.forms) > 1 and len(result.factors) <= MAX_BESIDE,
        scores=score_lines(result),
        any_within=any(score.is_beyond_chance is False for score in result.scores),
        truth=truth_ladder(result),
    )


def factors_verdict(result: FactorsResult) -> tuple[str, str]:
    """Return the headline without numbers, which are in the facts, and the text below."""
    said, _, rest = result.verdict.partition(". ")
    return _NUMBERS.sub("", said).removesuffix("."), rest


def factors_badge(result: FactorsResult) -> tuple[str, str] | None:
    """Return whether the form shown first identifies the factors, if it was measured.

    Up to a rotation or a larger group the factors are still mixed, however small the error.
    """
    for structure in result.structure:
        if structure.form == result.detailed.name:
            text, tone = _BADGES[structure.agreement]
            group = structure.up_to
            if tone == "good" and group and not Group.SCALED_PERMUTATION.contains(group):
                return "factors identified, but mixed", "fair"
            return text, tone
    return None


def factors_facts(result: FactorsResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each headline number."""
    given, shown = result.forms[0], result.detailed
    facts = []
    score = _headline_score(result, shown.name)
    if score is not None and score.value is not None:
        facts.append(_score_fact(result, score))
    facts += _truth_facts(result)
    active = f"{len(given.active)} of {given.n_latents}"
    dead = given.name
    if given.dead:
        dead = f"{len(given.dead)} never change{'s' if len(given.dead) == 1 else ''}"
    kinds = [factor.taken_as for factor in result.factors]
    told = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    used = f"of {result.n_samples:,}" if result.n_used < result.n_samples else "all rows"
    if result.structure:
        used += f"; {result.n_held_out:,} held out" if result.n_held_out else "; none held out"
    return (
        *facts,
        ("active latents", active, dead),
        ("factors", str(len(kinds)), ", ".join(told)),
        ("rows", f"{result.n_used:,}", used),
    )


def factor_table(result: FactorsResult) -> TableView:
    """Return the most informative latent for each factor in each form, and R² of all latents."""
    shown = result.detailed
    rows = []
    for place, factor in enumerate(result.factors[:_MAX_TABLE_ROWS]):
        match = shown.matches[place]
        rows.append(
            (
                CellView(text=factor.name),
                CellView(text=_kind_text(factor)),
                *(_match_cell(form.matches[place]) for form in result.forms),
                _number_cell(match.correlation),
                _number_cell(match.r2),
            )
        )
    return TableView(
        title="Best latent for each factor",
        caption="The most informative latent for each factor, and its share of the factor's "
        f"information. Correlations are those of latents {_of(shown.name)}; R² is that of all "
        "latents on held-out rows; both for numeric factors only. Latents are numbered from 0.",
        heads=(
            "factor",
            "kind",
            *(f"share, {form.name}" for form in result.forms),
            "correlation",
            "R² of all latents",
        ),
        wordy=(True, True, *(False for _ in result.forms), False, False),
        rows=tuple(rows),
    )


def factors_tables(result: FactorsResult) -> tuple[tuple[TableView, ...], str]:
    """Return the tables of the section, factors first, and a note on omitted rows."""
    tables, omitted = [factor_table(result)], False
    for table in result.tables():
        omitted |= len(table.rows) > _MAX_TABLE_ROWS
        tables.append(table_view(replace(table, rows=table.rows[:_MAX_TABLE_ROWS])))
    words = f"Tables show the first {_MAX_TABLE_ROWS} rows; the others are in the JSON only."
    return tuple(tables), words if omitted else ""


def _of(form: str) -> str:
    return "without ICA" if form == "without ICA" else f"after {shorten(form, 40)}"


def _headline_score(result: FactorsResult, form: str) -> FormScore | None:
    own = [score for score in result.scores if score.form == form and score.value is not None]
    return own[0] if own else None


def _score_fact(result: FactorsResult, score: FormScore) -> tuple[str, str, str]:
    value = "–" if score.value is None else number_text(score.value.value, digits=2)
    details = [] if score.form == "without ICA" else [_of(score.form)]
    for other in result.scores:
        is_before = other.form == result.forms[0].name != score.form
        if is_before and other.name == score.name and other.value is not None:
            details.append(f"{number_text(other.value.value, digits=2)} {other.form}")
    if score.chance is not None:
        details.append(f"chance {number_text(score.chance, digits=2)}")
    return shorten(score_label(score), 40), value, "; ".join(details)


def _truth_facts(result: FactorsResult) -> list[tuple[str, str, str]]:
    facts = []
    wanted = (result.forms[0].name, result.detailed.name)
    for structure in result.structure:
        if structure.form not in wanted:
            continue
        value, detail = "–", "no group identifies the factors"
        if structure.up_to is not None:
            fit = structure.fit(structure.up_to)
            value, detail = f"{fit.error.value:.3f}", f"up to {structure.up_to}"
            if fit.chance is not None:
                detail += f"; chance {fit.chance:.3f}"
        facts.append((f"error to the truth, {shorten(structure.form, 40)}", value, detail))
    return facts


def _kind_text(factor: FactorSummary) -> str:
    kind = factor.taken_as
    if factor.kind == "discrete":
        kind = f"{counted(factor.n_values, 'value')}, {kind.removesuffix(' values')}"
    return kind if factor.labelled >= 1 else f"{kind}, {factor.labelled:.0%} labelled"


def _match_cell(match: FactorMatch) -> CellView:
    if match.share is None:
        return CellView(text="–", sort="")
    if match.latent is None:
        return CellView(text="0", detail="no latent", sort="0")
    return CellView(
        text=f"{match.share:.2f}", detail=f"latent {match.latent}", sort=repr(match.share)
    )


def _number_cell(number: float | None) -> CellView:
    if number is None:
        return CellView(text="–", sort="")
    return CellView(text=number_text(number), sort=repr(number))
