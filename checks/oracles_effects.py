"""Two-way analysis of variance by statsmodels, for tests/golden/effects.json.

Run in an environment that has statsmodels and pandas, and write what it prints to that file.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm


def main() -> None:
    """Print one unbalanced table and what type-II sums of squares make of it."""
    rng = np.random.default_rng(0)
    batch = np.repeat([0, 1, 2, 3], [7, 12, 5, 9])
    label = rng.integers(0, 3, len(batch))
    value = rng.normal(size=len(batch)) + 0.7 * batch + 0.4 * label
    frame = pd.DataFrame({"batch": batch, "label": label, "value": np.round(value, 6)})
    table = anova_lm(ols("value ~ C(batch) + C(label)", frame).fit(), typ=2)
    print(
        json.dumps(
            {
                "batch": batch.tolist(),
                "label": label.tolist(),
                "value": frame["value"].tolist(),
                "squares": float(table["sum_sq"]["C(batch)"]),
                "residual": float(table["sum_sq"]["Residual"]),
                "df": float(table["df"]["C(batch)"]),
                "df_residual": float(table["df"]["Residual"]),
                "p": float(table["PR(>F)"]["C(batch)"]),
            }
        )
    )


if __name__ == "__main__":
    main()
