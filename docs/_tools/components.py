"""Write the table of `docs/linear-identifiability.md` on fitted components.

Run it after the check: ``python -m checks.components`` and ``python docs/_tools/components.py``.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "linear-identifiability.md"
RECORD = ROOT / "checks" / "components.json"
START, END = "<!-- components: written by docs/_tools/components.py -->", "<!-- /components -->"


def table() -> str:
    """Return the rates of the record, and the command that makes them."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    versions = record["versions"]
    lines = [
        START,
        "| rows of | n | d | asked | is | data sets | claimed | 99 % interval |",
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
    lines += [
        "",
        f"`python -m checks.components` measures this and writes `checks/components.json` (seed "
        f"{record['seed']}, upto {versions['upto']}, NumPy {versions['numpy']}, "
        f"{record['machine']}).",
        END,
    ]
    return "\n".join(lines)


def page() -> str:
    """Return the page with the table of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
