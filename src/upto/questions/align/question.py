"""Fit maps to a new model's space, judge what retrieval loses, and carry files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    Embeddings,
    Finding,
    InputError,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_fraction, check_whole
from upto.core.provenance import UNRECORDED
from upto.engines import choose_engine
from upto.files.accept import take_runs
from upto.files.survey import refuse_wide
from upto.measures.nearest import METRICS, Metric
from upto.questions.align.carried_index import column_of_ids, find_index, parts_of, size_of
from upto.questions.align.carriers import MATRICES, Carrier, fit_carrier, names_to_try
from upto.questions.align.growth import index_sizes, learning_curve, pair_counts
from upto.questions.align.judged import Searching, choose, judge
from upto.questions.align.pairs import find_pairs
from upto.questions.align.result import BACK, AlignResult
from upto.questions.align.text import advise, remarks, verdict
from upto.questions.align.unlike import length_correlation, share_unlike
from upto.transforms.bad_rows import check_bad_rows
from upto.transforms.save import check_transform_path, save_transform
from upto.transforms.several_files import apply_to_files, check_targets
from upto.transforms.spot_check import check_verify

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.questions.align.pairs import Pairs
    from upto.transforms.bad_rows import BadRows


@with_provenance
def align(
    old: Run,
    new: Run,
    *,
    ids: str | Sequence[ArrayLike] | None = None,
    up_to: str = "auto",
    metric: Metric = "cosine",
    at: Sequence[int] = (1, 10, 100),
    enough: float = 0.95,
    held_out: float = 0.3,
    apply: Run | Sequence[Run] | None = None,
    output: str | Path | None = None,
    index_size: int | None = None,
    bad_rows: BadRows = "refuse",
    verify: int = 1000,
    resume: bool = True,
    save: str | Path | None = None,
    save_back: str | Path | None = None,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> AlignResult:
    """Carry rows from an old model's space to a new one's, and say what retrieval loses.

    Maps are fitted to samples that both models embedded, the pairs, and judged on pairs that were
    held out: how many of the nearest rows that embedding everything again would find does a search
    in the carried index find, or a search of the old index by queries that were carried back?

    Parameters
    ----------
    old, new
        The rows of the old and of the new model: arrays, tensors, data frames, AnnData or xarray
        objects, paths or `Embeddings`, as `as_embeddings` takes them. Rows are matched by ids if
        both have them, else by position. `old` may be the whole index, of which `new` has a part.
    ids
        Name of the column with one id per row, or a list with the ids of each.
    up_to
        ``"auto"``, or a map: ``"identity"``, ``"signed-permutation"``, ``"rigid"``,
        ``"similarity"``, ``"affine"``, ``"ridge"`` (affine with shrinkage), ``"low-rank"``,
        ``"kernel"`` or ``"network"``. By default all but the last are judged, and the simplest one
        whose recall is within one standard error of the best is chosen, on a part of the fitted
        pairs.
    metric
        How the index is searched: ``"cosine"``, ``"inner-product"`` or ``"euclidean"``. If the
        new rows have one length, mapped rows are scaled to it.
    at
        Numbers of rows that are retrieved. The verdict uses 10 if it is among them, else the first.
    enough
        Recall from which the index is worth carrying.
    held_out
        Fraction of the pairs held out to judge the maps.
    apply
        The index to carry, or several parts of it, of any size: it is checked against the pairs,
        and recall is extrapolated to its size.
    output
        File for the carried index, with its ids and columns; a folder for several parts.
    index_size
        Number of rows of the index; by default those of `apply`, or of `old` if it has more than
        `new`.
    bad_rows, verify, resume
        How the index is carried, as in `apply_transform`: what is done with rows that have NaN or
        infinite values, how many carried rows are compared with the source, and whether unfinished
        work is continued. Unless bad rows are refused, pairs with such a row are left out.
    save, save_back
        Files (``.safetensors``) for the chosen map, and for the one that carries queries back.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    AlignResult
        The advice, every map with its recall, and how recall depends on pairs and on the index.

    Raises
    ------
    InputError
        If the rows cannot be used or are too few, or the index has not the width of `old`.

    See Also
    --------
    upto.AlignResult : What it returns: recall of every map, and the maps.
    upto.compare : Whether two runs agree, by error instead of retrieval.
    upto.apply_transform : Carry files of any size with a saved map.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> old = rng.laplace(size=(600, 16))
    >>> turn, _ = np.linalg.qr(rng.normal(size=(16, 16)))
    >>> result = upto.align(old, old @ turn)
    >>> result.chosen, result.advice
    ('rigid', 'carry')
    """
    _check_options(metric, at, enough, held_out, seed)
    _check_outputs(output, apply, bad_rows, verify, save=save, save_back=save_back)
    if index_size is not None:
        check_whole(least=1, index_size=index_size)
    engine, progress = choose_engine(engine), choose_progress(progress)
    taken = take_runs((old, new), ("old", "new"), ids=ids)
    if len(taken) != 2:
        message = f"old and new are two runs, but {len(taken)} were given: name one of each."
        raise InputError(message)
    first, second = taken
    index = find_index(first, second, apply, ids)
    widths = {"old_width": first.n_features, "new_width": second.n_features}
    names = names_to_try(up_to, n_fitted=0, **widths)
    width = max(widths.values())
    refuse_wide(f"aligning {width} columns", width, max(MATRICES[name] for name in names))
    with progress.task("match and read the pairs", 1) as advance:
        pairs = find_pairs(
            engine,
            first,
            second,
            held_out=held_out,
            metric=metric,
            bad_rows=bad_rows,
            seed=seed,
        )
        advance(1)
    is_size_known = bool(index) or index_size is not None
    index_size = size_of(index, pairs.n_pairs, index_size)
    names = names_to_try(up_to, n_fitted=pairs.n_fitted, **widths)
    wanted, left_out = _counts(at, len(pairs.new.judged))
    decides = 10 if 10 in wanted else wanted[0]
    with progress.task("fit maps", len(names) * (2 if len(names) > 1 else 1)) as advance:
        carriers = []
        for name in names:
            carriers.append(fit_carrier(name, pairs.old.fitted, pairs.new.fitted, seed=seed))
            advance(1)
        searching = Searching.of(carriers[0], metric)
        chosen = _chosen(pairs, names, searching, decides, seed, advance)
    with progress.task("search held-out rows", 1) as advance:
        judged = judge(
            pairs, carriers, searching, wanted, chosen=chosen, decides=decides, seed=seed
        )
        advance(1)
    carrier = carriers[names.index(chosen)]
    place = wanted.index(decides)
    mapped = judged.maps[names.index(chosen)]
    recall = mapped.recall[place]
    staying = next(each for each in judged.baselines if each.name == "old model").recall[place]
    with progress.task("fit fewer pairs", len(pair_counts(pairs.n_fitted))) as advance:
        curve = learning_curve(pairs, chosen, recall, searching, decides, seed, advance)
    sizes = index_sizes(
        pairs,
        carrier,
        searching,
        judged.searches,
        {chosen: recall, chosen + BACK: mapped.back[place], "old model": staying},
        index_size=index_size,
        count=decides,
        seed=seed,
    )
    at_size = [each.recall for each in sizes if each.name == chosen][-1]
    kept = Kept(carriers={each.name: each for each in carriers}, old=first, new=second)
    result = AlignResult(
        old=first.name,
        new=second.name,
        n_pairs=pairs.n_pairs,
        n_fitted=pairs.n_fitted,
        n_held_out=pairs.n_held_out,
        n_rows=len(pairs.new.judged),
        n_queries=len(judged.searches.truth.rows),
        old_width=first.n_features,
        new_width=second.n_features,
        metric=metric,
        at=tuple(wanted),
        decides=decides,
        enough=enough,
        index_size=index_size,
        is_size_known=is_size_known,
        length=searching.new_length,
        chosen=chosen,
        advice="unclear",
        at_size=at_size,
        maps=judged.maps,
        baselines=judged.baselines,
        curve=curve,
        sizes=sizes,
        unlike=share_unlike(
            index, pairs.old.fitted, pairs.old.judged, metric, seed, first.features
        ),
        verdict="",
        findings=(),
        provenance=UNRECORDED,
        kept=kept,
    )
    lengths = length_correlation(carrier.carried(pairs.old.judged), pairs.new.judged)
    result = replace(result, advice=advise(result, asked=10 if 10 in at else decides))
    findings = [*pairs.findings, *left_out, *remarks(result, lengths)]
    result = replace(result, verdict=verdict(result), findings=unique_findings(findings))
    for path, back in ((save, False), (save_back, True)):
        if path is not None:
            save_transform(path, result.aligner(back=back))
    if output is not None:
        apply_to_files(
            result.aligner(),
            parts_of(apply),
            output=output,
            ids=column_of_ids(ids),
            bad_rows=bad_rows,
            verify=verify,
            resume=resume,
            engine=engine,
            progress=progress,
        )
    return result


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Kept:
    """The fitted maps of an alignment, and whose rows they map."""

    carriers: dict[str, Carrier]
    old: Embeddings
    new: Embeddings

    def aligner(self, name: str, *, back: bool) -> Any:
        """Return a map as a fitted estimator that knows its models and their columns."""
        carrier = self.carriers[name]
        source, target = (self.new, self.old) if back else (self.old, self.new)
        estimator = carrier.back if back else carrier.forward
        estimator.source_name_, estimator.target_name_ = source.name, target.name
        if source.features:
            estimator.feature_names_in_ = np.array(source.features, dtype=object)
        estimator.target_names_ = target.features or None
        return estimator


def _check_options(
    metric: str, at: Sequence[int], enough: float, held_out: float, seed: int
) -> None:
    if metric not in METRICS:
        message = f"metric is {metric!r}: choose one of {', '.join(METRICS)}."
        raise InputError(message)
    check_whole(seed=seed)
    check_fraction(held_out=held_out)
    if held_out == 0:
        message = "held_out is 0, but recall is judged on held-out rows: choose a fraction above 0."
        raise InputError(message)
    if isinstance(at, int) or not at:
        message = f"at is {at!r}: give one or more numbers of rows to retrieve, such as (1, 10)."
        raise InputError(message)
    for count in at:
        check_whole(least=1, at=count)
    if not 0 < enough <= 1:
        message = f"enough is {enough}, but a recall is above 0 and at most 1."
        raise InputError(message)


def _check_outputs(
    output: str | Path | None,
    apply: Any,
    bad_rows: BadRows,
    verify: int,
    **maps: str | Path | None,
) -> None:
    """Refuse, before anything is fitted, what could not be written afterwards."""
    if output is not None and apply is None:
        message = f"output is {str(output)!r}, but there is nothing to carry: pass apply."
        raise InputError(message)
    check_bad_rows(bad_rows)
    check_verify(verify)
    for path in maps.values():
        if path is not None:
            check_transform_path(path)
    if output is not None:
        check_targets(parts_of(apply), output)


def _counts(at: Sequence[int], n_rows: int) -> tuple[list[int], list[Finding]]:
    """Return the numbers of rows to retrieve that are small beside the rows searched."""
    most = max((n_rows - 1) // 4, 1)
    asked = list(dict.fromkeys(int(count) for count in at))
    wanted = [count for count in asked if count <= most]
    if not wanted:
        message = (
            f"recall@{min(asked)} needs {4 * min(asked) + 1} held-out rows, and there are "
            f"{n_rows}: embed more rows with both models, or ask for fewer neighbours."
        )
        raise InputError(message)
    if wanted == asked:
        return wanted, []
    left = ", ".join(f"recall@{count}" for count in asked if count > most)
    message = f"{left} was not computed among {n_rows} held-out rows."
    return wanted, [Finding(code="UP108", message=message)]


def _chosen(
    pairs: Pairs,
    names: Sequence[str],
    searching: Searching,
    count: int,
    seed: int,
    advance: Any,
) -> str:
    """Choose a map by the recall on a quarter of the fitted pairs, fitted to the rest."""
    if len(names) == 1:
        return names[0]
    aside = np.zeros(pairs.n_fitted, dtype=bool)
    aside[-max(pairs.n_fitted // 4, 8) :] = True
    carriers = []
    for name in names:
        old, new = pairs.old.fitted[~aside], pairs.new.fitted[~aside]
        carriers.append(fit_carrier(name, old, new, seed=seed, forward_only=True))
        advance(1)
    return choose(pairs, carriers, searching, aside, count)
