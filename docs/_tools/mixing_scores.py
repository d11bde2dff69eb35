"""Write `docs/mixing-scores.md`: every mixing score and the scores of three embeddings.

Run it after a change of the catalogue: ``python docs/_tools/mixing_scores.py``.
"""

import textwrap
from pathlib import Path

import numpy as np

from upto.batch_metrics.mixing import MIXING, MixingKind, evaluate_mixing

PAGE = Path(__file__).parents[1] / "mixing-scores.md"
N_SAMPLES, WIDTH, SEED = 600, 8, 0

OPENING = """\
<!-- Written by docs/_tools/mixing_scores.py; change upto/batch_metrics/mixing. -->

# Mixing scores

The scores by which batch corrections are ranked assess two properties of the corrected rows: are
batches mixed, and are labels preserved? They are included because they are widely used, they equal
those of scib-metrics 0.5.10 where the definitions agree, and they are reported next to the question
that matters: can a label be distinguished from controls in an **unseen** batch? None of them can
answer it: each uses only rows to which the correction was fitted.

```python
>>> import numpy as np
>>> from upto.batch_metrics.mixing import evaluate_mixing
>>> random = np.random.default_rng(0)
>>> rows = random.normal(size=(200, 4))
>>> batches, labels = ["p", "q"] * 100, ["x"] * 100 + ["y"] * 100
>>> for score in evaluate_mixing(rows, batches, labels, scores=["bras", "silhouette-label"]):
...     print(f"{score.name} {score.value:.2f}")
bras 0.95
silhouette-label 0.50
```

"""

GAMED = """\
## How they are gamed

Three embeddings of one screen of {n} rows and {width} coordinates, with three labels and two
batches (seed {seed}): *corrected* retains the labels and a weak batch effect; *noise* contains
neither; *labels* is the one-hot label, as produced by a method that may use labels. The last two
contain nothing that would help in a new batch. Noise beats the correction on every batch score
except graph connectivity, and labels alone have the best total. Both are tested in
`tests/unit/batch_metrics/test_mixing.py`.

"""

TOTAL = """\
## What the total hides

The total is 0.6 times the mean of the biology scores plus 0.4 times the mean of the batch scores.
It hides which side was sacrificed: 0.1 of biology is worth 0.15 of mixing. It implicitly weights
each score by its variability: cLISI and label silhouettes hardly vary, so NMI and ARI determine the
biology side, and both come from the same clustering. An undefined score is left out of its mean, so
totals of different scores are not comparable; omitted scores are listed next to the value. And it
uses only rows to which the correction was fitted. Read it together with the held-out AUROC, never
instead of it.

## Differences from scib-metrics

- **Neighbours are exact**, and numbers are float64. scib-metrics searches neighbours approximately
  and uses float32; with exact neighbours and float64 the values agree to 1e-9 (kBET: see
  below).
- **LISI in many dimensions.** In float32 the weights of scib-metrics underflow if distances are
  large, e.g. with 384 coordinates, and its search for the perplexity stops early: iLISI is 0.542
  instead of 0.525 on 5,000 rows. In float64 it equals ours.
- **Ties and equal rows.** A row is its own first neighbour; rows that tie for the last places share
  them. So duplicates need no special treatment (scib-metrics#77), and no score depends on the order
  of rows.
- **Fewer than 90, 50 or 15 rows**: all rows are neighbours, and the perplexity is a third of them.
- **kBET** uses for every label as many diffusion components as the label has, at most 100. In
  scib-metrics a small label lowers this number for all labels that follow it alphabetically. If all
  labels have more than 100 rows, two differences remain. scib-metrics searches the neighbours of
  its graph approximately: on 12 screens of 48 columns with labels of 275 to 572 rows, this changes
  its own value by 0.0001 to 0.0040. And it stores connections and diffusion coordinates in float32,
  so a row at a tie may change sides. With exact neighbours its values equal ours, up to one such
  row (`python checks/oracles_mixing.py` writes them, `tests/oracles/test_mixing.py` compares them).
- **k-means** is the best of three starts; scib-metrics uses a single start of its own. With the
  same clusters, NMI and ARI are equal.
- **A row of zeros** has no direction: its cosine distance to other rows is 1. scib-metrics returns
  NaN.
- **PCR** is the fraction of variance between batches, which is equivalent to regression on all
  principal components. No components are computed.
- **Undefined scores are None**, with a reason: one batch, one label, no uncorrected rows.
"""


def screens() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return embeddings of one screen, its batches, its labels and the uncorrected rows."""
    random = np.random.default_rng(SEED)
    labels = np.arange(N_SAMPLES) % 3
    batches = random.integers(2, size=N_SAMPLES)
    noise = random.normal(size=(N_SAMPLES, WIDTH))
    told = np.eye(WIDTH)[labels] * 4.0
    shift = np.eye(WIDTH)[3 + batches]
    embeddings = {
        "corrected": noise + told + 0.8 * shift,
        "noise": random.normal(size=(N_SAMPLES, WIDTH)),
        "labels": np.eye(WIDTH)[labels],
    }
    return embeddings, batches, labels, noise + told + 3.0 * shift


def table() -> str:
    """Return the table of the scores of each embedding."""
    embeddings, batches, labels, before = screens()
    found = {
        name: evaluate_mixing(rows, batches, labels, before=before)
        for name, rows in embeddings.items()
    }
    lines = ["| score | side | " + " | ".join(found) + " |", "|---" * (len(found) + 2) + "|"]
    for place, kind in enumerate(MIXING.values()):
        values = " | ".join(f"{scores[place].value:.2f}" for scores in found.values())
        lines.append(f"| [`{kind.name}`](#{kind.name}) | {kind.side} | {values} |")
    return "\n".join(lines) + "\n\n"


def section(kind: MixingKind) -> str:
    """Return the section on one score."""
    text = f"{kind.says} It rewards {kind.rewards}. {kind.gamed}"
    facts = f"*{kind.title}, {kind.low:g} to {kind.high:g}. {kind.source}.*"
    parts = [f"### {kind.name}", facts, text]
    return "\n\n".join(textwrap.fill(part, 100) for part in parts) + "\n\n"


def page() -> str:
    """Return the page."""
    gamed = GAMED.format(n=N_SAMPLES, width=WIDTH, seed=SEED)
    sections = "## Every score\n\n" + "".join(section(kind) for kind in MIXING.values())
    return OPENING + gamed + table() + sections + TOTAL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
