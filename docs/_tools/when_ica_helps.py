"""Write `docs/when-ica-helps.md` from the recorded studies and the recorded check of real data.

Run it after any of them: ``python docs/_tools/when_ica_helps.py``.
"""

import json
from pathlib import Path
from statistics import fmean

from upto.core import StudyResult, Table
from upto_studies.order_failures import MATCHED, NOT_SHARED, SCALED, WIDER
from upto_studies.run import recorded_result

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "when-ica-helps.md"
RECORD = ROOT / "checks" / "kept_components.json"
STUDY = "plate-holdout-synthetic"
EFFICIENCY = "ica-efficiency"
PAIRS = "model-pairs"
SHOWN = {
    "efficiency": "same rows",
    "half of the rows": "same half",
    "rows apart": "rows apart",
    "principal directions": "principal directions",
    "random rotation": "random rotation",
    "recurrence": "recurring",
}
"""Columns of the sweeps of ICA's efficiency, and their names on the page."""
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
much. Both have causes that you can check beforehand. The second half of this page asks
[when ICA removes the rotation](#when-does-ica-remove-the-rotation) between two models.

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


ROTATION = """
## When does ICA remove the rotation?

`upto compare` unmixes each of two models separately and matches their components by a signed
permutation. The [efficiency](compare.md#efficiency-of-ica) is the part of the gap between matching
coordinates and the best similarity that this closes. Nelson et al. 2026 report 25 to 59 % for four
pairs of models, in sample, with both models unmixed on the same inputs. The study `{study}`
varies one thing at a time and measures everything on held-out rows.

**Two models that are unmixed on the same rows share the accidents of these rows.** Between two
rotated copies of *Gaussian* rows, whose rotation nothing identifies, the efficiency is {gaussian},
held out, and that of principal directions is {principal}. Both copies have the same sample, so what
is least Gaussian or widest in it by accident is so in both. If each copy is unmixed on half of the
rows, not the same half (*rows apart*), the efficiency is {gaussian_apart}. So an efficiency on the
same rows may only show that two models treat these rows alike; with rows apart, it shows that there
are components to find:

```python
>>> import numpy as np
>>> from upto_studies.unmixed_pairs import unmixed_pair
>>> rng = np.random.default_rng(0)
>>> turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
>>> for draw in (rng.laplace, rng.normal):
...     rows = draw(size=(4000, 8))
...     pair = unmixed_pair(rows, rows @ turn)
...     print(f"same rows {{pair.efficiency:.2f}}, rows apart {{pair.apart:.2f}}")
same rows 1.00, rows apart 0.88
same rows 1.00, rows apart -0.11
```

`upto compare` has no efficiency for the second pair: it tests components on held-out rows, finds
none that is not Gaussian and raises [UP003](findings/UP003.md).

### Known sources

Two runs of the same independent sources, {width} unless stated otherwise, each behind a random
rotation of its own; {draws} pairs each, with 95 % intervals. *Same half* is the comparison for
*rows apart*: both runs are unmixed on one half of the rows. Principal directions and random
rotations are matched in the same way; the latter are chance. *Recurring* is the share of the
components that two halves of the rows of one run both find, in the run where fewer do.

"""

ROWS = """\
**Rows for each component** decide. For Laplace sources and rows apart, the efficiency is {few} with
10 fitted rows for each component, {some} with 50 and {many} with 200; each run has half of these
rows. On the same rows it is {same} even with 10. The number of components matters less: {narrow}
with 8 and {wide} with 64 of them, at 50 rows for each.

"""

SOURCES = """\
**Non-Gaussianity** ({rows} rows for each component, here and below). With rows apart, Gaussian
sources give {gaussian}, logistic ones, which are close to Gaussian, {logistic}, and Laplace sources
{laplace}.

"""

SHARED = """\
**Shared variance.** Each run is the sum of Laplace sources and Gaussian noise of its own. With half
of the variance in common, the efficiency with rows apart is {half}, with three quarters {most}:
noise makes components more Gaussian, and differs between the runs. As such runs are no exact
copies, the accidents of the rows count for less: on the same half, the efficiency is {most_half}.

"""

DEPTH = """\
**Depth.** Each run is the output of its own random network of orthogonal layers, with leaky
rectifiers of slope {leak:g} between them. With rows apart, the efficiency is {shallow} with
{n_shallow} and {deep} with {n_deep}, which leave less that both runs share linearly. From two
rectifiers on, principal directions are of no use even on the same rows.

"""

REAL_PAIRS = """\
### Real pairs

The study `{pairs}` compares networks trained here with several seeds, and pretrained ones. *In
sample* and *held out* are efficiencies on the same rows, of all components that `upto compare`
unmixes. The columns after these are about the {leading} leading directions, which have more rows
for each component, so compare their order, not their values; means over pairs, held out. Principal
directions and random rotations are matched as components are: the latter are the chance level of an
efficiency, which is not zero. Non-Gaussianity is 1 for Laplace sources, and shared is the R² of a
linear map. Whole molecules (ANI-1x), proteins (UniRep) and passages (GPT) are held out.

"""

RECURRING = """\
GPTs and ResNets have a high efficiency with rows apart. Principal directions, which need no ICA, do
as well for GPTs and better for MAEs. VAEs, whose latents are near Gaussian by their prior, have
none on the same rows either, nor has UniRep. ADMET-AI is a puzzle: its components are far from
Gaussian, shared, and recur, but in 16 directions the efficiency is {half} on the same half of the
rows and {apart} with rows apart; in the 4 leading directions it is {half_few} and {apart_few}.

The study `{study}` has more and fewer rows and directions of the pretrained pairs. Medians by the
share of components that recur:

"""

CAUSES = """\
Random rotations are below zero here, as coordinates of trained networks match better than random
directions: an efficiency of zero is no gain over coordinates, but more than chance. Unmixing on
different halves rather than the same one costs {lost_trusted} where three quarters recur and {lost}
elsewhere (medians, intervals over families). Rank correlations with the efficiency:

"""

AFTER_CAUSES = """\
Only recurrence goes with both efficiencies. More rows for each component, which decide for known
sources, do not go with more here, where they often mean fewer directions. Take this as a hint:
there are few families, eight correlations were looked at, and the limit of three quarters was
chosen from a pilot on the same families.

"""

ORDER = """\
### When the order breaks

Table 1 claims that the error falls from the permutation to ICA to the rigid motion to the linear
map. Of {total} pairs, {inside} keep this order in sample and {outside} held out. Each of the others
was compared again in its {leading} leading directions, held out, with all else as it was, then with
the coordinates of the first model rotated at random, which ICA does not notice, and with both
models whitened. What mends the order names the cause:

"""

AFTER_ORDER = """\
- *{wider}*: in the leading directions the order holds. There are more rows for each component, and
  a linear map has fewer weights to fit.
- *{matched}*: with rotated coordinates the order holds. A neuron of one model has its counterpart
  in the other, so a permutation leaves little to gain, and less than ICA loses by its own errors.
- *{scaled}*: ICA is better than a rigid motion, since it takes each direction's width from the
  target; a rotation between whitened models, which does so as well, is also better.
- *{not_shared}*: even rotated neurons match better than components.

**Fewer and more rows.** Some pairs of each family with some of their rows, leading directions, held
out: efficiency of ICA, and pairs in order, by fitted rows for each component.

"""

AFTER_SWEPT = """\
Some families that keep the order lose it with 10 or 20 rows for each component, and the efficiency
mostly grows with rows. Rows do not explain the others: for the VAEs it is as low with
the most rows as with the fewest, and for UniRep it grows but stays below zero, though nearly all
components are non-Gaussian and recur. So components can be found in each model and still not
correspond. For ANI-1x more atoms are not more molecules, of which there are few.

"""

CHECK = """\
### Before you trust an ICA row

- Count rows: at least 50 fitted rows for each component, better 200
  ([UP035](findings/UP035.md)). Otherwise embed more rows, or keep fewer directions.
- Look for [UP003](findings/UP003.md). Near-Gaussian components have no rotation to find, however
  many rows there are.
- Look at R² of the affine map. Where the models share half of the variance or less, there is little
  that ICA could align.
- Look at how many components recur in two halves of the rows: `upto unmix` [counts
  them](unmix.md#what-is-identifiable). Where three quarters or more did, {worse_trusted} of the
  conditions above had no gain with rows apart, and {worse} where the fewest did. This is no
  guarantee: components may recur in each model and differ between them.
- Unmix each model on rows of its own: `unmixed_pair(first, second, n_directions=16)` has the
  efficiency with rows apart (`apart`) beside that on the same half (`halved`). The former is also
  in the second table of `upto study run model-pairs --models A B` ([are my two models the
  same?](are-my-models-the-same.md)). If little is left with rows apart, quote the rigid motion
  instead.
- Quote the held-out efficiency, that with rows apart, and the number of rows for each component.
"""


def page() -> str:
    """Return the page."""
    result = _recorded(STUDY)
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
            *_known_sources(_recorded(EFFICIENCY)),
            *_real_pairs(_recorded(EFFICIENCY), _recorded(PAIRS)),
        ]
    )


def _recorded(name: str) -> StudyResult:
    result = recorded_result(name)
    if result is None:
        message = f"no full run of {name} is recorded: run it first."
        raise SystemExit(message)
    return result


def _known_sources(result: StudyResult) -> list[str]:
    settings = result.settings
    rows, sources, shared, depth = (
        _sweep(result, sweep) for sweep in ("rows", "sources", "shared variance", "depth")
    )
    by_rows = {count: rows[f"16 sources, {count} rows each"] for count in (10, 50, 200)}
    return [
        ROTATION.format(
            study=EFFICIENCY,
            gaussian=_value(sources["gaussian"]["efficiency"]),
            principal=_value(sources["gaussian"]["principal directions"]),
            gaussian_apart=_value(sources["gaussian"]["rows apart"]),
            width=16,
            draws=settings["n_draws"],
        ),
        ROWS.format(
            few=_value(by_rows[10]["rows apart"]),
            some=_value(by_rows[50]["rows apart"]),
            many=_value(by_rows[200]["rows apart"]),
            same=_value(by_rows[10]["efficiency"]),
            narrow=_value(rows["8 sources, 50 rows each"]["rows apart"]),
            wide=_value(rows["64 sources, 50 rows each"]["rows apart"]),
        ),
        _sweep_table("sources and rows", rows),
        SOURCES.format(
            rows=200,
            **{
                kind: _value(sources[kind]["rows apart"])
                for kind in ("gaussian", "logistic", "laplace")
            },
        ),
        _sweep_table("sources", sources),
        SHARED.format(
            half=_value(shared["50% shared"]["rows apart"]),
            most=_value(shared["75% shared"]["rows apart"]),
            most_half=_value(shared["75% shared"]["half of the rows"]),
        ),
        _sweep_table("shared variance", shared),
        DEPTH.format(
            leak=settings["leak"],
            n_shallow="4 rectifiers",
            shallow=_value(depth["4 rectifiers"]["rows apart"]),
            n_deep="8 rectifiers",
            deep=_value(depth["8 rectifiers"]["rows apart"]),
        ),
        _sweep_table("depth", depth),
    ]


def _real_pairs(efficiency: StudyResult, pairs: StudyResult) -> list[str]:
    causes, recurring = (
        _detail(efficiency, title)
        for title in (
            "What goes with the efficiency, real pairs",
            "Efficiency by the share of components that recur",
        )
    )
    shown = {"recurring": "recurring", "conditions": "conditions", **SHOWN}
    del shown["recurrence"]
    shown["no gain apart"] = "no gain with rows apart"
    names = [column.name for column in recurring.columns]
    kept = [[row[names.index(name)] for name in shown] for row in recurring.texts()]
    lost = {each.name: f"{each.measured:.2f}" for each in efficiency.quantities}
    conditions = _detail(efficiency, "Real pairs").records()
    admet = [each for each in conditions if each["family"] == "ADMET-AI"]
    worse = [f"{float(row['no gain apart'] or 0):.0%}" for row in recurring.records()]
    return [
        REAL_PAIRS.format(pairs=PAIRS, leading=16),
        _table(*_families(pairs)),
        RECURRING.format(
            study=EFFICIENCY,
            half=_mean_of(admet, 16, "half of the rows"),
            apart=_mean_of(admet, 16, "rows apart"),
            half_few=_mean_of(admet, 4, "half of the rows"),
            apart_few=_mean_of(admet, 4, "rows apart"),
        ),
        _table(list(shown.values()), kept),
        CAUSES.format(lost=lost["lost apart"], lost_trusted=lost["lost apart, trusted"]),
        _table([column.name for column in causes.columns], causes.texts()),
        AFTER_CAUSES,
        *_order(pairs),
        CHECK.format(worse=worse[0], worse_trusted=worse[-1]),
    ]


def _order(pairs: StudyResult) -> list[str]:
    """Return which pairs break the order, why, and how rows matter."""
    every = _detail(pairs, "Every pair, and why the order holds or fails").records()
    broken = _detail(pairs, "Pairs that break the order, and what mends it").records()
    kinds = ("order in sample", "order held out")
    inside, outside = (sum(row[kind] == "yes" for row in every) for kind in kinds)
    causes = (WIDER, MATCHED, SCALED, NOT_SHARED)
    rows = []
    for family in dict.fromkeys(str(row["family"]) for row in broken):
        own = [row for row in broken if row["family"] == family]
        n_pairs = sum(row["family"] == family for row in every)
        n_broken = (sum(row[kind] != "yes" for row in own) for kind in kinds)
        n_caused = (sum(row["cause"] == cause for row in own) for cause in causes)
        rows.append([family, *map(str, (n_pairs, *n_broken, *n_caused))])
    return [
        ORDER.format(total=len(every), inside=inside, outside=outside, leading=16),
        _table(["models", "pairs", "broken in sample", "held out", *causes], rows),
        AFTER_ORDER.format(wider=WIDER, matched=MATCHED, scaled=SCALED, not_shared=NOT_SHARED),
        _table(*_swept(pairs)),
        AFTER_SWEPT,
    ]


def _swept(pairs: StudyResult) -> tuple[list[str], list[list[str]]]:
    """Return the efficiency and the pairs in order of every family by rows for each component."""
    table = _detail(pairs, "The order with fewer and more rows")
    counts = sorted({int(row[1]) for row in table.rows})
    found: dict[str, dict[int, str]] = {}
    for text, row in zip(table.texts(), table.rows, strict=True):
        n_pairs = int(row[2])
        shown = f"{_value(text[4])} ({round(float(row[3]) * n_pairs)} of {n_pairs})"
        found.setdefault(text[0], {})[int(row[1])] = shown
    rows = [[family, *(own.get(count, "") for count in counts)] for family, own in found.items()]
    return ["models", *map(str, counts)], rows


def _mean_of(conditions: list[dict], n_directions: int, name: str) -> str:
    """Return the mean over pairs with all rows and this many directions."""
    kept = [
        each[name]
        for each in conditions
        if each["directions"] == n_directions and each["share of rows"] == 1
    ]
    return f"{fmean(kept):.2f}"


def _families(pairs: StudyResult) -> tuple[list[str], list[list[str]]]:
    """Return the efficiencies of every family and the means of what explains them."""
    found: dict[str, list[dict]] = {}
    for record in _detail(pairs, "Every pair, and why the order holds or fails").records():
        found.setdefault(str(record["family"]), []).append(record)
    errors = _detail(pairs, "Table 1: mean L2 error over the target's diameter")
    efficiencies = {(row[0], row[2]): row[-1] for row in errors.texts()}
    means = {
        "efficiency": "same rows",
        "principal": "principal directions",
        "random": "random rotation",
        "apart": "rows apart",
        "recurring": "recurring",
        "non-Gaussianity": "non-Gaussianity",
        "shared": "shared",
    }
    rows = []
    for family, records in found.items():
        values = [[row[name] for row in records if row[name] is not None] for name in means]
        rows.append(
            [
                family,
                str(len(records)),
                str(records[0]["rows × features"]),
                *(efficiencies[family, kind] for kind in ("in sample", "held out")),
                *(f"{fmean(each):.2f}" if each else "–" for each in values),
            ]
        )
    heads = ["models", "pairs", "rows × features", "in sample", "held out", *means.values()]
    return heads, rows


def _detail(result: StudyResult, title: str) -> Table:
    return next(table for table in result.details if table.title == title)


def _sweep(result: StudyResult, sweep: str) -> dict[str, dict[str, str]]:
    """Return the columns of every point of a sweep, as texts."""
    table = _detail(result, f"Efficiency of ICA: {sweep}")
    heads = [column.name for column in table.columns]
    return {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in table.texts()}


def _sweep_table(head: str, points: dict[str, dict[str, str]]) -> str:
    rows = [[name, *(point[column] for column in SHOWN)] for name, point in points.items()]
    return _table([head, *SHOWN.values()], rows)


def _value(text: str) -> str:
    """Return an estimate without its interval."""
    return text.partition(" ")[0]


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
