"""Write `docs/mixing-scores.md`: every score of mixing, and what three embeddings score.

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

Scores that batch corrections are ranked by ask two things of the rows that were corrected: do
batches mix, and are labels kept? They are here because people ask for them, equal to scib-metrics
0.5.10 where they are defined the same, and they stand beside the question that counts: is a label
told from controls in a batch that was **never seen**? None of them can answer it: each looks only
at rows that the correction was fitted to.

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

Three embeddings of one screen of {n} rows, {width} wide, with three labels and two batches (seed
{seed}): *corrected* has the labels and a little of the batches left; *noise* has neither; *labels*
is the label written as a vector, as a method gives that is allowed to look at labels. The last two
know nothing that would help in a new batch. Noise beats the correction on every score of the batch
side but graph connectivity, and labels alone have the best total of all.
`tests/unit/test_measure_mixing.py` holds both.

"""

TOTAL = """\
## What the total hides

The total is 0.6 of the mean of the biology side and 0.4 of the mean of the batch side. It hides
which side paid: 0.1 of biology is bought with 0.15 of mixing. It weighs a score by how much it
happens to vary: cLISI and label silhouettes hardly move, so NMI and ARI decide one side, and they
are one clustering counted twice. A score that is not defined is left out of its mean, so that
totals of different scores are not comparable; omitted scores are listed next to the value. And it
sees only rows that the correction was fitted to. Read it beside the held-out AUROC, never instead.

## Where ours differ from scib-metrics

- **Neighbours are exact**, and numbers are float64. scib-metrics searches neighbours approximately
  and rounds to float32; with exact neighbours and float64 the values agree to 1e-9 (kBET: see
  below).
- **LISI of wide rows.** In float32 the weights of scib-metrics vanish where distances are large, as
  between 384 coordinates, and its search for the perplexity stops early: iLISI 0.542 in place of
  0.525 on 5,000 rows. In float64 it gives ours.
- **Ties and equal rows.** A row is its own first neighbour; rows that tie for the last places share
  them. So duplicates are no special case (scib-metrics#77), and no score depends on the order of
  rows.
- **Fewer than 90, 50 or 15 rows**: all rows are neighbours, and the perplexity is a third of them.
- **kBET** takes for every label as many diffusion components as it has, at most 100. In
  scib-metrics a small label lowers that number for all labels after it in the alphabet. Where all
  labels have more than 100 rows, two differences stay. scib-metrics searches the neighbours of its
  graph approximately: on 12 screens of 48 columns and labels of 275 to 572 rows that
  moves its own value by 0.0001 to 0.0040. And it keeps connections and
  diffusion coordinates in float32, so that a row at a tie may change sides. Given exact neighbours
  its values are ours, up to one such row (`python checks/oracles_mixing.py` writes them,
  `tests/oracles/test_mixing.py` compares).
- **k-means** is the best of three starts; scib-metrics takes one of its own. Given the same
  clusters NMI and ARI are the same.
- **A row of zeros** has no direction: its cosine distance to other rows is 1. scib-metrics gives
  NaN.
- **PCR** is the share of variance between batches, which regression on all principal components
  amounts to. No components are computed.
- **What is not defined is None**, with a reason: one batch, one label, no rows before.
"""


def screens() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return embeddings of one screen, its batches and labels, and the rows before."""
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
    """Write what each embedding scores."""
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
    """Write what is known about a score."""
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
