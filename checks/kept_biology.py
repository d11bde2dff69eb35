"""Compare `biology` with dropping nothing, on unseen plates.

``python -m checks.kept_biology --data FOLDER`` measures what three limits of `BiologyComponents`,
how far a label may move a dropped component before batches held out decide, gain and lose on some
sets. The rule that was chosen
so is judged on others, and both are written to ``checks/kept_biology.json``. Real sets are those
that the folder has:

choosing
    Six kinds of simulated screens, and spoken digits (``fsdd_silero6_embeddings.npz``).
judging
    Six other kinds of simulated screens, one of 384 wells a plate, four where a label is in a plate
    component and leaves its mean alone or nearly so (a variance, a sign that turns by plate, an
    exclusive or, many small shifts), Cell Painting profiles of bortezomib-resistant clones by
    plate and by day (``bortezomib_7batches.npz``), those of other resistant clones by plate
    (``all_28batches.npz``; both from broadinstitute/profiling-resistance-mechanisms), and blood
    cells of three donors (``pbmc_3500_*.tsv.gz`` from slowkow/harmonypy), whose labels are eight
    clusters of the components that Harmony corrected.

Every rule is a condition of `batches`: components are found and chosen anew in every fold,
and trees are judged on the batches held out. *found* drops every component in which batches are
found and labels are not, which is what `biology` did before. A gain of a simulated kind is the mean
over screens, with a t interval; that of a real set has the interval of `batches`.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.stats
from checks.rates import record_of, write_record
from numpy.typing import NDArray
from rich.console import Console

import upto
from upto.core import Embeddings
from upto.corrections import BiologyComponents
from upto.ica import ICA
from upto.questions.batches.conditions import CONDITIONS, Making
from upto.simulate import CONTROL, PlateLayout, ScreenEffects, draw_screen
from upto_studies.held_out_data import find_file

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = NDArray[np.float64]
Sides = NDArray[np.intp]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RECORD = Path(__file__).with_suffix(".json")
SEED = 20260420
LIMITS = (0.2, 0.3, 0.5)
REPEATS = 3
QUICK: dict[str, Any] = {"concentration": (), "shuffled": False, "mixing": False, "maps": False}
OLDER = ("2020_08_24_Batch9", "2020_09_08_Batch10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of simulated screen, defined by its differences from the default."""

    layout: dict[str, Any] = field(default_factory=dict)
    effects: dict[str, Any] = field(default_factory=dict)
    drawing: dict[str, Any] = field(default_factory=dict)
    n_guides: int = 4

    def draw(self, seed: int) -> Embeddings:
        """Draw a screen, by default of 16 plates of 96 wells and four guides."""
        guides = tuple(f"G{number}_guide_1" for number in range(self.n_guides))
        layout = {"n_experiments": 4, "n_plates": 4, "n_wells": 96, "controls_per_guide": 4.0}
        return draw_screen(
            PlateLayout(guides=guides, **layout | self.layout),
            ScreenEffects(**{"shift": 1.5} | self.effects),
            **{"n_features": 24} | self.drawing,
            seed=seed,
        ).embeddings()


CHOOSING = {
    "36 plates": Kind(layout={"n_experiments": 6, "n_plates": 6}),
    "36 plates, strong": Kind(
        layout={"n_experiments": 6, "n_plates": 6}, effects={"plate_offset": 3.0}
    ),
    "8 plates, strong": Kind(layout={"n_experiments": 2}, effects={"plate_offset": 3.0}),
    "8 large plates": Kind(
        layout={"n_experiments": 2, "n_wells": 384}, effects={"plate_offset": 2.0}
    ),
    "plates move rows": Kind(effects={"observed_offset": 0.5, "observed_scale": 0.2}),
    "weak guides where plates move": Kind(
        layout={"n_experiments": 10, "n_plates": 6}, effects={"n_shared": 4, "shift": 0.3}
    ),
}
JUDGING = {
    "20 plates": Kind(layout={"n_plates": 5}, effects={"plate_offset": 2.0}),
    "60 plates of few directions": Kind(
        layout={"n_experiments": 10, "n_plates": 6, "n_wells": 64},
        effects={"n_technical": 2, "plate_offset": 3.0},
    ),
    "bent": Kind(
        layout={"n_plates": 8}, effects={"plate_offset": 2.0}, drawing={"mixing": "leaky"}
    ),
    "Gaussian": Kind(
        layout={"n_plates": 8}, effects={"plate_offset": 2.0}, drawing={"sources": "gaussian"}
    ),
    "one guide of twelve where plates move": Kind(
        layout={"n_plates": 9, "n_wells": 192},
        effects={"n_biological": 12, "n_shared": 1, "shift": 0.7, "plate_offset": 2.0},
        drawing={"n_features": 32},
        n_guides=12,
    ),
    "guides where plates move": Kind(
        layout={"n_plates": 9}, effects={"n_shared": 4, "shift": 0.6, "plate_offset": 2.0}
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Sixty plates of sixty wells, where a label does not change the mean of any plate component.

    `hide` puts the label into rows by a generator, the plate of each row and its side, which is
    plus or minus one.
    """

    hide: Callable[[Rows, np.random.Generator, Sides, Sides], None]
    n_moved: int = 1
    plate_offset: float = 0.8
    n_features: int = 6

    def draw(self, seed: int) -> Embeddings:
        """Draw Laplacian sources with the label in some, and shift those by plate."""
        rng = np.random.default_rng(seed)
        plate = np.repeat(np.arange(60), 60)
        side = np.tile([-1, 1], len(plate) // 2)
        rows = rng.laplace(size=(len(plate), self.n_features)) / np.sqrt(2)
        self.hide(rows, rng, plate, side)
        moved = self.plate_offset * rng.normal(size=(60, self.n_moved))
        rows[:, : self.n_moved] += moved[plate]
        treatment = np.where(side > 0, "drug", CONTROL)
        return Embeddings(
            rows=rows, name="hidden", columns={"batch": plate, "treatment": treatment}
        )


def _by_variance(rows: Rows, _: np.random.Generator, __: Sides, side: Sides) -> None:
    rows[:, 0] *= np.where(side > 0, 3.0, 1.0)


def _by_turning(rows: Rows, rng: np.random.Generator, plate: Sides, side: Sides) -> None:
    turned = rng.permutation(np.tile([-1, 1], 30))
    rows[:, 0] += 3.0 * turned[plate] * (side > 0)


def _by_both(rows: Rows, rng: np.random.Generator, _: Sides, side: Sides) -> None:
    signs = rng.choice([-1, 1], size=len(rows))
    rows[:, 0] = 2 * signs + 0.5 * rows[:, 0]
    rows[:, 1] = 2 * signs * side + 0.5 * rows[:, 1]


def _by_many(rows: Rows, _: np.random.Generator, __: Sides, side: Sides) -> None:
    rows[:, :14] += 0.11 * (side[:, None] > 0)


HIDDEN = {
    "label changes a variance": Hidden(hide=_by_variance),
    "label turns from plate to plate": Hidden(hide=_by_turning),
    "label is the exclusive or of two": Hidden(hide=_by_both, n_moved=2, plate_offset=0.6),
    "label moves 14 components by 0.11": Hidden(
        hide=_by_many, n_moved=14, plate_offset=1.0, n_features=16
    ),
}
LARGE = {
    "36 plates of 384 wells": Kind(
        layout={"n_experiments": 6, "n_plates": 6, "n_wells": 384},
        effects={"n_technical": 3, "plate_offset": 2.5},
    ),
}
"""Enough wells that absence can be shown: here dropping plate components has to gain."""


class Counted(BiologyComponents):
    """The estimator, with a record of the number of components each fit drops."""

    counts: list[int]

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None) -> Self:
        """Fit, and record the number of dropped components."""
        super().fit(X, y, groups=groups, controls=controls)
        self.counts.append(len(self.dropped_))
        return self


class Found(Counted):
    """Drop components in which batches are found and labels are not."""

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, controls: Any = None) -> Self:
        """Fit, and choose the components again."""
        super().fit(X, y, groups=groups, controls=controls)
        carried = [each.component for each in self.effects_ if each.carries == "batch"]
        everything = np.arange(len(self.ica_.components_))
        # Where all would go, the condition would be left out: one stays.
        self.dropped_ = np.array(carried[: len(everything) - 1], dtype=np.intp)
        self.kept_ = np.setdiff1d(everything, self.dropped_)
        self.counts[-1] = len(self.dropped_)
        return self


def main() -> None:
    """Choose on some sets, evaluate on others and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--output", type=Path, default=RECORD)
    parser.add_argument("--classifier", default="boosted-fast")
    options = parser.parse_args()
    started, console = time.perf_counter(), Console(width=150)
    counts = _register()
    found: dict[str, list[dict[str, Any]]] = {}
    tried = ("found", *(f"limit {limit:g}" for limit in LIMITS))
    for part, kinds, real, rules in (
        ("choosing", CHOOSING, (_digits,), tried),
        (
            "judging",
            JUDGING | HIDDEN | LARGE,
            (_clones, _days, _older, _blood),
            ("found", "biology"),
        ),
    ):
        found[part] = []
        for number, (name, kind) in enumerate(kinds.items()):
            seeds = [SEED + 1000 * (part == "judging") + 100 * number + each
                     for each in range(options.repeats)]  # fmt: skip
            asked = {"batch": "batch", "label": "treatment", "control": CONTROL}
            runs = [kind.draw(seed) for seed in seeds]
            found[part].append(_judge(name, runs, asked, rules, counts, options.classifier))
            console.print(found[part][-1])
        for read in real:
            known = read(options.data)
            if known is None:
                continue
            name, run, asked = known
            found[part].append(_judge(name, [run], asked, rules, counts, options.classifier))
            console.print(found[part][-1])
    record = record_of(started, seed=SEED, repeats=options.repeats, classifier=options.classifier)
    write_record(options.output, record | found)


def _register() -> dict[str, list[int]]:
    """Register every rule as a condition, and return the numbers their fits drop, by name."""
    counts: dict[str, list[int]] = {}
    rules: dict[str, dict[str, Any]] = {"found": {}, "biology": {}}
    rules |= {f"limit {limit:g}": {"shift": limit} for limit in LIMITS}
    for name, settings in rules.items():
        counts[name] = []
        kind = type(name, (Found if name == "found" else Counted,), {"counts": counts[name]})
        CONDITIONS[name] = replace(CONDITIONS["biology"], name=name, steps=_steps(kind, settings))
    return counts


def _steps(kind: type, settings: dict[str, Any]) -> Callable[[Making], list[Any]]:
    return lambda making: [
        kind(unmixer=ICA(making.n_components, random_state=making.seed), **settings)
    ]


def _judge(
    name: str,
    runs: Sequence[Embeddings],
    asked: dict[str, Any],
    rules: Sequence[str],
    counts: dict[str, list[int]],
    classifier: str,
) -> dict[str, Any]:
    for each in counts.values():
        each.clear()
    results = [
        upto.batches(run, **asked, conditions=rules, classifier=classifier, **QUICK) for run in runs
    ]
    base = [result.score("base").auroc for result in results]
    said: dict[str, Any] = {
        "set": name,
        "n_rows": runs[0].n_samples,
        "n_features": runs[0].n_features,
        "n_batches": len(results[0].batches),
        "n_labels": len(results[0].judged),
        "base": round(float(np.mean([each.value for each in base if each is not None])), 4),
    }
    for rule in rules:
        gains = [result.difference(rule, "base").value for result in results]
        values = np.array([each.value for each in gains])
        low, high = gains[0].low, gains[0].high
        if len(values) > 1:
            reach = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
            low, high = values.mean() - reach, values.mean() + reach
        said[rule] = {
            "gain": round(float(values.mean()), 4),
            "low": None if low is None else round(float(low), 4),
            "high": None if high is None else round(float(high), 4),
            "dropped": round(float(np.mean(counts[rule])), 1),
        }
    return said


Known = tuple[str, Embeddings, dict[str, Any]] | None


def _digits(data: Path) -> Known:
    path = find_file(data, "fsdd_silero6_embeddings.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        columns = {"speaker": file["speaker"], "digit": file["digit"].astype(str)}
        run = Embeddings(rows=file["X"].astype(np.float64), name="digits", columns=columns)
    asked = {"batch": "speaker", "label": "digit", "tasks": ("0", "3", "7"), "folds": 6}
    return "spoken digits", run, asked


def _clones(data: Path, batch: str = "plate") -> Known:
    path = find_file(data, "bortezomib_7batches.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        wild = np.char.startswith(file["clone"], "WT")
        columns = {batch: file[batch], "clone": np.where(wild, "wild type", "resistant")}
        run = Embeddings(rows=file["X"].astype(np.float64), name="clones", columns=columns)
    asked = {"batch": batch, "label": "clone", "control": "wild type", "folds": 7}
    return f"clones, {batch} held out", run, asked


def _days(data: Path) -> Known:
    return _clones(data, "batch")


def _older(data: Path) -> Known:
    path = find_file(data, "all_28batches.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        names = [file[f"{batch}/features"].tolist() for batch in OLDER]
        shared = [name for name in names[0] if name in set(names[1])]
        rows = [
            file[f"{batch}/X"][:, [own.index(name) for name in shared]]
            for batch, own in zip(OLDER, names, strict=True)
        ]
        plates = [np.char.add(f"{batch} ", file[f"{batch}/Plate"].astype(str)) for batch in OLDER]
        clones = np.concatenate([file[f"{batch}/clone_number"].astype(str) for batch in OLDER])
    columns = {
        "plate": np.concatenate(plates),
        "clone": np.array([name.replace("_", " ").partition(" ")[0] for name in clones.tolist()]),
    }
    run = Embeddings(rows=np.concatenate(rows).astype(np.float64), name="older", columns=columns)
    asked = {"batch": "plate", "label": "clone", "control": "WT"}
    return "other clones", run, asked


def _blood(data: Path) -> Known:
    paths = [
        find_file(data, f"pbmc_3500_{what}.tsv.gz") for what in ("meta", "pcs", "pcs_harmonized")
    ]
    meta, before, after = paths
    if meta is None or before is None or after is None:
        return None
    from sklearn.cluster import KMeans

    donors = np.array([line.split("\t")[0] for line in _lines(meta)])
    rows, corrected = (
        np.array([line.split("\t") for line in _lines(path)], dtype=np.float64)
        for path in (before, after)
    )
    cells = KMeans(8, n_init=10, random_state=0).fit_predict(corrected)
    columns = {"donor": donors, "cell": np.array([f"type {cell}" for cell in cells])}
    run = Embeddings(rows=rows, name="blood", columns=columns)
    return "blood cells", run, {"batch": "donor", "label": "cell", "folds": 3}


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()[1:]


if __name__ == "__main__":
    main()
