"""Are these runs the same representation, up to what, with what error, and beyond chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    Embeddings,
    Finding,
    Group,
    InputError,
    SilentProgress,
    unique_findings,
    with_provenance,
)
from upto.engines import blas_threads_for, choose_engine
from upto.evidence.hold_out import choose_held_out
from upto.evidence.pairings import PAIRED_ROWS, PAIRED_ROWS_OF_MANY
from upto.evidence.prepare import QUANTILE_ROWS, prepare_run
from upto.evidence.strata import codes_of, strata_of, with_strata
from upto.files import match_rows
from upto.files.accept import as_embeddings, with_column
from upto.files.survey import place_runs, survey_runs
from upto.questions.compare.all_pairs import compare_all
from upto.questions.compare.chance_level import chance_rows
from upto.questions.compare.detail import compare_in_detail
from upto.questions.compare.distortions import find_distortions
from upto.questions.compare.options import Options
from upto.questions.compare.pair import Pair
from upto.questions.compare.promises import promises

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.questions.compare.distortions import Distortion, Stretch
    from upto.questions.compare.result import CompareResult


@with_provenance
def compare(
    *runs: Run,
    up_to: Group | str | None = None,
    held_out: float = 0.3,
    groups: str | ArrayLike | None = None,
    within: str | ArrayLike | None = None,
    labels: str | ArrayLike | None = None,
    tolerance: float = 0.05,
    permutations: int = 199,
    refits: int = 5,
    ica: bool = True,
    lipschitz: Stretch | Sequence[Stretch] | None = None,
    decoders: Sequence[Any] | None = None,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> CompareResult:
    """Compare two or more runs: up to which group they agree, and with what error.

    The first run is mapped onto the second by the best element of each group. Errors are L2
    distances over the diameter of the target.

    Parameters
    ----------
    *runs
        Arrays, paths (also ``"file.npz::key"`` and TOML manifests) or `Embeddings`. Rows are
        matched by ids where all runs have them, else by position.
    up_to
        The freest group to consider; its subgroups are compared too. All groups by default.
    held_out
        Fraction of the rows the maps are judged on and not fitted to. Which rows depends on their
        content and the seed only. With 0, errors are in sample and nothing is decided.
    groups
        What rows belong together (views, replicates, patients): a value for each row, or the name
        of a column of the first run. Whole groups are held out, and count once in p-values. Without
        it, near copies are found, and rows that depend on the ones before them.
    within
        Classes of the rows, or the name of a column: rows are paired at random within classes only,
        so that chance agrees on these too.
    labels
        Labels of the rows, or the name of a column of the first run, to colour the pictures by and
        to tell agreement within classes from agreement between them.
    tolerance
        The verdict is the strictest group whose held-out error exceeds the best group's by at
        most this fraction of the error of predicting the mean.
    permutations
        Random pairings of the held-out rows behind the p-values.
    refits
        How often everything is fitted again on shuffled rows, for the chance level.
    ica
        Whether to add the row of ICA and signed permutation.
    lipschitz
        L of the decoders of two runs, the excess of their bi-Lipschitz constants over one, to set
        what the theorems promise beside what is measured: one number for both, or one for each, or
        what `lipschitz` returned for each.
    decoders
        The decoders of two runs, in place of `lipschitz`, which then measures them at the rows.
    seed
        Seed of every random choice.
    engine
        Engine of the passes, as an object or by name.
    progress
        What long work reports to.

    Returns
    -------
    CompareResult
        Two runs in detail, or the matrix of all pairs of three or more.

    Raises
    ------
    InputError
        If the runs cannot be compared as given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> first = rng.laplace(size=(400, 3))
    >>> rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    >>> compare(first, first @ rotation + 1).up_to
    <Group.RIGID: 'rigid'>
    """
    options = Options(
        up_to=up_to,
        held_out=held_out,
        tolerance=tolerance,
        permutations=permutations,
        refits=refits,
        ica=ica,
        seed=seed,
    )
    engine, progress = choose_engine(engine), progress or SilentProgress()
    given = as_embeddings(runs)
    if len(given) < 2:
        message = f"a comparison needs two runs or more, not {len(given)}."
        raise InputError(message)
    distortions = find_distortions(
        given, lipschitz=lipschitz, decoders=decoders, seed=seed, progress=progress
    )
    label = grouping = None
    if labels is not None:
        label, given = _with_labels(labels, given)
    if groups is not None:
        grouping, given = with_column(groups, given, "groups", "group")
    stratum, given = with_strata(within, given)
    embeddings, findings = match_rows(given)
    values = None if label is None else np.asarray(embeddings[0].columns[label])
    _refuse_no_group(options, embeddings)
    found = list(findings)
    width = max(run.n_features for run in embeddings)
    with blas_threads_for(width):
        result = _compare(
            engine,
            embeddings,
            options,
            progress,
            grouping,
            stratum,
            label,
            values,
            found,
            distortions,
        )
    return replace(
        result,
        findings=unique_findings([*found, *result.findings]),
    )


def _compare(
    engine: Engine,
    embeddings: tuple[Embeddings, ...],
    options: Options,
    progress: Progress,
    grouping: str | None,
    stratum: str | None,
    label: str | None,
    values: Any,
    found: list[Finding],
    distortions: tuple[Distortion, Distortion] | None,
) -> CompareResult:
    one_pair = len(embeddings) == 2
    classes = None if values is None else codes_of(values)
    strata = strata_of(stratum, embeddings)
    width = max(run.n_features for run in embeddings)
    embeddings = place_runs(engine, embeddings)
    with progress.task("prepare runs", len(embeddings) + 1) as advance:
        surveys = survey_runs(engine, embeddings)
        split, remarked = choose_held_out(
            engine,
            embeddings,
            options.held_out,
            options.seed,
            grouping=grouping,
            classes=classes,
            strata=strata,
        )
        found.extend(remarked)
        advance(1)
        prepared = []
        for run, surveyed in zip(embeddings, surveys, strict=True):
            prepared.append(
                prepare_run(
                    engine,
                    run,
                    surveyed,
                    split,
                    ica=options.ica,
                    in_sample=one_pair,
                    sample_rows=chance_rows(width) if one_pair else QUANTILE_ROWS,
                    paired_rows=PAIRED_ROWS if one_pair else PAIRED_ROWS_OF_MANY,
                    seed=options.seed,
                )
            )
            found.extend(prepared[-1].findings)
            advance(1)
    if split.n_duplicates:
        message = f"{split.n_duplicates} of {len(embeddings[0])} rows repeat another in every run."
        found.append(Finding(code="UP007", message=message))
    if one_pair:
        pair = Pair(engine=engine, source=prepared[0], target=prepared[1], split=split)
        result = compare_in_detail(pair, options, progress, label, values, classes)
        if distortions is None:
            return result
        promised, more = promises(pair, result, distortions)
        return replace(result, promised=promised, findings=(*result.findings, *more))
    return compare_all(engine, prepared, split, options, progress)


def _refuse_no_group(options: Options, runs: tuple[Embeddings, ...]) -> None:
    widths = {run.n_features for run in runs}
    if options.groups == (Group.IDENTITY,) and len(widths) > 1:
        counts = " and ".join(str(run.n_features) for run in runs)
        message = (
            f"runs of {counts} coordinates cannot be compared up to the identity: compare them up "
            "to another group."
        )
        raise InputError(message)


def _with_labels(
    labels: str | ArrayLike, runs: tuple[Embeddings, ...]
) -> tuple[str, tuple[Embeddings, ...]]:
    """Make labels a column of the first run, so that matching rows by id keeps them in step."""
    if len(runs) > 2:
        message = (
            f"labels tell agreement within classes from that between them for one pair of runs, "
            f"but there are {len(runs)} runs: compare two at a time."
        )
        raise InputError(message)
    return with_column(labels, runs, "labels", "label")
