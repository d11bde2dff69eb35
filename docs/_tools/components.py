"""Write the table of fitted components in `docs/linear-identifiability.md`.

Run it after the check: ``python -m checks.components`` and ``python docs/_tools/components.py``.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "linear-identifiability.md"
RECORD = ROOT / "checks" / "components.json"
START, END = "<!-- components: written by docs/_tools/components.py -->", "<!-- /components -->"


def table() -> str:
    """Return the recorded rates and the command that measures them."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    lines = [
        START,
        "| distribution | n | d | assumption | truth | data sets | claimed | 99 % interval |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rate in record["rates"]:
        asked, _, right = rate["check"].partition(": ")
        is_true = right == "claimed"
        low, high = rate["interval"]
        claimed = rate["rate"]
        if not is_true:
            low, high, claimed = 1 - high, 1 - low, 1 - claimed
        lines.append(
            f"| {rate['case']} | {rate['n_samples']} | {rate['n_features']} | {asked} | "
            f"{'true' if is_true else 'false'} | {rate['trials']} | {claimed:.3f} | "
            f"{low:.3f} to {high:.3f} |"
        )
    measured = f"seed {record['seed']}, {_measured(record)}"
    if "added" in record:
        added = record["added"]
        measured += f"; the last {added['cases']} rows, by `--add`, {_measured(added)}"
    lines += [
        "",
        f"`python -m checks.components` measures these rates and writes `checks/components.json` "
        f"({measured}).",
        END,
    ]
    return "\n".join(lines)


def _measured(record: dict[str, Any]) -> str:
    versions = record["versions"]
    return f"upto {versions['upto']}, NumPy {versions['numpy']}, {record['machine']}"


def page() -> str:
    """Return the page with the current table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
