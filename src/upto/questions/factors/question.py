"""Score how well the latents of a run match known factors, before and after ICA."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    UNRECORDED,
    Finding,
    InputError,
    SilentProgress,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_whole
from upto.disentanglement.calibrate import MIN_HALVES, evaluate_view, full_view
from upto.disentanglement.catalogue import DEFAULT_SCORES, SCORES, find_scores
from upto.engines import blas_threads_for, choose_engine
from upto.evidence.split import row_keys, take_rows
from upto.files.accept import single_run
from upto.files.packages import check_packages
from upto.files.survey import survey_runs
from upto.measures.kinds import refuse_extremes
from upto.questions.factors import text as words
from upto.questions.factors.dependent_rows import find_dependence
from upto.questions.factors.distance_to_truth import find_truth, measure_structure, options_for
from upto.questions.factors.forms import Form, bring_into, find_forms
from upto.questions.factors.informative import table_of, tell, unsure_of
from upto.questions.factors.parts import FormScore
from upto.questions.factors.result import FactorsResult
from upto.questions.factors.truth import as_factors, as_numbers, clean_columns, with_factors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core import Embeddings, Progress
    from upto.core.array_types import Float
    from upto.disentanglement.calibrate import CalibratedScore
    from upto.disentanglement.kinds import NamedScore
    from upto.disentanglement.views import View
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.questions.factors.distance_to_truth import Truth
    from upto.questions.factors.forms import Formed
    from upto.questions.factors.parts import LatentForm, Structure
    from upto.questions.factors.truth import Factor, FactorSource


MIN_ROWS = 4


@with_provenance
def factors(
    run: Run,
    factors: FactorSource = None,
    *,
    scores: str | Iterable[str] | None = None,
    forms: str | Iterable[str] | None = None,
    names: Sequence[str] | None = None,
    continuous: Iterable[str] = (),
    discrete: Iterable[str] = (),
    unordered: Iterable[str] = (),
    ordered: Iterable[str] = (),
    discrete_codes: bool = False,
    ids: str | ArrayLike | None = None,
    held_out: float = 0.3,
    refits: int = 19,
    half_samples: int = 20,
    max_rows: int = 5000,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> FactorsResult:
    """Score how well latents match known factors, before and after ICA.

    For every form of the latents, compute errors to the true factors up to each group (structural
    identifiability) on held-out rows, disentanglement scores, both with chance levels, and the
    latents that carry each factor.

    Parameters
    ----------
    run
        The latents: an array, a tensor, a data frame, an AnnData or xarray object, a path (also
        ``"file.npz::key"``) or `Embeddings`, as `as_embeddings` takes it.
    factors
        A file whose columns are factors, a data frame, a mapping of names to values, or an array
        with one column per factor; the columns of the run by default. Rows are matched by ids if
        both have them, otherwise by position. Missing values are allowed.
    scores
        Names of scores or of families such as ``"infomec"``; a variant follows an ``@``. By default
        those that are cheap and reliable.
    forms
        Any of ``"raw"``, ``"ica"``, ``"ica-literal"`` and ``"ica-active"``; all by default.
    names
        Columns to use as factors; all by default.
    continuous, discrete, unordered, ordered
        Names of factors to treat as such. By default text and numbers with few values are discrete.
        Text is unordered, and so are discrete numbers that are consecutive integers or whose name
        suggests classes. Unordered factors are scored but excluded from errors to the truth.
    discrete_codes
        Whether latents are unordered codes, e.g. of a VQ-VAE. They are then scored without ICA and
        have no errors to the truth.
    ids
        One id per row of the factors, or the name of their column or entry.
    held_out
        Fraction of rows held out from fits of maps onto the truth.
    refits
        Permutations of rows for the chance level and p-value of each score.
    half_samples
        Random halves of the rows for the interval of each score; 0 for no intervals.
    max_rows
        Largest number of rows to use, sampled by hash.
    seed
        Seed of the random number generator.
    engine
        Engine of the passes, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    FactorsResult
        Every form of the latents against the factors.

    Raises
    ------
    InputError
        If latents and factors cannot be matched, or a score, form or factor does not exist.

    See Also
    --------
    upto.FactorsResult : What it returns.
    upto.disentanglement.evaluate_scores : Scores of plain arrays, with their chance levels.
    upto.compare : Latents of two runs against each other.
    upto.read_image_set : Images with known factors.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=(500, 2))
    >>> turned = truth @ [[0.8, 0.6], [-0.6, 0.8]]
    >>> found = upto.factors(turned, truth, forms=["raw", "ica"], scores="linear-probe")
    >>> str(found.truth().up_to), str(found.truth("ICA").up_to)
    ('similarity', 'signed-similarity')
    """
    options = options_for(held_out, seed)
    _check_counts(refits, half_samples, max_rows)
    wanted = find_forms(forms)
    chosen = find_scores(DEFAULT_SCORES if scores is None else scores)
    engine, progress = choose_engine(engine), choose_progress(progress)
    check_packages((run, factors))
    given, columns, found = with_factors(single_run(run, "factors"), factors, ids=ids, names=names)
    columns = clean_columns(columns)
    latents, index = _latents(given, as_numbers(columns), max_rows, engine, seed)
    truths = as_factors(
        {name: values[index] for name, values in columns.items()},
        continuous=continuous,
        discrete=discrete,
        unordered=unordered,
        ordered=ordered,
    )
    found = (*found, *find_dependence(engine, given.rows, columns, truths, latents, seed))
    truth = None
    if not discrete_codes:
        truth = find_truth(truths, latents, options=options, engine=engine)
    possible = _possible(wanted, latents, discrete=discrete_codes, asked=forms)
    formed: list[Formed] = []
    unsure: dict[str, dict[str, tuple[float, float | None]]] = {}
    told, structure, scored, remarked = [], [], [], list(found)
    # Three steps per form, plus one for each permutation and half of the rows.
    steps = 3 + refits + half_samples
    with progress.task("score forms", steps * len(possible)) as advance:
        for asked in possible:
            each = bring_into(asked, latents, engine=engine, seed=seed)
            formed.append(each)
            advance(1)
            view = _view(each, truths, discrete=discrete_codes, seed=seed)
            form, measured, remarks = _look_at(each, truths, truth, view)
            told.append(form)
            unsure[form.name] = unsure_of(truths, each, view)
            structure += measured
            # Findings about rows are the same for every form.
            remarked += remarks if each is formed[0] else []
            advance(1)
            scored += _scores(
                asked,
                truths,
                view,
                chosen,
                refits=refits,
                half_samples=half_samples,
                progress=_Part(advance),
            )
    result = FactorsResult(
        name=given.name,
        n_samples=len(given),
        n_used=len(latents),
        n_complete=0 if truth is None else int(truth.complete.sum()),
        n_held_out=0 if truth is None else truth.split.n_held_out,
        n_refits=refits,
        discrete_latents=discrete_codes,
        factors=tuple(factor.summary() for factor in truths),
        forms=tuple(told),
        scores=tuple(scored),
        structure=tuple(structure),
        verdict="",
        findings=(),
        provenance=UNRECORDED,
    )
    remarked += words.findings(result, truths, formed, unsure)
    result = replace(result, findings=unique_findings(remarked))
    return replace(result, verdict=words.verdict(result))


class _Part:
    """Progress of a subtask, which advances that of the whole task."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Advance the whole task by every step of the subtask."""
        yield self._advance


def _latents(
    run: Embeddings, labels: Float, max_rows: int, engine: Engine, seed: int
) -> tuple[Float, NDArray[np.intp]]:
    """Read the rows to use, and their indices in the run."""
    placed = replace(run, rows=engine.place(run.rows))
    survey_runs(engine, [placed], varying=False)
    if len(run) < MIN_ROWS:
        message = f"{run.name} has {len(run)} rows: at least {MIN_ROWS} are needed."
        raise InputError(message)
    index = _order(engine, placed.rows, labels, seed)[:max_rows]
    latents = take_rows(engine, placed.rows, index)
    refuse_extremes(latents, run.name)
    return latents, index


def _order(engine: Engine, rows: Any, labels: Float, seed: int) -> NDArray[np.intp]:
    """Return a hash order of the rows, computed from latents and labels.

    Equal rows are distinguished by their count so far; otherwise, with few distinct codes and
    factors, the first rows would have only a few values.
    """
    keys = row_keys(engine, rows, seed) + row_keys(engine, labels, seed + 1)
    order = np.argsort(keys, kind="stable")
    place = np.arange(len(keys))
    is_first = np.diff(keys[order], prepend=~keys[order[:1]]) != 0
    before = np.empty(len(keys))
    before[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return np.argsort(keys + row_keys(engine, before[:, None], seed), kind="stable")


def _possible(
    wanted: Sequence[Form], latents: Float, *, discrete: bool, asked: Any
) -> Sequence[Form]:
    """Return the forms that are possible for these latents."""
    after_ica = [form for form in wanted if form.whiten is not None]
    never_change = bool(np.all(latents.min(axis=0) == latents.max(axis=0)))
    if discrete and after_ica and asked is not None:
        message = (
            f"discrete codes have no {after_ica[0].name}: request the form raw only, or set "
            "discrete_codes to False."
        )
        raise InputError(message)
    if discrete or never_change:
        return [form for form in wanted if form.whiten is None] or find_forms("raw")
    return wanted


def _look_at(
    formed: Formed, factors: Sequence[Factor], truth: Truth | None, view: View
) -> tuple[LatentForm, list[Structure], list[Finding]]:
    """Match latents with factors, and compute their errors to the truth."""
    structure: list[Structure] = []
    remarks: list[Finding] = []
    explained: dict[str, float | None] = {}
    if truth is not None:
        explained = truth.explained(formed.latents)
        measured = measure_structure(formed, truth, SilentProgress())
        if measured is not None:
            structure, remarks = [measured[0]], list(measured[1])
    r2 = [explained.get(factor.name) for factor in factors]
    return tell(formed, factors, view, r2=r2), structure, remarks


def _view(formed: Formed, factors: Sequence[Factor], *, discrete: bool, seed: int) -> View:
    table, continuous = table_of(factors)
    return full_view(
        formed.latents, table, continuous=continuous, discrete_codes=discrete, seed=seed
    )


def _scores(
    form: Form,
    factors: Sequence[Factor],
    view: View,
    chosen: tuple[NamedScore, ...],
    **options: Any,
) -> list[FormScore]:
    # BLAS threads slow down the many small fits of scores.
    with blas_threads_for(view.codes.count):
        found = evaluate_view(view, chosen, **options)
    return [_form_score(form, each, factors) for each in found]


def _form_score(form: Form, found: CalibratedScore, factors: Sequence[Factor]) -> FormScore:
    kind = SCORES[found.name.partition("@")[0]]
    return FormScore(
        form=form.name,
        name=found.name,
        family=kind.family,
        title=kind.title,
        definition=words.named(kind.says, ()),
        better=kind.better,
        value=found.value,
        chance=found.chance,
        limit=found.limit,
        calibrated=found.calibrated,
        p_value=found.p_value,
        per_factor=found.score.per_factor,
        per_latent=found.score.per_code,
        says=words.named(found.says or found.score.says, factors),
    )


def _check_counts(refits: int, half_samples: int, max_rows: int) -> None:
    check_whole(refits=refits, half_samples=half_samples, max_rows=max_rows)
    if refits < 19:
        message = f"refits is {refits}, but a 5 % level needs at least 19."
        raise InputError(message)
    if 0 < half_samples < MIN_HALVES:
        message = (
            f"half_samples is {half_samples}, but an interval needs at least {MIN_HALVES}; use "
            "0 for no intervals."
        )
        raise InputError(message)
    if max_rows < MIN_ROWS:
        message = f"max_rows is {max_rows}, but at least {MIN_ROWS} rows are needed."
        raise InputError(message)
