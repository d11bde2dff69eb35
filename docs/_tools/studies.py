"""Write `docs/studies.md`: every study, its claims and the results of its recorded full run.

Run it after a study: ``python docs/_tools/studies.py``.
"""

from pathlib import Path

from upto.core import StudyResult
from upto_studies import STUDIES
from upto_studies.run import recorded_result, study_plan, unrecorded_reason

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "studies.md"

OPENING = """\
<!-- Written by docs/_tools/studies.py; run a study instead of changing it. -->

# The papers' claims, retested

An example page: {report}`when ICA removes the rotation <study>`.

Each study is one command. It compares each measured quantity with two separate ranges: *the paper's
claim*, which the quantity bears out or not, and *our expectation*, which may be the opposite if the
data are not the paper's. A range is *open* if only part of the measured interval lies in it. For
each range the study states whether it was fixed before any run, after a pilot (smaller, or with
another seed) or after a full run was seen. Quantities that no range could refute are reported
without one. `--size tiny` takes seconds and `small` about a minute; the numbers below are of the
full size, as recorded next to each study with its settings, seed, versions and device. Of a run
that was resumed, the time given may be that of its last part: its README says so.

<!-- not run: the list is this page -->
```console
$ upto study list
$ upto study show leaky-autoencoders
$ upto study run leaky-autoencoders --size small
```

A run writes `result.json`, `figure.svg` and `report.html` to a folder named after the study, saves
checkpoints there, and continues from them with `--resume`. `--set KEY=VALUE` changes a setting of
its `study.toml`. In Python: `upto_studies.run_study("sprite-isometry", size="tiny")`.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([OPENING, overview(), *(section(name) for name in STUDIES)])


def overview() -> str:
    """Return the number of claims borne out and expectations met by each recorded run."""
    lines = [
        "| study | the paper's claims borne out | our expectations met | fixed before any run |",
        "| --- | --- | --- | --- |",
    ]
    for name in STUDIES:
        result = recorded_result(name)
        cells = ["not run", "not run", "–"]
        if result is not None:
            claims, expectations = result.claims, result.expectations
            before, total = claims.before + expectations.before, claims.total + expectations.total
            cells = [str(claims), str(expectations), f"{before} of {total}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def section(name: str) -> str:
    """Return the section on one study."""
    plan, result = study_plan(name), recorded_result(name)
    lines = [f"## {plan.title}", "", f"`{name}` · {plan.paper}", ""]
    lines += [f"*The paper claims:* {plan.claim}", ""]
    if plan.expectation:
        lines += [f"*We expected:* {plan.expectation}", ""]
    if result is None:
        reason = unrecorded_reason(name)
        said = "No full run is recorded." if reason is None else f"**Not run.** {reason}"
        return "\n".join([*lines, said, ""])
    return "\n".join([*lines, *_found(name, result)])


def _found(name: str, result: StudyResult) -> list[str]:
    quantities = result.tables()[0]
    origin = result.provenance
    versions = ", ".join(f"{key} {value}" for key, value in origin.versions.items())
    return [
        f"**{result.verdict}**",
        "",
        quantities.to_markdown(),
        f"![Plots of {name}](studies/{name}.svg)",
        "",
        f"Made by `{origin.call}` with seed {origin.seed} in {origin.seconds:.3g} s on "
        f"{result.device}; {versions}.",
        "",
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
