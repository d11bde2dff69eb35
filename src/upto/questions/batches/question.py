"""Compare transforms of an embedding by how well labels transfer to unseen batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.batch_metrics.folds import split_batches
from upto.batch_metrics.within_batches import chance_error
from upto.core import (
    UNRECORDED,
    Finding,
    InputError,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.corrections.biology import NothingKeptError
from upto.engines import choose_engine
from upto.evidence.split import row_keys
from upto.files.accept import single_run
from upto.files.survey import survey_runs
from upto.questions.batches import leaks
from upto.questions.batches import text as words
from upto.questions.batches.aggregate import HeldOut, add_up, estimate
from upto.questions.batches.check_options import as_percents, check_components, check_options
from upto.questions.batches.conditions import Making, check_usable, find_conditions
from upto.questions.batches.describe import (
    describe_batches,
    describe_condition,
    describe_fold,
    describe_tasks,
)
from upto.questions.batches.evaluate import (
    PROBED,
    Judging,
    count_trainings,
    judge_condition,
    probed_labels,
)
from upto.questions.batches.in_sample import (
    MAX_MAPPED,
    MAX_MIXED,
    MIN_MAPPED,
    find_components,
    map_rows,
    score_mixing,
)
from upto.questions.batches.named_columns import with_named
from upto.questions.batches.near_copies import (
    count_copied,
    find_look_alikes,
    find_shared_copies,
    near_copies,
)
from upto.questions.batches.parts import Leak
from upto.questions.batches.result import BASE, BatchesResult
from upto.questions.batches.row_order import rank_keys
from upto.questions.batches.screen import each_of, read_screen
from upto.questions.batches.verdict import Grounds, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from upto.batch_metrics.folds import Codes, Scheme, Split
    from upto.core import Embeddings, Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.questions.batches.conditions import Rows
    from upto.questions.batches.evaluate import Judged
    from upto.questions.batches.screen import Screen

MIN_ROWS = 8


@with_provenance
def batches(
    run: Run,
    *,
    batch: str | Sequence[str] | ArrayLike,
    label: str | ArrayLike,
    control: str | float | None = None,
    conditions: str | Iterable[str] | None = None,
    tasks: str | Sequence[str] = (),
    fold_by: str | Sequence[str] | ArrayLike | None = None,
    well: str | ArrayLike | None = None,
    scheme: Scheme = "folds",
    folds: int = 5,
    fit: Literal["training", "all"] = "training",
    n_components: int | float | None = None,
    classifier: str = "boosted",
    concentration: float | Sequence[float] = (25.0,),
    shuffled: bool = True,
    probe_labels: int | None = PROBED,
    mixing: bool = True,
    maps: bool = True,
    seed: int = 0,
    threads: int | None = None,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> BatchesResult:
    """Compare transforms of an embedding by labels predicted on held-out batches.

    Each condition is fitted to training batches, a classifier of each label against controls is
    trained on them, and its AUROC is computed on the held-out batches.

    Parameters
    ----------
    run
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it.
    batch
        Batch column, e.g. plate; several columns are combined. An array, list or
        series with one value per row may replace the name of a column, also for `label`, `fold_by`
        and `well`.
    label
        Label column, e.g. perturbation.
    control
        Label of the controls, which every other label is compared with. By default each label is
        compared with all others.
    conditions
        Names of transforms, as a list or separated by commas; a plus applies them in sequence, e.g.
        ``"control-scaled+ica"``.
    tasks
        Labels to evaluate, by name or pattern; all by default.
    fold_by
        Columns whose values are held out as a whole, e.g. day; the batches by default.
    well
        Column of well positions; detected by name by default.
    scheme
        ``"folds"``: hold out parts of the batches in turn; ``"one-trains"``: train on one batch and
        test on all others.
    folds
        Number of folds.
    fit
        ``"training"``: fit conditions to training batches; ``"all"``: to all rows, as in the paper.
    n_components
        Number of components kept by whitening, or the fraction of variance they explain; all by
        default.
    classifier
        ``"boosted"``: LightGBM with the settings of the paper; ``"boosted-fast"``; or ``"linear"``.
    concentration
        Percentage or percentages of top columns that are tested alone, as are the rest.
    shuffled
        Whether to also train every classifier on shuffled labels.
    probe_labels
        Largest number of labels, drawn at random, for shuffled labels and concentration, which are
        means over labels; None for all.
    mixing
        Whether to compute in-sample mixing scores, as other tools do.
    maps
        Whether to compute t-SNE maps.
    seed
        Seed of the random number generator.
    threads
        Number of threads of the classifier; all cores by default.
    engine
        Engine of the passes, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    BatchesResult
        Scores of every condition, and their differences.

    Raises
    ------
    InputError
        If a column or value does not exist, or no label can be evaluated on any fold.

    See Also
    --------
    upto.BatchesResult : What it returns.
    upto.corrections.BatchScaler : A correction as an estimator.
    upto.batch_metrics.mixing.evaluate_mixing : Mixing scores of plain arrays.
    upto.batch_metrics.retrieval.mean_average_precision : Retrieval of replicates.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> plate, drug = np.repeat(range(4), 60), np.tile(["none", "drug"], 120)
    >>> rows = rng.normal(size=(240, 5)) + plate[:, None]
    >>> rows[:, 0] += 3 * (drug == "drug")
    >>> options = {"classifier": "linear", "shuffled": False, "maps": False}
    >>> found = upto.batches(
    ...     rows, batch=plate, label=drug, control="none", conditions="base,batch-scaled", **options
    ... )
    >>> bool(found.score("batch-scaled").auroc.value > 0.9)
    True
    """
    percents = as_percents(concentration)
    check_options(classifier=classifier, fit=fit, probe_labels=probe_labels, folds=folds, seed=seed)
    kinds = find_conditions(conditions, has_controls=control is not None)
    progress = choose_progress(progress)
    engine = choose_engine(engine)
    given = with_named(single_run(run, "batches"), batch, label, fold_by, well)
    check_components(n_components, given)
    rows, screen, alike = _in_order(
        given,
        engine,
        seed,
        batch=batch,
        label=label,
        control=control,
        fold_by=fold_by,
        well=well,
        tasks=each_of(tasks),
    )
    if any(kind.needs == "controls" for kind in kinds):
        screen = screen.with_references(alike)
    fold_of, splits = split_batches(
        screen.held, screen.labels, scheme=scheme, n_folds=folds, seed=seed
    )
    judged_tasks = describe_tasks(screen, splits)
    described = tuple(describe_fold(screen, split) for split in splits)
    seen = [len(screen.batches) if fit == "all" else each.n_training_batches for each in described]
    check_usable(kinds, screen, seen)
    making = Making(n_components=n_components, engine=engine, seed=seed)
    judging = Judging(
        classifier=classifier,
        fit=fit,
        percents=percents if given.n_features > 1 else (),
        shuffled=shuffled,
        making=making,
        threads=threads,
        probed=probed_labels(screen.questions, splits, probe_labels, seed),
    )
    n_trainings = count_trainings(screen, splits, judging)
    judged: list[Judged] = []
    left_out: list[Finding] = []
    with progress.task("evaluate conditions", len(kinds) * n_trainings) as advance:
        for kind in kinds:
            try:
                judged.append(judge_condition(kind, rows, screen, splits, judging, advance))
            except NothingKeptError as error:
                # Keep the conditions that may have taken hours.
                left_out.append(Finding(code="UP084", message=f"{kind.title}: {error}"))
    held = HeldOut.of(splits, screen.questions, judged_tasks, len(screen.batches), scheme)
    scores, concentrations, differences = add_up(
        judged, splits, [task.name for task in judged_tasks], judging, held
    )
    near = near_copies(rows, screen, engine, seed)
    leak = _find_leaks(rows, screen, splits, judging, alike, near, held, progress)
    labels = tuple(np.unique(screen.labels).tolist())
    wholes = {each.kind.name: each.whole for each in judged}
    with progress.task("summarise in sample", 3) as advance:
        looked = (
            score_mixing(wholes, rows, screen, _sample(screen, MAX_MIXED), seed) if mixing else []
        )
        advance(1)
        carried = find_components(rows, wholes.get("ica"), screen, making)
        advance(1)
        drawn = []
        mapped = _sample(screen, MAX_MAPPED)
        if maps and len(mapped) >= MIN_MAPPED:
            others = [score for score in scores if score.condition != BASE]
            best = [words.best_condition(others)] if others else []
            for name in (BASE, *best):
                drawn.append(map_rows(name, wholes[name], screen, labels, mapped, seed))
        advance(1)
    result = BatchesResult(
        name=given.name,
        n_samples=given.n_samples,
        n_features=given.n_features,
        batch=screen.batch_words,
        label=screen.label_words,
        control=screen.control,
        fold_by=screen.fold_by_words,
        scheme=scheme,
        fit=fit,
        classifier=classifier,
        batches=describe_batches(screen, fold_of),
        labels=labels,
        folds=described,
        tasks=judged_tasks,
        conditions=tuple(describe_condition(each) for each in judged),
        fold_scores=tuple(score for each in judged for score in each.scores),
        top_scores=tuple(score for each in judged for score in each.tops),
        scores=tuple(scores),
        concentrations=tuple(concentrations),
        differences=tuple(differences),
        mixing=tuple(looked),
        components=carried,
        maps=tuple(drawn),
        leak=leak,
        verdict="",
        findings=(),
        provenance=UNRECORDED,
    )
    # In a sequence, other steps change rows even if this one does not.
    unchanged = [
        each.kind.name
        for each in judged
        if each.kind.name == "biology" and words.drops_nothing(each)
    ]
    found = [
        *find_look_alikes(screen),
        *find_shared_copies(near, screen),
        *words.findings(result, screen, splits, unchanged),
        *left_out,
        *words.kept_whole(judged),
    ]
    grounds = Grounds(
        unchanged=unchanged,
        saw_labels=[kind.name for kind in kinds if words.saw_labels(kind.name, fit)],
        within_error=chance_error(screen.questions, screen.batch, splits),
    )
    return replace(result, verdict=verdict(result, grounds), findings=unique_findings(found))


def _in_order(
    run: Embeddings, engine: Engine, seed: int, **asked: object
) -> tuple[Rows, Screen, Codes]:
    """Read rows in an order that depends only on their content, with their metadata.

    Boosted trees depend on the order of rows, so this makes the result independent of the order and
    units of the file. Equal rows have equal keys.
    """
    survey_runs(engine, [replace(run, rows=engine.place(run.rows))])
    if run.n_samples < MIN_ROWS:
        message = f"{run.name} has {run.n_samples} rows: at least {MIN_ROWS} are needed."
        raise InputError(message)
    screen = read_screen(run, **asked)  # type: ignore[arg-type]
    rows = np.asarray(run.rows[:])
    rows = rows.astype(np.float32 if rows.dtype == np.float32 else np.float64, copy=False)
    keys = row_keys(engine, rows, seed)
    ranked = rank_keys(rows, seed)
    order = np.lexsort((screen.labels, screen.batch_names, keys, ranked))
    is_new = np.diff(keys[order], prepend=keys[order[:1]]) != 0
    return rows[order], screen.ordered(order), np.cumsum(is_new)


def _find_leaks(
    rows: Rows,
    screen: Screen,
    splits: Sequence[Split],
    judging: Judging,
    alike: Codes,
    near: Codes,
    held: HeldOut,
    progress: Progress,
) -> Leak:
    n_trainings = len(splits) * len(leaks.told_by_batches(screen, judging))
    with progress.task("check for leaks", n_trainings) as advance:
        by_well = leaks.predict_by_well(screen, splits)
        by_batch = leaks.predict_by_batch(rows, screen, splits, judging, advance)
    equal = leaks.repeated_rows(alike, screen.held)
    n_copied, n_judged = count_copied(equal, near, screen, splits)
    return Leak(
        well=None if by_well is None else estimate(by_well, held),
        batch=estimate(by_batch, held),
        n_repeated_wells=leaks.count_repeated_wells(screen),
        n_repeated_rows=int(equal.sum()),
        n_copied=n_copied,
        n_judged=n_judged,
    )


def _sample(screen: Screen, most: int) -> Codes:
    """Return the first labelled rows: in hash order, they are a random sample."""
    return np.flatnonzero(screen.labels != "")[:most]
