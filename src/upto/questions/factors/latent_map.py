"""Heat maps of the share of each factor's information in each latent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from upto.report.heat import closeness_level
from upto.report.markup import counted, shorten

if TYPE_CHECKING:
    from upto.questions.factors.parts import LatentForm
    from upto.questions.factors.result import FactorsResult

MAX_BESIDE = 7
"""Largest number of factors for two maps side by side."""
_MAX_LEVEL_NAMES, _MAX_NUMBERED = 4, 16
_MAX_ROOMY_LATENTS, _MAX_SEEN_LATENTS, _MAX_LATENTS = 16, 28, 200
_MAX_FACTORS = 120
_MAX_CELLS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentCell:
    """Share of a factor in a latent; `matched` if the latent is assigned to the factor."""

    text: str
    level: int | None
    matched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentRow:
    """Number, state and cells of one latent."""

    latent: int
    state: str
    title: str
    cells: tuple[LatentCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentMap:
    """Heat map of one form, matched latents first; `size` are the classes of its table."""

    form: str
    says: str
    factors: tuple[str, ...]
    rows: tuple[LatentRow, ...]
    size: str
    tall: bool
    per_cent: bool
    any_quiet: bool
    left_out: str


def latent_maps(result: FactorsResult) -> tuple[LatentMap, ...]:
    """Return the heat map of every form."""
    return tuple(_map(result, form) for form in result.forms)


def state_of(form: LatentForm, latent: int) -> str:
    """Return whether a latent is active, of little spread or dead."""
    if latent in form.dead:
        return "dead"
    return "active" if latent in form.active else "little spread"


def maps_data(result: FactorsResult) -> list[dict[str, Any]]:
    """Return the data for the page's tooltips, one entry per map."""
    columns = [shorten(factor.name) for factor in result.factors[:_MAX_FACTORS]]
    return [
        {
            "form": shorten(form.name),
            "columns": columns,
            "rows": [_title(form, latent) for latent in _shown(result, form)],
            "share": [
                [_rounded(share) for share in form.shares[latent][:_MAX_FACTORS]]
                for latent in _shown(result, form)
            ],
        }
        for form in result.forms
    ]


def _map(result: FactorsResult, form: LatentForm) -> LatentMap:
    names = tuple(factor.name for factor in result.factors[:_MAX_FACTORS])
    shown = _shown(result, form)
    per_cent = len(names) > _MAX_NUMBERED
    matched = {(match.assigned, place) for place, match in enumerate(form.matches)}
    rows = tuple(
        LatentRow(
            latent=latent,
            state=state_of(form, latent),
            title=_title(form, latent),
            cells=tuple(
                LatentCell(
                    text=_text(share, per_cent=per_cent),
                    level=closeness_level(share, 0.0, 1.0),
                    matched=(latent, place) in matched,
                )
                for place, share in enumerate(form.shares[latent][: len(names)])
            ),
        )
        for latent in shown
    )
    size = f"{counted(form.n_latents, 'latent')}, {counted(len(result.factors), 'factor')}."
    return LatentMap(
        form=form.name,
        says=" ".join(text for text in (form.says, _converged(form), size) if text),
        factors=names,
        rows=rows,
        size=_size(len(rows), len(names)),
        tall=len(rows) > _MAX_SEEN_LATENTS,
        per_cent=per_cent,
        any_quiet=any(row.state != "active" for row in rows),
        left_out=_left_out(form.n_latents - len(rows), len(result.factors) - len(names)),
    )


def _converged(form: LatentForm) -> str:
    """Return the number of ICA steps and whether it converged; empty without ICA."""
    if form.converged is None or form.n_iterations is None:
        return ""
    kind = "Converged" if form.converged else "Not converged"
    return f"{kind} after {counted(form.n_iterations, 'step')}."


def _shown(result: FactorsResult, form: LatentForm) -> tuple[int, ...]:
    columns = min(len(result.factors), _MAX_FACTORS)
    room = _MAX_CELLS // (len(result.forms) * max(columns, 1))
    return form.order[: min(room, _MAX_LATENTS)]


def _left_out(latents: int, factors: int) -> str:
    """Count the latents and factors that a map omits."""
    parts = []
    if latents:
        parts.append(counted(latents, "more latent"))
    if factors:
        parts.append(counted(factors, "more factor"))
    return f"In the JSON only: {' and '.join(parts)}." if parts else ""


def _size(n_latents: int, n_factors: int) -> str:
    """Return the classes of a table: level or upright names; roomy, flat or small cells."""
    if n_factors > _MAX_NUMBERED:
        return "upright small"
    names = "level" if n_factors <= _MAX_LEVEL_NAMES else "upright"
    return names if n_latents <= _MAX_ROOMY_LATENTS else f"{names} flat"


def _text(share: float | None, *, per_cent: bool) -> str:
    if share is None:
        return "–"
    if per_cent:
        return f"{100 * share:.0f}"
    return f"{share:.2f}" if share else "0"


def _title(form: LatentForm, latent: int) -> str:
    return f"latent {latent}, {state_of(form, latent)}, spread {form.spread[latent]:.3g}"


def _rounded(share: float | None) -> float | None:
    return None if share is None else float(f"{share:.3g}")
