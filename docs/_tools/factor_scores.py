"""Write `docs/factor-scores.md`: every score of the catalogue and its value on noise.

Run it after a change of the catalogue: ``python docs/_tools/factor_scores.py``. The scores of
noise are measured by ``python docs/_tools/factor_scores.py --measure``, which takes a while, and
recorded next to this file.
"""

import json
import math
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.disentanglement.calibrate import evaluate_scores
from upto.disentanglement.catalogue import DEFAULT_SCORES, SCORES, ScoreKind

PAGE = Path(__file__).parents[1] / "factor-scores.md"
RECORD = Path(__file__).with_suffix(".json")
N_SAMPLES, N_CODES, SEED = 1000, 12, 0
CLASSES = (10, 10, 10, 8, 4, 15)

OPENING = f"""\
<!-- Written by docs/_tools/factor_scores.py; change the declarations in the package instead. -->

# Factor scores

Every score of codes against known factors, by name. [Which score should I use?](which-score.md)
helps to choose.

```python
>>> import numpy as np
>>> from upto.disentanglement import evaluate_scores
>>> rng = np.random.default_rng(0)
>>> factors = rng.integers(4, size=(1000, 3))
>>> codes = factors + 0.3 * rng.normal(size=(1000, 3))
>>> (found,) = evaluate_scores(codes, factors, scores="mig")
>>> print(f"{{found.name}}: {{found.value:.2f}}, chance {{found.chance:.2f}}")
mig@disentanglement_lib: 0.83 [0.82, 0.85], chance 0.00
```

A variant follows an @: `mig@ubisoft`; without one, the first variant below is used. The name of a
family selects all its scores: `infomec@tripod`, `dci`. `all` selects every score in every variant.
*Noise* is the score of {N_CODES} independent Gaussian codes on {N_SAMPLES:,} rows with factors of
{", ".join(map(str, CLASSES[:-1]))} and {CLASSES[-1]} values, as in Shapes3D (seed {SEED}), for each
variant: the baseline of a score. *Costly* scores are calibrated with fewer shuffles and
half-samples.

"""


def noise() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return codes that are independent of their factors."""
    rng = np.random.default_rng(SEED)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])
    return rng.normal(size=(N_SAMPLES, N_CODES)), factors


def measured() -> dict[str, float | None]:
    """Return the scores of noise."""
    found = evaluate_scores(*noise(), scores="all", refits=0, half_samples=0)
    return {each.name: each.score.value for each in found}


def ends(kind: ScoreKind) -> str:
    """Write the range of a score."""
    low, high = (
        f"{end:.3g}" if math.isfinite(end) else ("-∞" if end < 0 else "∞")
        for end in (kind.low, kind.high)
    )
    return f"{low} to {high}"


def row(kind: ScoreKind, values: dict[str, float | None]) -> str:
    """Write a row of the table."""
    cells = (
        f"[`{kind.name}`](#{kind.name.replace('/', '')})",
        ends(kind),
        kind.better,
        kind.rewards,
        "costly" if kind.costly else "cheap",
        ", ".join(
            f"{variant} {_shown(values[f'{kind.name}@{variant}'])}" for variant in kind.variants
        ),
    )
    return "| " + " | ".join(cells) + " |"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"**{value:.3f}**"


def section(kind: ScoreKind) -> str:
    """Return the section on one score."""
    variants = ", ".join(f"`{kind.name}@{variant}`" for variant in kind.variants)
    lines = [f"### {kind.name}", "", textwrap.fill(f"{kind.title}. {kind.says}", 100)]
    return "\n".join([*lines, "", variants, "", f"*{kind.source}*"])


def page() -> str:
    """Return the page."""
    values = json.loads(RECORD.read_text(encoding="utf-8"))
    head = "| score | range | better is | rewards that | cost | noise |"
    table = [head, "|---" * 6 + "|", *(row(kind, values) for kind in SCORES.values())]
    default = ", ".join(f"`{name}`" for name in DEFAULT_SCORES)
    parts = [
        OPENING + "\n".join(table),
        textwrap.fill(
            f"Without names, these are computed: {default}.", 100, break_on_hyphens=False
        ),
        "## Definitions",
        *(section(kind) for kind in SCORES.values()),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page."""
    if "--measure" in sys.argv[1:]:
        RECORD.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
