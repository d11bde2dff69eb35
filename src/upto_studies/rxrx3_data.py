"""OpenPhenom embeddings of RxRx3-core, published or simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError, random_stream
from upto.files import read_columns, read_run
from upto.simulate import CONTROL, GUIDES, PlateLayout, ScreenEffects, draw_screen
from upto_studies.held_out_data import data_folder, find_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EMBEDDINGS = "OpenPhenom_rxrx3_core_embeddings.parquet"
METADATA = "metadata_rxrx3_core.csv"
HOW = (
    f"get {EMBEDDINGS} (532 MB) and {METADATA} from the dataset recursionpharma/rxrx3-core of "
    "Hugging Face (Recursion's non-commercial licence)"
)
COLUMNS = ("experiment_name", "plate", "address", "treatment", "perturbation_type")
GENE_SCREEN = "CRISPR"
"""Type of the wells with guides or their controls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Selection of wells: those of some genes and their controls, or more.

    `kind` is ``"guides"``: guides and controls only; ``"genes"``: every well of the gene screen,
    where those of other genes are used only in fits; or ``"all"``: compounds too. `n_experiments`
    of the gene screen's experiments are sampled; 0 takes all.
    """

    genes: tuple[str, ...]
    kind: str
    n_experiments: int


def guides_of(genes: Sequence[str]) -> tuple[str, ...]:
    """Return the paper's guides of the given genes."""
    return tuple(guide for guide in GUIDES if guide.partition("_guide")[0] in genes)


def read_rxrx3(data: Path | None, chosen: Chosen, *, seed: int) -> Embeddings:
    """Read embeddings and the metadata of their wells, matched by ``well_id``.

    Raises
    ------
    InputError
        If a file or column is missing, wells are unknown, or no guide is left.
    """
    folder = data_folder(data, HOW)
    paths = [find_file(folder, name) for name in (EMBEDDINGS, METADATA)]
    for path, name in zip(paths, (EMBEDDINGS, METADATA), strict=True):
        if path is None:
            message = f"{folder} has no {name}: {HOW}, and give the folder as --data."
            raise InputError(message)
    run = read_run(Path(str(paths[0])), key="feature_", ids="well_id")
    known = _known(Path(str(paths[1])))
    place = _match(np.asarray(run.ids).astype(str), known["well_id"])
    columns = {name: known[name][place] for name in COLUMNS}
    kept = _kept(columns, chosen, seed)
    is_gene_screen = columns["perturbation_type"] == GENE_SCREEN
    # Controls of the compound screen belong to other plates, so they have no label here.
    labels = np.where(is_gene_screen, columns["treatment"], "")
    rows = np.asarray(run.rows[:], dtype=np.float32)
    return Embeddings(
        rows=rows if kept.all() else rows[kept],
        name="OpenPhenom",
        columns={
            "experiment_name": columns["experiment_name"][kept],
            "plate": columns["plate"][kept],
            "address": columns["address"][kept],
            "treatment": labels[kept],
        },
    )


def _known(path: Path) -> dict[str, NDArray[Any]]:
    stored = read_columns(path, ids="well_id")
    missing = [name for name in COLUMNS if name not in stored.columns]
    if missing or stored.ids is None:
        message = f"{path} has no column {', '.join(missing) or 'well_id'}: {HOW}."
        raise InputError(message)
    found = {name: stored.columns[name].astype(str) for name in COLUMNS}
    return found | {"well_id": np.asarray(stored.ids).astype(str)}


def _match(wanted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each well in the metadata."""
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    found: NDArray[np.intp] = order[place]
    unknown = known[found] != wanted
    if unknown.any():
        message = (
            f"{int(unknown.sum())} of {len(wanted)} wells of {EMBEDDINGS} are not in {METADATA}, "
            f"such as {wanted[unknown][0]}: {HOW}."
        )
        raise InputError(message)
    return found


def _kept(columns: dict[str, NDArray[Any]], chosen: Chosen, seed: int) -> NDArray[np.bool_]:
    is_gene_screen = columns["perturbation_type"] == GENE_SCREEN
    asked = np.isin(columns["treatment"], guides_of(chosen.genes)) & is_gene_screen
    if not asked.any():
        message = (
            f"no well of {METADATA} has a guide of {', '.join(chosen.genes)}: guides are named "
            "like MTOR_guide_1."
        )
        raise InputError(message)
    kept = {
        "all": np.ones_like(asked),
        "genes": is_gene_screen,
        "guides": asked | (is_gene_screen & (columns["treatment"] == CONTROL)),
    }[chosen.kind]
    if chosen.n_experiments:
        names = np.unique(columns["experiment_name"][asked])
        stream = random_stream(seed, "experiments")
        drawn = stream.permutation(names)[: chosen.n_experiments]
        kept = kept & np.isin(columns["experiment_name"], drawn)
    return np.asarray(kept)


def draw_rxrx3(chosen: Chosen, *, n_features: int, seed: int) -> Embeddings:
    """Simulate a screen of the same layout, in which each guide shifts its own factors."""
    screen = draw_screen(
        PlateLayout(
            n_experiments=chosen.n_experiments or 2,
            n_wells=48,
            guides=guides_of(chosen.genes),
            controls_per_guide=4.0,
            control_plates=0.1,
        ),
        ScreenEffects(shift=2.0),
        n_features=n_features,
        dtype=np.float32,
        seed=seed,
    )
    run = screen.embeddings(name="drawn")
    wanted = ("experiment_name", "plate", "address", "treatment")
    return Embeddings(
        rows=run.rows, name=run.name, columns={name: run.columns[name] for name in wanted}
    )
