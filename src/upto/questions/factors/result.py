"""Result of scoring latents against known factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.errors import MissingPartError
from upto.core.finding import Finding
from upto.core.group import Group
from upto.core.provenance import Provenance
from upto.core.result import Result, pick
from upto.core.table import Cell, Marked, Table, columns
from upto.questions.factors.parts import (
    FactorSummary,
    FormScore,
    LatentForm,
    Structure,
    StructureFit,
)

RECOMMENDED = "ICA"
"""Form shown in detail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorsResult(Result):
    """The latents of a run against known factors, unchanged and after forms of ICA.

    `structure` is empty without numeric factors. `n_used` rows are scored; errors to the truth use
    the `n_complete` of them with all numeric factors, of which `n_held_out` are held out.

    See Also
    --------
    upto.factors : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "factors"
    schema: ClassVar[int] = 1

    name: str
    n_samples: int
    n_used: int
    n_complete: int
    n_held_out: int
    n_refits: int
    discrete_latents: bool
    factors: tuple[FactorSummary, ...]
    forms: tuple[LatentForm, ...]
    scores: tuple[FormScore, ...]
    structure: tuple[Structure, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def form(self, name: str) -> LatentForm:
        """Return a form of the latents, e.g. ``"without ICA"`` or ``"ICA"``."""
        return pick(self.forms, name, "this result has no form {!r}; it has {}.")

    def score(self, name: str, form: str = "without ICA") -> FormScore:
        """Return one score of a form; the variant in its name is optional."""
        self.form(form)
        own = [score for score in self.scores if score.form == form]
        for of in (str, lambda full: full.partition("@")[0]):
            for score in own:
                if of(score.name) == name:
                    return score
        names = ", ".join(score.name for score in own)
        message = f"this result has no score {name!r}; it has {names}."
        raise MissingPartError(message)

    def truth(self, form: str = "without ICA") -> Structure:
        """Return the errors of a form to the factors."""
        for structure in self.structure:
            if structure.form == form:
                return structure
        message = f"this result has no errors to the truth of {form!r}; its forms: {self._forms()}."
        raise MissingPartError(message)

    @property
    def detailed(self) -> LatentForm:
        """The form shown in detail, which is the recommended ICA if present, else the first."""
        names = [form.name for form in self.forms]
        return self.forms[names.index(RECOMMENDED) if RECOMMENDED in names else 0]

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, scores and errors first."""
        return (
            *self._headlines(),
            *((self._suprema(),) if self.structure else ()),
            *(self._matches(form) for form in self.forms),
            *(self._latents(form) for form in self.forms),
            self._factors(),
            self.data_table(),
        )

    def brief_tables(self) -> tuple[Table, ...]:
        """Return scores and errors of every form, and the best latents of one."""
        return *self._headlines(), self._matches(self.detailed)

    def data_table(self) -> Table:
        """Return one row per form and score, and per form and group."""
        rows: list[tuple[Cell, ...]] = [
            (
                score.form,
                score.name,
                score.value,
                score.chance,
                score.limit,
                score.calibrated,
                score.p_value,
                score.says,
            )
            for score in self.scores
        ]
        rows += [
            (each.form, f"error/{fit.up_to}", fit.error, fit.chance, None, None, fit.p_value, "")
            for each in self.structure
            for fit in each.fits
        ]
        return Table(
            title="All scores and errors to the truth",
            columns=(
                *columns("form", "score", "value", "chance", "limit", "calibrated", spec=".3f"),
                *columns("p", "says", spec=".2g"),
            ),
            rows=tuple(rows),
        )

    def _headlines(self) -> tuple[Table, ...]:
        return self._scores(), *((self._errors(),) if self.structure else ())

    def _forms(self) -> str:
        return ", ".join(form.name for form in self.forms)

    def _scores(self) -> Table:
        by_form = {(score.form, score.name): score for score in self.scores}
        names = list(dict.fromkeys(score.name for score in self.scores))
        rows: list[tuple[Cell, ...]] = []
        for name in names:
            own = [by_form.get((form.name, name)) for form in self.forms]
            rows.append((name, *(_score_text(score) for score in own)))
        used = f"{self.n_used} of {self.n_samples} rows"
        return Table(
            title=f"{self.name} against {_factors_text(len(self.factors))}: scores",
            columns=columns("score", *self._titles()),
            rows=tuple(rows),
            caption=f"{used}; chance from {self.n_refits} refits on permuted rows; ≈ marks "
            "values within chance",
        )

    def _by_group(self) -> dict[Group, list[tuple[StructureFit | None, bool]]]:
        """Return the error of every form up to each group, and whether the form chose it."""
        known = {fit.up_to for each in self.structure for fit in each.fits}
        return {
            group: [
                (next((fit for fit in each.fits if fit.up_to is group), None), group is each.up_to)
                for each in self.structure
            ]
            for group in Group
            if group in known
        }

    def _errors(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (group.value, *(_error_text(fit) + " ←" * chosen for fit, chosen in fits))
            for group, fits in self._by_group().items()
        ]
        n_truth = sum(factor.in_truth for factor in self.factors)
        held_out = f"{self.n_held_out} of {self.n_complete} rows held out"
        return Table(
            title=f"Mean error to {_factors_text(n_truth)} over the diameter, up to each group",
            columns=columns("up to", *self._measured()),
            rows=tuple(rows),
            caption=f"{held_out}; ← marks the strictest group that loses little against the best",
        )

    def _suprema(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (group.value, *(_supremum_text(fit) for fit, _ in fits))
            for group, fits in self._by_group().items()
        ]
        return Table(
            title="Smallest worst error ε of Definition 2 over the diameter, in sample",
            columns=columns("up to", *self._measured()),
            rows=tuple(rows),
            caption="an element of the group attains the upper bound; none is below the lower one",
        )

    def _measured(self) -> tuple[str, ...]:
        measured = {each.form for each in self.structure}
        titles = zip(self.forms, self._titles(), strict=True)
        return tuple(title for form, title in titles if form.name in measured)

    def _titles(self) -> tuple[str, ...]:
        return tuple(
            form.name if form.converged is not False else f"{form.name} (not converged)"
            for form in self.forms
        )

    def _matches(self, form: LatentForm) -> Table:
        return Table(
            title=f"Best latent for each factor, {form.name}",
            columns=(
                *columns("factor", "latent", "share of its information", "next latent", spec=".3f"),
                *columns("its share", "correlation", "R² of all latents", spec=".3f"),
            ),
            rows=tuple(
                (
                    match.factor,
                    _latent_text(form, match.latent),
                    match.share,
                    _latent_text(form, match.next_latent),
                    match.next_share,
                    match.correlation,
                    match.r2,
                )
                for match in form.matches
            ),
            caption="latents are numbered from 0; * marks little spread; shares are beyond chance",
        )

    def _latents(self, form: LatentForm) -> Table:
        names = [factor.name for factor in self.factors]
        rows: list[tuple[Cell, ...]] = []
        for latent in form.order:
            shares = form.shares[latent]
            told = [(share, name) for share, name in zip(shares, names, strict=True) if share]
            told.sort(key=lambda each: -each[0])
            told_text = ", ".join(f"{name} {share:.2f}" for share, name in told[:3])
            rows.append(
                (latent, _state(form, latent), form.spread[latent], told_text or "no factor")
            )
        return Table(
            title=f"Factors in each latent, {form.name}",
            columns=columns("latent", "state", "spread", "factors", spec=".3g"),
            rows=tuple(rows),
            caption="the three factors with the largest shares of information, beyond chance",
        )

    def _factors(self) -> Table:
        return Table(
            title="Factors",
            columns=(
                *columns("factor", "kind", "values", "entropy in nats", spec=".3f"),
                *columns("labelled", "treated as", spec=".1%"),
            ),
            rows=tuple(
                (
                    factor.name,
                    factor.kind,
                    factor.n_values,
                    factor.entropy,
                    factor.labelled,
                    factor.taken_as,
                )
                for factor in self.factors
            ),
            caption="categories are scored but excluded from errors to the truth; declare a factor "
            "as ordered, unordered, discrete or continuous to change its treatment",
        )


def _factors_text(count: int) -> str:
    return f"{count} factor{'s' if count != 1 else ''}"


def _state(form: LatentForm, latent: int) -> str:
    if latent in form.dead:
        return "dead"
    return "active" if latent in form.active else "little spread"


def _latent_text(form: LatentForm, latent: int | None) -> Marked | None:
    if latent is None:
        return None
    return Marked(latent, is_marked=latent not in form.active, mark="*", says="little spread")


def _score_text(score: FormScore | None) -> str:
    if score is None or score.value is None:
        return "–"
    mark = " ≈" if score.is_beyond_chance is False else ""
    # Rounding first avoids -0.00.
    chance = f" (chance {round(score.chance, 2) + 0.0:.2f})" if score.chance is not None else ""
    return f"{round(score.value.value, 2) + 0.0:.2f}{chance}{mark}"


def _supremum_text(fit: StructureFit | None) -> str:
    if fit is None or fit.supremum is None:
        return "–"
    high, low = fit.supremum.high, fit.supremum.low
    return f"at most {high:.3f}" if low is None else f"{low:.3f} to {high:.3f}"


def _error_text(fit: StructureFit | None) -> str:
    if fit is None:
        return "–"
    chance = f" (chance {fit.chance:.3f})" if fit.chance is not None else ""
    mark = " ≈" if fit.is_beyond_chance is False else ""
    return f"{fit.error.value:.3f}{chance}{mark}"
