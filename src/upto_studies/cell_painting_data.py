"""Cell Painting profiles of bortezomib-resistant clones, published or simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, InputError, Rows
from upto.simulate import PlateLayout, ScreenEffects, draw_screen
from upto_studies.held_out_data import data_folder, find_file, read_arrays

if TYPE_CHECKING:
    from pathlib import Path

FILE = "bortezomib_7batches.npz"
SHA256 = "1834af6006cda6d3666a629c36cca14186007d9e55d009bda67a14e43ebf680e"
BATCHES = (
    "2021_03_03_Batch14",
    "2021_03_03_Batch15",
    "2021_03_05_Batch17",
    "2021_03_12_Batch19",
    "2021_06_25_Batch21",
    "2021_07_21_Batch23",
    "2021_08_02_Batch25",
)
"""Batches in which clones received four doses of bortezomib from zero, one plate each."""

HOW = (
    "clone github.com/broadinstitute/profiling-resistance-mechanisms (commit a0e32d6, BSD-3), "
    "whose 2.describe-data/data/gct_files has the profiles"
)
UNTREATED = "0.1% DMSO"
PARENTAL = "WT_parental"
RESISTANT, WILD = "resistant", "wild type"
_TABLES = "2.describe-data/data/gct_files"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """Wells with their features; a clone is wild type if its name starts with WT."""

    rows: Rows
    batch: NDArray[Any]
    plate: NDArray[Any]
    well: NDArray[Any]
    clone: NDArray[Any]
    treatment: NDArray[Any]

    def embeddings(self, chosen: NDArray[np.bool_] | None = None) -> Embeddings:
        """Return all or selected wells as a run."""
        kept = np.ones(len(self.plate), dtype=bool) if chosen is None else chosen
        is_wild = np.char.startswith(self.clone, "WT")
        columns = {
            "batch": self.batch,
            "plate": self.plate,
            "well": self.well,
            "clone": np.where(is_wild, WILD, RESISTANT),
            "treatment": self.treatment,
        }
        return Embeddings(
            rows=np.asarray(self.rows[:], dtype=np.float64)[kept],
            name="profiles",
            columns={name: values[kept] for name, values in columns.items()},
        )


def read_profiles(data: Path | None) -> Profiles:
    """Read the profiles from an array file or from the tables of the published repository.

    Raises
    ------
    InputError
        If neither exists, or they are not the published ones.
    """
    folder = data_folder(data, HOW)
    arrays = find_file(folder, FILE)
    if arrays is not None:
        names = ("X", "batch", "plate", "well", "clone", "treatment")
        stored = read_arrays(arrays, names, sha256=SHA256, how=HOW)
        return Profiles(rows=stored.pop("X"), **stored)
    tables = [_find_table(folder, batch) for batch in BATCHES]
    missing = [name for name, path in zip(BATCHES, tables, strict=True) if path is None]
    if missing:
        message = (
            f"{folder} lacks {len(missing)} of {len(BATCHES)} tables, e.g. "
            f"{missing[0]}_feature_select.gct, and has no {FILE}: {HOW}, and give the folder as "
            "--data."
        )
        raise InputError(message)
    return join_tables([read_gct(path) for path in tables if path is not None])


def _find_table(folder: Path, batch: str) -> Path | None:
    name = f"{batch}_feature_select.gct"
    return find_file(folder, name, f"{_TABLES}/{batch}/{name}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GctTable:
    """One GCT 1.3 table: column annotations, and the values of every feature."""

    about: dict[str, NDArray[Any]]
    values: dict[str, NDArray[Any]]


def read_gct(path: Path) -> GctTable:
    """Read a GCT 1.3 table.

    Raises
    ------
    InputError
        If the file is not a GCT 1.3 table, or is truncated.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) < 3 or lines[0].strip() != "#1.3":
        message = f"{path} does not start with #1.3: give a GCT table of that version."
        raise InputError(message)
    n_values, n_columns, n_before, n_about = (int(number) for number in lines[1].split())
    rows = [line.split("\t") for line in lines[3:]]
    first = 1 + n_before
    if len(rows) != n_about + n_values or any(len(row) != first + n_columns for row in rows):
        message = (
            f"{path} declares {n_about + n_values} rows of {first + n_columns} cells but has "
            f"{len(rows)}, or some of another length: get it again."
        )
        raise InputError(message)
    return GctTable(
        about={row[0]: np.array(row[first:]) for row in rows[:n_about]},
        values={row[1]: np.array(row[first:], dtype=np.float64) for row in rows[n_about:]},
    )


def join_tables(tables: list[GctTable]) -> Profiles:
    """Concatenate tables on their common features."""
    names = [name for name in tables[0].values if all(name in each.values for each in tables)]
    rows = [np.stack([each.values[name] for name in names], axis=1) for each in tables]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([each.about[name] for each in tables])

    return Profiles(
        rows=np.concatenate(rows).astype(np.float32),
        batch=column("batch"),
        plate=column("Plate"),
        well=column("Well"),
        clone=column("clone_number"),
        treatment=column("treatment"),
    )


def draw_profiles(*, n_wells: int, n_features: int, seed: int) -> Profiles:
    """Simulate a screen of the same layout: fixed wells, and doses confounded with plates."""
    n_plates = 4
    screen = draw_screen(
        PlateLayout(
            n_experiments=len(BATCHES),
            n_plates=n_plates,
            n_wells=n_wells,
            guides=("BZ001_guide_1",),
            controls_per_guide=1.0,
            control_plates=0.0,
            fixed_wells=True,
        ),
        ScreenEffects(n_biological=1, n_technical=2, shift=2.0),
        n_features=n_features,
        seed=seed,
    )
    doses = np.array([UNTREATED, *(f"{dose} nM bortezomib" for dose in ("0.78", "2.33", "7"))])
    dose = doses[np.unique(screen.batch, return_inverse=True)[1] % n_plates]
    places = np.unique(screen.address[screen.is_control])
    parental = np.isin(screen.address, places[: max(6, len(places) // 2)])
    untreated = np.isin(screen.address, places[: max(4, len(places) // 4)])
    wild = np.where(parental, PARENTAL, "WT clone 01")
    return Profiles(
        rows=screen.rows,
        batch=screen.experiment_name,
        plate=screen.batch,
        well=screen.address,
        clone=np.where(screen.is_control, wild, "BZ001"),
        treatment=np.where(untreated, UNTREATED, dose),
    )
