"""Write `docs/measures.md`: every measure of the catalogue and its declared properties.

Run it after a change of the catalogue: ``python docs/_tools/measures.py``. The values on noise
are computed here.
"""

import math
import textwrap
from pathlib import Path

import numpy as np

from upto.measures.catalogue import DEFAULT_MEASURES, MEASURES
from upto.measures.kinds import Measure, MomentMeasure

PAGE = Path(__file__).parents[1] / "measures.md"
N_SAMPLES, WIDTH, SEED = 256, 64, 0

OPENING = f"""\
<!-- Written by docs/_tools/measures.py; change the declarations in upto/measures instead. -->

# Measures

Similarity measures for comparing networks disagree between packages, fail on dead units and are far
from zero on noise. Here each is defined once, with its invariances, and is reported with its chance
level ([`upto similarity`](similarity.md)):

```python
>>> import numpy as np
>>> from upto.measures import find_measure
>>> rows = np.random.default_rng(0).laplace(size=(500, 8))
>>> print(f"{{find_measure('linear-cka')(rows, 3 * rows + 1):.3f}}")
1.000
```

A name may include a parameter after a colon: `svcca:20` keeps 20 directions, `mutual-knn:10` counts
10 neighbours. *Fitted* measures estimate something from the rows, such as directions or a matching,
so `upto similarity` fits them on one half of the rows and scores them on the other. *Noise* is the
**in-sample** value for two independent Gaussian runs of {N_SAMPLES}×{WIDTH} (seed {SEED}); it shows
why chance levels are needed. Every declaration in this table is checked in both directions by
`tests/properties/test_catalogue.py`.

"""


def ends(measure: Measure) -> str:
    """Write the range of a measure."""
    low, high = (
        f"{end:.3g}" if math.isfinite(end) else ("-∞" if end < 0 else "∞")
        for end in (measure.low, measure.high)
    )
    return f"{low} to {high}"


def row(measure: Measure, noise: float) -> str:
    """Write a row of the table."""
    is_fitted = isinstance(measure, MomentMeasure) and measure.is_fitted
    cells = (
        f"[`{measure.name}`](#{measure.name.replace(':', '').replace('.', '')})",
        ends(measure),
        measure.closer,
        measure.unchanged_by,
        "yes" if is_fitted else "no",
        "yes" if measure.symmetric else "no",
        "yes" if measure.metric else "no",
        f"{noise:.3f}",
    )
    return "| " + " | ".join(cells) + " |"


def section(measure: Measure) -> str:
    """Return the section on one measure."""
    lines = [f"### {measure.name}", "", textwrap.fill(measure.says, 100)]
    if measure.parameter is not None:
        lines += ["", f"Parameter: {measure.parameter_name}."]
    if measure.note:
        lines += ["", textwrap.fill(measure.note, 100)]
    return "\n".join([*lines, "", f"*{measure.source}*"])


def page() -> str:
    """Return the page."""
    rng = np.random.default_rng(SEED)
    first, second = rng.normal(size=(2, N_SAMPLES, WIDTH))
    head = "| measure | range | closer is | unchanged by | fitted | symmetric | metric | noise |"
    table = [head, "|---" * 8 + "|"]
    table += [row(each, each(first, second)) for each in MEASURES.values()]
    default = ", ".join(f"`{MEASURES[name].name}`" for name in DEFAULT_MEASURES)
    parts = [
        OPENING + "\n".join(table),
        f"Without `--measure`, these are computed: {default}.",
        "## Definitions",
        *(section(each) for each in MEASURES.values()),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
