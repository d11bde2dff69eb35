"""Write the table of head spectra in `docs/diversity.md`.

Run it after the check: ``python -m checks.gaps`` and ``python docs/_tools/gaps.py``.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "diversity.md"
RECORD = ROOT / "checks" / "gaps.json"
START, END = "<!-- gaps: written by docs/_tools/gaps.py -->", "<!-- /gaps -->"
PREFIXES = {"left alone": "full rank, ", "known by their step": "by their step: "}


def table() -> str:
    """Return the number of heads called diverse by rounding and the command that counts them."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rates, versions = record["rates"], record["versions"]
    shapes = list(dict.fromkeys((rate["n_samples"], rate["n_features"]) for rate in rates))
    cells = {
        (rate["check"], rate["case"], (rate["n_samples"], rate["n_features"])): rate["hits"]
        if rate["nominal"] is None
        else rate["trials"] - rate["hits"]
        for rate in rates
    }
    lines = [
        START,
        f"| heads | {' | '.join(f'{n}×{d}' for n, d in shapes)} |",
        "|---" * (1 + len(shapes)) + "|",
    ]
    for check, case in dict.fromkeys((rate["check"], rate["case"]) for rate in rates):
        counts = " | ".join(str(cells[check, case, shape]) for shape in shapes)
        lines.append(f"| {PREFIXES.get(check, '')}{case} | {counts} |")
    lines += [
        "",
        "`python -m checks.gaps` counts them and writes `checks/gaps.json`, with exact intervals "
        f"(seed {record['seed']}, upto {versions['upto']}, NumPy {versions['numpy']}, "
        f"{record['machine']}).",
        END,
    ]
    return "\n".join(lines)


def page() -> str:
    """Return the page with the current table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
