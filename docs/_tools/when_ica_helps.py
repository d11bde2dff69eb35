"""Write `docs/when-ica-helps.md` from the recorded study and the recorded check of real data.

Run it after either: ``python docs/_tools/when_ica_helps.py``.
"""

import json
from pathlib import Path

from upto.core import StudyResult
from upto_studies.run import recorded_result

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "when-ica-helps.md"
RECORD = ROOT / "checks" / "kept_components.json"
STUDY = "plate-holdout-synthetic"
TASKS = {
    "cell painting": "resistant clones against wild type on held-out plates",
    "spoken digits": "0 and 3 each against all other digits, a speaker held out",
}
TITLES = {"base": "Base", "pca": "PCA", "ica": "PCA + ICA", "random": "PCA + Rand"}

OPENING = """\
<!-- Written by docs/_tools/when_ica_helps.py; run the study or the check instead. -->

# When ICA helps, and when it hurts

`upto batches` evaluates transforms of an embedding by how well perturbations are predicted on
held-out plates. Independent components sometimes win by a large margin and sometimes lose by as
much. Both have causes that you can check beforehand.

**Trees split one coordinate at a time and are invariant to its scale.** So for boosted trees, Base,
PCA, PCA + ICA and PCA + Rand differ only in *which axes* they provide; scaling an axis changes
nothing. ICA adds no information. At best it provides axes along which one split replaces a
combination of all coordinates. A ridge-penalised linear classifier on whitened rows combines
coordinates anyway: it is invariant to rotations, so PCA, PCA + ICA and PCA + Rand are equivalent.

ICA helps if all of these conditions hold:

1. the embedding is **mixed**: no coordinate corresponds to a single factor;
2. the label shifts **few independent factors** that are **not Gaussian**;
3. there are enough **rows** to estimate the rotation: about forty or more per retained component;
4. the classifier uses single **axes**, as trees do.

Otherwise expect no gain over Base, and often a loss. If the rotation cannot be estimated, PCA + ICA
is just another random rotation of whitened rows, which can be worse for trees than a random
rotation of Base: whitening scales low-variance directions up to the size of all others, and the
rotation then mixes them into every axis. PCA alone keeps them separate. Features that are already
axis-aligned gain nothing from any rotation; ICA at best recovers them.

## Screens with known truth

"""

AFTER_CASES = """\
True factors are the result of a transform that recovers all of them: trees on mixed coordinates
fall short of it, and ICA closes the gap where it can. A rotation cannot separate effects that share
an axis: if plates shift the same factors as guides, even the true factors predict less well on new
plates. Pure noise directions cost a random rotation more than ICA, which separates them by itself
with this many rows. Guides without any effect that are on plates of their own are still
"predicted"; this is why `upto batches` also reports the AUROC within batches.

The first kind of screen with fewer and more wells:

"""

REAL = """\
## Real batches

The same four conditions on data with unknown truth, with the first k principal components retained.
The transforms were fitted to training batches. PCA + ICA does not beat Base on either data set.

"""

CLOSING = """\
## What to do

```text
$ upto batches RUN --batch plate --label treatment --control DMSO --components 30
```

- Look at Base and PCA + Rand first. If Base is far ahead, ICA has to make up for the cost of
  whitening and rotating before it can gain.
- Retain fewer components: at least forty rows for each. If the rotation of most components is then
  still arbitrary (`turning_`), there is little to gain.
- Try `--classifier linear`. If it is as good as trees on the best axes, the information is present
  in any rotation and you do not need ICA for prediction; you may still want interpretable
  components.
- Do not expect a fit to all rows, including test plates, to help: on both data sets above it was
  worse, also for PCA + Rand.
- Trust the table when it reports *no gain*.

Screens like those above are drawn by `upto.simulate.draw_screen`:

```python
>>> from upto.simulate import ScreenEffects, draw_screen
>>> screen = draw_screen(effects=ScreenEffects(n_shared=1), mixing="principal", seed=0)
>>> screen.rows.shape, screen.biological, screen.technical, screen.shared
((2304, 32), (0, 1, 2, 3), (3, 4, 5, 6), (3,))
>>> screen.axes_of("PLK1_guide_1")
(1,)
```
"""


def page() -> str:
    """Return the page."""
    result = recorded_result(STUDY)
    if result is None:
        message = f"no full run of {STUDY} is recorded: run it first."
        raise SystemExit(message)
    record = json.loads(RECORD.read_text(encoding="utf-8"))["found"]
    return "".join(
        [
            OPENING,
            _origin(result),
            _table(*_cases(result)),
            AFTER_CASES,
            _table(*_by_rows(result)),
            REAL,
            *(_real(name, found) for name, found in record.items()),
            CLOSING,
        ]
    )


def _origin(result: StudyResult) -> str:
    settings = result.settings
    batches = int(settings["n_experiments"]) * int(settings["n_plates"])
    return (
        f"Independent factors, {settings['n_features']} features, {batches} plates of "
        f"{settings['n_wells']} wells, every guide shifting one factor by {settings['shift']:g} "
        f"standard deviations (`upto study run {STUDY} --size full`, {settings['n_repeats']} "
        "screens each). AUROC on held-out plates:\n\n"
    )


def _cases(result: StudyResult) -> tuple[list[str], list[list[str]]]:
    table = result.details[0]
    heads = [column.name for column in table.columns]
    return ["screens", *heads[2:]], [[row[1] or row[0], *row[2:]] for row in table.texts()]


def _by_rows(result: StudyResult) -> tuple[list[str], list[list[str]]]:
    panel = next(panel for panel in result.plots if panel.x == "rows per dimension")
    heads = [panel.x, *(marks.name for marks in panel.marks)]
    columns = [
        [f"{value:.0f}" for value in panel.marks[0].x],
        *([f"{value:.3f}" for value in marks.y] for marks in panel.marks),
    ]
    return heads, [list(row) for row in zip(*columns, strict=True)]


def _real(name: str, found: dict) -> str:
    contrasts = {each["kept"]: each for each in found["contrast"]}
    trees = [each for each in found["auroc"] if each["classifier"] == "boosted"]
    rows = []
    for each in trees:
        contrast = contrasts[each["kept"]]
        kept = "all" if each["kept"] is None else str(each["kept"])
        is_training = each["fit"] == "training"
        rows.append(
            [
                kept if is_training else f"{kept}, fitted to all rows",
                *(f"{each[condition]:.3f}" for condition in TITLES),
                f"{contrast['rows per component']:.0f}" if is_training else "",
                f"{contrast['held out'] / contrast['training']:.2f}" if is_training else "",
                f"{contrast['nothing to choose']:.2f}" if is_training else "",
            ]
        )
    heads = ["k", *TITLES.values(), "rows per component", "contrast left", "nothing to choose"]
    linear = next(
        each for each in found["auroc"] if each["classifier"] == "linear" and each["kept"] is None
    )
    rotated = found["rotated"]["boosted"]
    return (
        f"**{name.capitalize()}**: {found['n_rows']:,} rows of {found['n_features']} features; "
        f"{TASKS[name]}.\n\n"
        + _table(heads, rows)
        + f"Base after one random rotation: {rotated:.3f}. So most of the loss of PCA + Rand is "
        "due not to giving up the axes of Base but to whitening before the rotation. A linear "
        "classifier on whitened rows, in any rotation: "
        f"{linear['ica']:.3f} (Base: {linear['base']:.3f}). *Contrast left* is the fraction of "
        "the components' distance from Gaussian that remains on held-out batches; *nothing "
        "to choose* is the fraction of components that the search could rotate arbitrarily "
        "(`python -m checks.kept_components`).\n\n"
    )


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
