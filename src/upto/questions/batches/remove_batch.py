"""Write a run without the components that carry batch but no label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from upto.batch_metrics.effects import LIMIT, ComponentEffect, batch_and_label_shares
from upto.core import InputError, choose_progress
from upto.corrections.biology import SPACES, Space, choose_components, keeping_map
from upto.corrections.cost_of_dropping import DroppingCost
from upto.engines import choose_engine, select_rows
from upto.files import check_output, open_writer
from upto.files.accept import single_run
from upto.files.names import Naming, names_in
from upto.files.rows import BlockRows
from upto.files.survey import place_runs, survey_runs
from upto.ica import ICA
from upto.questions.batches.named_columns import with_named
from upto.questions.batches.screen import find_control, find_label, join_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core import Embeddings, Progress, Rows
    from upto.engines.base import Arrays, Engine
    from upto.files.accept import Run

_TABLES = (".csv", ".tsv", ".parquet", ".pq")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBiology:
    """Kept and dropped components of a run.

    Parameters
    ----------
    batch, label
        Names of the columns in the run.
    control
        Label of the controls, if any.
    effects
        Variance of each component explained by batches and labels.
    kept, dropped
        Numbers of the components.
    cost
        Cost of dropping on held-out batches; None if no component was considered.
    converged
        Whether ICA converged.

    See Also
    --------
    keep_biology : Returns it.
    """

    batch: str
    label: str
    control: str | None
    effects: tuple[ComponentEffect, ...]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    cost: DroppingCost | None
    converged: bool

    @property
    def says(self) -> str:
        """Summary of the dropped components, or the reason why none was dropped."""
        carried = [each for each in self.effects if each.carries in ("batch", "both")]
        n_all = len(self.effects)
        if self.dropped:
            assert self.cost is not None
            carry = "carries {} and is" if len(self.dropped) == 1 else "carry {} and are"
            return (
                f"{len(self.dropped)} of {n_all} components {carry.format(self.batch)} removed: "
                f"{self.cost.says}"
            )
        if not carried:
            return f"none of {n_all} components carries {self.batch}; the rows are unchanged"
        if self.cost is not None:
            return f"no component can be dropped safely ({self.cost.says}); the rows are unchanged"
        closest = min((each.label_shift for each in carried if each.label_shift), default=None)
        why = next((each.says for each in carried if each.says), "").rstrip(".")
        if closest is not None:
            why = (
                f"{self.label} may shift even the least affected one by {closest:.2f} standard "
                "deviations"
            )
        return (
            f"no component can be dropped safely; {len(carried)} of {n_all} components "
            f"{'carry' if len(carried) > 1 else 'carries'} {self.batch}, but it cannot be shown "
            f"that {self.label} does not shift {'them' if len(carried) > 1 else 'it'} ({why}); "
            "the rows are unchanged"
        )


def keep_biology(
    run: Run,
    out: str | Path,
    *,
    batch: str | Sequence[str] | ArrayLike,
    label: str | ArrayLike,
    control: str | None = None,
    space: Space = "original",
    ids: str | ArrayLike | None = None,
    limit: float = LIMIT,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> KeptBiology:
    """Write a run without the independent components that carry batch but no label.

    Components are dropped only if labels are shown not to need them, by the rule of
    `upto.corrections.BiologyComponents`; otherwise the run is written unchanged. Ids and columns
    are kept, and feature names in tables. Rows are read and written block by block, except those of
    held-out batches, of which up to 20,000 are sampled.

    Parameters
    ----------
    run
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it.
    out
        Output file. It may be the run's own file only if that is an h5ad file, to which
        ``obsm["X_biology"]`` is added.
    batch, label
        Names of the columns, or one value per row; several batch columns are combined.
    control
        Label of the controls; batch effects are then estimated from them.
    space
        ``original`` for the same coordinates; ``components`` for the kept components.
    ids
        One id per row, or the name of their column or entry; detected by name by default.
    limit
        Fraction of the variance above which a component carries batch or label.
    seed
        Seed of the random number generator.
    engine
        Engine of the passes, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    KeptBiology
        The kept and dropped components, and the cost of dropping.

    Raises
    ------
    InputError
        If the run is invalid, every component would be dropped, or the file cannot be written.

    See Also
    --------
    upto.corrections.BiologyComponents : The same for arrays, as an estimator.
    upto.batches : Whether the corrected run predicts labels in unseen batches.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from upto.questions.batches.remove_batch import keep_biology
    >>> rng = np.random.default_rng(0)
    >>> plate, gene = np.repeat(np.arange(8), 300), np.tile(np.arange(2), 1200)
    >>> sources = rng.laplace(size=(2400, 2)) / 2
    >>> sources[:, 0] += rng.choice([-2.0, 2.0], size=8)[plate]
    >>> sources[:, 1] += 3.0 * gene
    >>> with TemporaryDirectory() as folder:
    ...     out = Path(folder) / "kept.npz"
    ...     found = keep_biology(sources, out, batch=plate, label=gene)
    ...     print(len(found.dropped), out.exists())
    1 True
    """
    if space not in SPACES:
        message = f"unknown space {space!r}: choose one of {', '.join(SPACES)}."
        raise InputError(message)
    engine, progress = choose_engine(engine), choose_progress(progress)
    inputs = [run] if isinstance(run, str | Path) else []
    check_output(out, inputs=inputs)
    given = single_run(run, "keep_biology", ids=ids)
    embeddings = with_named(given, batch, label)
    batch, batches = join_columns(embeddings, batch, argument="batch")
    label, labels = find_label(embeddings, label, batch)
    controls = None
    if control is not None:
        controls = labels == find_control(control, labels, label)
    (placed,) = place_runs(engine, [embeddings])
    survey_runs(engine, [placed])
    with progress.task("keep biology", 3) as advance:
        with warnings.catch_warnings():
            # Convergence is part of the result.
            warnings.simplefilter("ignore", ConvergenceWarning)
            ica = ICA(engine=engine, random_state=seed).fit_rows(embeddings.rows)
        advance(1)
        effects = batch_and_label_shares(
            _Sources(embeddings.rows, ica), batches, labels, controls=controls, limit=limit
        )
        kept, dropped, cost = choose_components(
            ica,
            effects,
            lambda drawn: select_rows(engine, placed.rows, drawn),
            labels=labels,
            batches=batches,
            controls=controls,
        )
        advance(1)
        found = KeptBiology(
            batch=batch,
            label=label,
            control=control,
            effects=effects,
            kept=tuple(kept.tolist()),
            dropped=tuple(dropped.tolist()),
            cost=cost,
            converged=ica.converged_,
        )
        params = keeping_map(ica, kept, dropped, space)
        is_single = np.dtype(embeddings.rows.dtype) in (np.dtype("float16"), np.dtype("float32"))
        writer = open_writer(
            out,
            embeddings,
            params[1].shape[1],
            dtype="float32" if is_single else "float64",
            prefix="biology",
            inputs=inputs,
            stored=_stored(found, space),
            naming=_naming(embeddings, inputs, Path(out), found, space, ids, given.n_features),
        )
        with writer as file:
            engine.map_blocks(_kept, placed.rows, params=params, out=file)
        advance(1)
    return found


def _kept(xp: Any, x: Any, mean: Any, matrix: Any, offset: Any) -> Arrays:
    return (xp.matmul(x - mean, matrix) + offset,)


class _Sources:
    """Components of the rows, computed block by block on access."""

    def __init__(self, rows: Rows, ica: ICA) -> None:
        self.shape = (int(rows.shape[0]), len(ica.components_))
        self.dtype = np.dtype(np.float64)
        self._rows, self._mean, self._matrix = rows, ica.mean_, ica.components_.T

    def __getitem__(self, key: slice) -> NDArray[np.float64]:
        block: NDArray[np.float64] = (self._rows[key] - self._mean) @ self._matrix
        return block


def _naming(
    embeddings: Embeddings,
    inputs: list[str | Path],
    out: Path,
    found: KeptBiology,
    space: Space,
    ids: str | ArrayLike | None,
    width: int,
) -> Naming | None:
    if out.suffix.lower() not in _TABLES:
        return None
    source = inputs[0] if inputs else None
    if source is None and isinstance(embeddings.rows, BlockRows):
        source = embeddings.rows.path
    naming = Naming(features=embeddings.features)
    if source is not None and Path(source).suffix.lower() != ".toml":
        naming = names_in(source, n_features=width)
        # Without columns that were named as batch or label.
        naming = replace(naming, features=naming.features and embeddings.features)
        if isinstance(ids, str):
            naming = replace(naming, ids=ids)
    if space == "components":
        return replace(naming, features=tuple(f"ica_{number}" for number in found.kept))
    if not naming.features:
        # Readers recognise features by this prefix, even next to other numeric columns.
        numbers = range(embeddings.n_features)
        return replace(naming, features=tuple(f"feature_{number}" for number in numbers))
    return naming


def _stored(found: KeptBiology, space: Space) -> dict[str, Any]:
    shares = {
        name: np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        for name, values in {
            "batch_share": [each.batch_share for each in found.effects],
            "label_share": [each.label_share for each in found.effects],
        }.items()
    }
    return {
        "batch": found.batch,
        "label": found.label,
        "control": "" if found.control is None else found.control,
        "space": space,
        "carries": np.array([each.carries for each in found.effects]),
        **shares,
    }
