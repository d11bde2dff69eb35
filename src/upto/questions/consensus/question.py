"""Fit the consensus of several runs, evaluate it on held-out rows and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from upto.core import Embeddings, InputError, choose_progress, with_provenance
from upto.engines import algebra_on, choose_engine
from upto.evidence.held_out_rows import choose_held_out
from upto.files import check_output, match_rows, open_writer
from upto.files.accept import take_runs
from upto.files.hierarchies import ArrayRows
from upto.files.packages import check_package
from upto.files.rows import BlockRows
from upto.files.survey import place_runs, refuse_wide, survey_runs
from upto.ica.fit import Settings
from upto.questions.compare.pair_options import Options
from upto.questions.consensus.reproducibility import (
    Explained,
    Reproduced,
    explain,
    judged_rows,
    reproduce,
)
from upto.questions.consensus.result import ConsensusResult, ConsensusUpTo
from upto.questions.consensus.spaces import (
    Space,
    gather,
    given_components,
    matched_space,
    turned_space,
    unmix_runs,
    upright,
    write_rows,
)
from upto.questions.consensus.text import consensus_result, remarks_on_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto.engines import Survey
    from upto.engines.base import Engine
    from upto.evidence.split import Split
    from upto.files.accept import Run
    from upto.files.write import Writer


SINGLE = (np.dtype("float16"), np.dtype("float32"))
"""Dtypes of runs whose consensus is written in single precision."""
MATRICES = 16
"""Square matrices in memory at once when wide runs are turned, beside two for each pair of runs
and for each run."""


@with_provenance
def consensus(
    *runs: Run,
    ids: str | Sequence[ArrayLike] | None = None,
    up_to: ConsensusUpTo = "rigid",
    output: str | Path | None = None,
    n_components: int | float | None = None,
    held_out: float = 0.3,
    permutations: int = 199,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> ConsensusResult:
    r"""Find the space that runs share, and the components that appear in every run.

    Runs are aligned on the fitted rows, by rotating all of them onto their mean or by matching
    their independent components. Every run is then compared on held-out rows with the consensus of
    the other runs, so that no run explains itself.

    Parameters
    ----------
    *runs
        Two or more arrays, tensors, data frames, AnnData or xarray objects, paths or `Embeddings`,
        as `as_embeddings` takes them. Rows are matched by ids where all runs have them, else by
        position.
    ids
        Name of the column with one id per row, or a list with the ids of each run, to match rows.
    up_to
        ``"rigid"`` rotates the runs (generalised Procrustes), ``"similarity"`` also scales them,
        ``"ica"`` matches their independent components by signed permutations, and
        ``"signed-permutation"`` matches the raw coordinates, which appear if they agree better
        than those of randomly rotated runs.
    output
        File for the consensus of every row, with the ids and columns of the first run: the mean of
        the runs along its principal axes, or the means of matched components, scaled to unit
        variance.
    n_components
        Number of components of each run, or the share of the variance they explain; all by
        default. Only for ``"ica"``.
    held_out
        Fraction of the rows held out to evaluate the consensus; 0 skips the evaluation.
    permutations
        Number of random re-pairings of the held-out rows for the p-values.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    ConsensusResult
        The runs, the components of their consensus, and the runs in which each appears.

    Raises
    ------
    InputError
        If the runs cannot be used, or the file cannot be written.

    See Also
    --------
    upto.ConsensusResult : What it returns.
    upto.compare : Two runs, or all ordered pairs of several.
    upto.unmix : The independent components of one run.

    Notes
    -----
    Generalised Procrustes analysis turns the centred runs :math:`X_1, \dots, X_K` onto their mean:

    .. math::

        \min_{Q_1, \dots, Q_K} \sum_k \lVert X_k Q_k - M \rVert^2,
        \qquad M = \frac{1}{K} \sum_k X_k Q_k

    References
    ----------
    Gower (1975). Generalized Procrustes analysis. Psychometrika 40.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.laplace(size=(400, 3))
    >>> turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(3)]
    >>> upto.consensus(*(rows @ turn for turn in turns)).in_every_run
    (0, 1, 2)
    """
    _check_options(up_to, n_components, held_out, permutations, seed)
    engine, progress = choose_engine(engine), choose_progress(progress)
    if output is not None:
        check_package(Path(output), "writing")
    given = take_runs(runs, ids=ids)
    if len(given) < 2:
        message = f"a consensus needs two or more runs, not {len(given)}."
        raise InputError(message)
    inputs = [run for run in runs if isinstance(run, str | Path)]
    inputs += [run.rows.path for run in given if isinstance(run.rows, BlockRows)]
    prefix = "ica" if up_to == "ica" else "consensus"
    if output is not None:
        check_output(output, inputs=inputs)
        _refuse_own_array(Path(output), given, prefix)
    embeddings, findings = match_rows(given)
    count, width = len(embeddings), max(run.n_features for run in embeddings)
    doing = f"a consensus of {count} runs of {width} columns"
    refuse_wide(doing, width, MATRICES + count * (count + 1))
    placed = place_runs(engine, embeddings)
    with algebra_on(engine, width):
        surveys = survey_runs(engine, placed)
        split, remarked = choose_held_out(engine, placed, held_out, seed)
        findings = (*findings, *remarked)
        rows = judged_rows(engine, placed, split)
        space = _fit(engine, placed, surveys, split, rows, up_to, n_components, seed, progress)
        explained, reproduced = _judge(rows, space, split, permutations, seed, progress)
        if space.sources:
            order = _most_reproducible_first(space, reproduced)
            space = space.arranged(order, np.ones(len(order)))
            reproduced = reproduced.arranged(order) if reproduced else None
        signs = upright(engine, placed, space, split)
        space = space.arranged(np.arange(len(signs)), signs)
        if output is not None:
            with progress.task("write", 1) as advance:
                writer = _open(output, embeddings, space, inputs, prefix, up_to)
                with writer as out:
                    write_rows(engine, placed, space, out)
                advance(1)
    return consensus_result(
        embeddings,
        space,
        split,
        explained,
        reproduced,
        up_to=up_to,
        asked=held_out,
        n_judged=len(rows[0]) if rows else 0,
        findings=[*findings, *remarks_on_rows(embeddings, surveys, space, split, rows)],
    )


def _check_options(
    up_to: str, n_components: int | float | None, held_out: float, permutations: int, seed: int
) -> None:
    if up_to not in get_args(ConsensusUpTo):
        names = ", ".join(get_args(ConsensusUpTo))
        message = f"up_to is {up_to!r}: choose one of {names}."
        raise InputError(message)
    if n_components is not None and up_to != "ica":
        message = (
            f"n_components is {n_components}, but a consensus up to {up_to} keeps every direction: "
            "omit it, or choose ica."
        )
        raise InputError(message)
    Settings(n_components=n_components)
    Options(held_out=held_out, permutations=permutations, seed=seed)


def _refuse_own_array(target: Path, runs: Sequence[Embeddings], prefix: str) -> None:
    """Raise if the output would overwrite an array of an AnnData file that is a run."""
    key = f"obsm/X_{prefix}"
    for run in runs:
        rows = run.rows
        if (
            isinstance(rows, ArrayRows)
            and rows.key == key
            and rows.path.resolve() == target.expanduser().resolve()
        ):
            message = (
                f"{target} contains {run.name} where the consensus would be written, as {key}: "
                "write to another file."
            )
            raise InputError(message)


def _fit(
    engine: Engine,
    runs: Sequence[Embeddings],
    surveys: Sequence[Survey],
    split: Split,
    rows: Sequence[Float],
    up_to: ConsensusUpTo,
    n_components: int | float | None,
    seed: int,
    progress: Progress,
) -> Space:
    count = len(runs)
    with progress.task("gather moments", count + count * (count - 1) // 2) as advance:
        gathered = gather(engine, runs, surveys, split, advance)
    if up_to == "signed-permutation":
        given = given_components(engine, rows, runs, gathered)
        return matched_space(gathered, given, turn_seed=seed)
    if up_to != "ica":
        return turned_space(gathered, scaled=up_to == "similarity")
    with progress.task("find components", count) as advance:
        sources = unmix_runs(engine, runs, gathered, split, n_components, seed, advance)
    return matched_space(gathered, sources)


def _judge(
    rows: Sequence[Float],
    space: Space,
    split: Split,
    permutations: int,
    seed: int,
    progress: Progress,
) -> tuple[list[Explained], Reproduced | None]:
    if not rows:
        return [], None
    explained = []
    with progress.task("evaluate", len(rows) + 1) as advance:
        for run in range(len(rows)):
            explained.append(
                explain(rows, space, run, permutations=permutations, memory=split.memory, seed=seed)
            )
            advance(1)
        reproduced = reproduce(rows, space, memory=split.memory, seed=seed)
        advance(1)
    return explained, reproduced


def _most_reproducible_first(space: Space, reproduced: Reproduced | None) -> NDArray[np.intp]:
    # Without held-out rows, order by the fitted rows: the factor grows as runs disagree.
    falling = -space.factor if reproduced is None else np.nan_to_num(reproduced.means, nan=-np.inf)
    return np.argsort(-falling, kind="stable")


def _open(
    output: str | Path,
    runs: Sequence[Embeddings],
    space: Space,
    inputs: list[str | Path],
    prefix: str,
    up_to: str,
) -> Writer:
    single = all(np.dtype(run.rows.dtype) in SINGLE for run in runs)
    return open_writer(
        output,
        runs[0],
        len(space.factor),
        dtype="float32" if single else "float64",
        prefix=prefix,
        inputs=inputs,
        stored={"consensus_of": ", ".join(run.name for run in runs), "up_to": up_to},
    )
