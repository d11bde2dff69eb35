"""Write `docs/how-long.md`: which size takes how long on what, from `benchmarks/results/`.

Run it after benchmarks P18, P19 or P20: ``python docs/_tools/how_long.py``.
"""

import json
import textwrap
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "how-long.md"
RESULTS = DOCS.parent / "benchmarks" / "results"

OPENING = """\
<!-- Written by docs/_tools/how_long.py from the results of benchmarks. -->

# How long it takes

Seconds from arrays in memory to the result, with the options of the default. A dash: not measured.
Reading a file comes on top of it, and the first call of a process imports libraries for one or two
seconds. While it works, `compare` shows [how much time is left](notebooks.md#progress).
"""

LARGER = """\
## For larger data

- **Take a sample.** A verdict and mean errors need some tens of rows for each column, not millions:
  `upto.compare(a[::50], b[::50])`. The diameter and worst errors are then those of the sample.
- **Name the narrower run first.** Rotations that drop coordinates have no closed form, and take
  several times as long. The group of the verdict is the same in either order.
- **Leave out ICA** with `--no-ica`, or `ica=False`, if only the groups of the table matter.
- **Use a GPU** with `--engine torch`; rows stay on it if they fit, or are streamed
  ([engines](engines.md)).
- **Use a cluster** where the rows fit only into the memory of several machines
  ([clusters](clusters.md)).
- **Fewer columns.** Columns cost more than rows. Where few principal directions carry the variance,
  compare those, found by scikit-learn's `PCA(n_components=0.99)` in each run.

The measurements, their floors and their commands are in [benchmarks](benchmarks.md), P18 to P20.
"""

QUESTIONS = ("compare", "similarity", "unmix", "ICA", "inspect")
"""In the order of the table."""

Record = dict[str, Any]
Row = dict[str, Any]
Key = tuple[str, int, int, int]
Column = tuple[str, bool]


def read(name: str, results: Path) -> Record | None:
    """Return the published record of a benchmark, None if there is none."""
    path = results / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def times(results: Path) -> dict[Key, dict[Column, float]]:
    """Return seconds by question, runs and size, and by machine and whether ICA was left out."""
    found: dict[Key, dict[Column, float]] = {}

    def note(key: Key, column: Column, seconds: float | None) -> None:
        if seconds is not None:
            found.setdefault(key, {}).setdefault(column, seconds)

    for row in _rows("p18", results):
        if row["who"].startswith("upto"):
            is_short = "no ICA" in f"{row['who']} {row['work']}"
            note(_key(row["work"], row["size"]), ("cpu", is_short), row.get("seconds"))
    for point in (read("p20", results) or {"points": []})["points"]:
        key = ("compare", point["runs"], point["d"], point["n"])
        note(key, ("cpu", not point["ica"]), point["seconds"])
    for row in _rows("p19", results):
        if row["who"] == "upto, torch":
            key = _key(row["work"], row["size"])
            note(key, ("gpu", "no ICA" in row["work"]), row.get("seconds"))
    return found


def _rows(name: str, results: Path) -> list[Row]:
    record = read(name, results)
    return record["rows"] if record else []


def _key(work: str, size: str) -> Key:
    """Return question, number of runs, columns and rows."""
    question, *rest = work.partition(",")[0].split()
    n_rows, _, width = size.partition("×")
    n_runs = int(rest[0]) if rest else 2 if question in ("compare", "similarity") else 1
    return question, n_runs, int(width), int(n_rows)


def look_up(results: Path) -> str:
    """Return the table: question and size against machine."""
    found = times(results)
    if not found:
        return "Not measured yet: run `python -m benchmarks p18 p19 p20 --full`.\n"
    cpu, gpu = read("p18", results) or read("p20", results), read("p19", results)
    names = {
        "cpu": cpu["machine"].partition(", ")[2] if cpu else "CPU",
        "gpu": f"one {gpu['device']}" if gpu else "one GPU",
    }
    columns = [(machine, is_short) for machine in names for is_short in (False, True)]
    heads = [f"{names[machine]}{', no ICA' if is_short else ''}" for machine, is_short in columns]
    lines = [
        f"| question | rows×columns | {' | '.join(heads)} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    for key in sorted(found, key=lambda key: (QUESTIONS.index(key[0]), *key[1:])):
        question, n_runs, width, n_rows = key
        cells = " | ".join(_seconds(found[key].get(column)) for column in columns)
        many = f", {n_runs} runs" if n_runs > 2 else ""
        lines.append(f"| `{question}`{many} | {n_rows:,}×{width:,} | {cells} |")
    return "\n".join(lines) + "\n"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 99.5:
        return f"{value:.2g} s"
    return f"{value / 60:.2g} min"


def growth(results: Path) -> str:
    """Return the sentence on how time grows at the largest sizes."""
    ratios: dict[str, float] = {}
    for row in _rows("p20", results):
        *_, last, largest = (float(value) for value in row["seconds"].split(", "))
        ratios[row["grows"]] = max(largest / last, ratios.get(row["grows"], 0.0))
    if not ratios:
        return ""
    each = "; ".join(
        f"twice as many {what} take {ratio:.2g} times as long" for what, ratio in ratios.items()
    )
    text = f"For `compare` of larger data: {each}. Small sizes grow more slowly."
    return "\n" + textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def page(results: Path = RESULTS) -> str:
    """Return the page."""
    return "\n".join([OPENING, look_up(results) + growth(results), LARGER])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
