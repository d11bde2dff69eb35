"""Compare two or more runs up to each group, on held-out rows and against chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    Embeddings,
    Finding,
    Group,
    InputError,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.engines import algebra_on, choose_engine, items_side_by_side
from upto.evidence.held_out_rows import choose_held_out
from upto.evidence.pairings import PAIRED_ROWS, PAIRED_ROWS_OF_MANY
from upto.evidence.prepare import QUANTILE_ROWS, prepare_run
from upto.evidence.strata import codes_of, strata_of, with_strata
from upto.files import match_rows
from upto.files.accept import take_runs, with_column
from upto.files.survey import place_runs, refuse_wide, survey_runs
from upto.questions.compare.all_pairs import compare_all
from upto.questions.compare.chance_level import chance_rows
from upto.questions.compare.detail import compare_in_detail
from upto.questions.compare.distortions import find_distortions
from upto.questions.compare.pair import Pair
from upto.questions.compare.pair_options import Options
from upto.questions.compare.promises import promises
from upto.questions.compare.work import plan_work, watch_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.engines.passes import Survey
    from upto.evidence.prepare import PreparedRun
    from upto.files.accept import Run
    from upto.questions.compare.distortions import Distortion, Stretch
    from upto.questions.compare.result import CompareResult


MATRICES = 32
"""Square matrices in memory at once when two wide runs are compared."""
MATRICES_OF_FURTHER = 7
"""Square matrices that each further run keeps until its last pair."""


@with_provenance
def compare(
    *runs: Run,
    ids: str | Sequence[ArrayLike] | None = None,
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
    progress: Progress | bool | None = None,
) -> CompareResult:
    r"""Find the group up to which two or more runs agree, and the error of the best map.

    The first run is mapped onto the second by the best element of each group. Errors are L2
    distances over the diameter of the target.

    Parameters
    ----------
    *runs
        Arrays, tensors, data frames, AnnData or xarray objects, paths (also ``"file.npz::key"`` and
        TOML manifests) or `Embeddings`, as `as_embeddings` takes them. Rows are matched by ids
        where all runs have them, else by position.
    ids
        Name of the column with one id per row, or a list with the ids of each run, to match rows.
    up_to
        Largest group to consider, with its subgroups. All groups by default.
    held_out
        Fraction of the rows held out to evaluate the maps. The choice depends only on the content
        of the rows and the seed. With 0, errors are in-sample and there is no verdict.
    groups
        Group of each row (views, replicates, patients), as an array or a column of the first run.
        Whole groups are held out, and each counts once in p-values. Without it, near copies and
        serially dependent rows are detected.
    within
        Class of each row, as an array or a column name. Rows are re-paired within classes only, so
        that agreement between classes is part of the chance level.
    labels
        Label of each row, as an array or a column of the first run. Colours the plots and separates
        agreement within classes from agreement between them.
    tolerance
        The verdict is the strictest group whose held-out error exceeds that of the best group by
        at most this fraction of the error of predicting the mean.
    permutations
        Number of random re-pairings of the held-out rows for the p-values.
    refits
        Largest number of refits on shuffled rows for the chance level. They stop once the
        standard error of every map's mean error is at most 0.5 % of the error of predicting the
        mean; `n_refits` of the result says how many were made.
    ica
        Whether to add ICA followed by a signed or scaled permutation.
    lipschitz
        L of the decoders of two runs, the excess of their bi-Lipschitz constants over one, to
        compare the bounds of the theorems with the measured errors: one number for both, one for
        each, or the result of `lipschitz` for each.
    decoders
        Decoders of the two runs; L is then measured at the rows. Excludes `lipschitz`.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    CompareResult
        Two runs in detail, or all ordered pairs of three or more.

    Raises
    ------
    InputError
        If the runs cannot be compared.

    See Also
    --------
    upto.CompareResult : What it returns, with the map of every row.
    upto.similarity : CKA, CCA and other measures of the same runs.
    upto.align : Carry rows from one run to the other, and judge by retrieval.
    upto.consensus : What three or more runs share.
    upto.Aligner : The map of one group as an estimator.

    Notes
    -----
    For the rows :math:`y_i` of the target and their images :math:`\hat y_i = g(x_i)` under the best
    map g of a group, the error and R² over the n held-out rows are

    .. math::

        \bar\varepsilon = \frac{1}{n} \sum_i \frac{\lVert y_i - \hat y_i \rVert}{\Delta},
        \qquad
        R^2 = 1 - \frac{\sum_i \lVert y_i - \hat y_i \rVert^2}{\sum_i \lVert y_i - \bar y \rVert^2}

    with Δ the diameter of the target, the largest distance between two of its rows. The p-value of
    a map compares its error with those of random re-pairings, adjusted for the number of maps. The
    ε of Definition 1 in the paper is the smallest worst error over a group, in sample; it is in
    `supremum` of each fit.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Westfall and Young (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> first = rng.laplace(size=(400, 3))
    >>> rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    >>> upto.compare(first, first @ rotation + 1).up_to
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
    engine, progress = choose_engine(engine), choose_progress(progress)
    given = take_runs(runs, ids=ids)
    if len(given) < 2:
        message = f"a comparison needs two or more runs, not {len(given)}."
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
    _refuse_too_wide([run.n_features for run in embeddings])
    plan = plan_work(len(embeddings[0]), [run.n_features for run in embeddings], options)
    with algebra_on(engine, width), watch_work(progress, plan) as work:
        result = _compare(
            engine,
            embeddings,
            options,
            work,
            grouping,
            stratum,
            label,
            values,
            found,
            distortions,
        )
    maps = result.maps
    if maps is not None:
        maps = replace(maps, names=given[0].features, target_names=given[1].features)
    return replace(result, findings=unique_findings([*found, *result.findings]), maps=maps)


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

        def prepare(engine: Engine, given: tuple[Embeddings, Survey]) -> PreparedRun:
            return prepare_run(
                engine,
                *given,
                split,
                ica=options.ica,
                in_sample=one_pair,
                sample_rows=chance_rows(width) if one_pair else QUANTILE_ROWS,
                paired_rows=PAIRED_ROWS if one_pair else PAIRED_ROWS_OF_MANY,
                seed=options.seed,
            )

        prepared = []
        given = list(zip(embeddings, surveys, strict=True))
        with items_side_by_side(engine, prepare, given, width=width) as runs:
            for run in runs:
                prepared.append(run)
                found.extend(run.findings)
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
            f"runs with {counts} coordinates cannot be compared up to the identity: choose a "
            "larger group."
        )
        raise InputError(message)


def _refuse_too_wide(widths: Sequence[int]) -> None:
    """Refuse runs whose moments and maps exceed the memory of the machine."""
    width, count = max(widths), len(widths)
    further = sum(sorted(each**2 for each in widths)[:-2]) / width**2
    doing, instead = f"comparing {width} columns", ""
    if count > 2:
        doing, instead = (
            f"comparing {count} runs of {width} columns",
            "compare fewer at a time, or ",
        )
    refuse_wide(doing, width, MATRICES + MATRICES_OF_FURTHER * further, instead)


def _with_labels(
    labels: str | ArrayLike, runs: tuple[Embeddings, ...]
) -> tuple[str, tuple[Embeddings, ...]]:
    """Add labels as a column of the first run, so that matching rows by id reorders them too."""
    if len(runs) > 2:
        message = (
            "agreement within classes is computed for two runs, "
            f"but there are {len(runs)} runs: compare two at a time."
        )
        raise InputError(message)
    return with_column(labels, runs, "labels", "label")
