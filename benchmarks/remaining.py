"""The time left that `compare` shows, against the time it then took."""

from __future__ import annotations

import time
from unittest.mock import patch

import upto
from benchmarks.data import wide_pair, wide_runs
from benchmarks.measure import all_cores, load, publish
from upto.core.progress_bar import _Watch
from upto.questions.compare import work

SIZES = {
    "quick": [(3_000, 64, 2, False), (2_000, 48, 2, True), (1_000, 32, 6, False)],
    "full": [
        *((5_000, width, 2, ica) for width in (256, 512, 1_024) for ica in (False, True)),
        (100_000, 128, 2, True),
        (5_000, 256, 8, False),
    ],
}
MOMENTS = (0.25, 0.5, 0.75)


class Recorder(_Watch):
    """Progress that records what a bar would show."""

    def __init__(self):
        super().__init__(first=0.0, every=0.02)
        self.shown = []

    def show(self, tasks):
        """Note the time, and the time left."""
        self.shown.append((time.monotonic(), tasks[0].seconds_left))

    def at(self, moment):
        """Return the last time left that was shown at a moment, None if there was none yet."""
        return [left for then, left in self.shown if then <= moment][-1]


def run(size):
    rows, costs = [], []
    upto.compare(*wide_pair(500, 8), ica=True)
    with all_cores():
        for n_samples, width, n_runs, ica in SIZES[size]:
            runs = wide_runs(n_samples, width, n_runs)
            recorder, kept = Recorder(), []

            class Kept(work.Work):
                def __init__(self, *arguments, kept=kept):
                    super().__init__(*arguments)
                    kept.append(self)

            started = time.monotonic()
            with patch.object(work, "Work", Kept):
                upto.compare(*runs, ica=ica, progress=recorder)
            ended = time.monotonic()
            row = {
                "runs": f"{n_runs} of {n_samples}×{width}",
                "ICA": "yes" if ica else "no",
                "seconds": ended - started,
            }
            for share in MOMENTS:
                moment = started + share * (ended - started)
                left = recorder.at(moment)
                row[f"shown / true at {share:.0%}"] = (
                    None if left is None else left / (ended - moment)
                )
            rows.append(row)
            # Costs are seconds of two quiet cores: elsewhere their ratios matter, not they.
            costs.append(
                {
                    "runs": row["runs"],
                    "ICA": row["ICA"],
                    **{f"{kind} s": spent for kind, spent in kept[0]._spent.items()},
                    **{f"{kind} cost": cost for kind, cost in kept[0]._done.items()},
                }
            )
            publish(
                "remaining",
                "the time left that `compare` shows",
                rows,
                seed=0,
                load=load(),
                steps=costs,
            )
    for each in costs:
        kinds = [name.removesuffix(" s") for name in each if name.endswith(" s")]
        ratios = ", ".join(
            f"{kind} {each[f'{kind} s'] / each[f'{kind} cost']:.2f}" for kind in kinds
        )
        print(f"seconds / expected cost, {each['runs']}, ICA {each['ICA']}: {ratios}")
