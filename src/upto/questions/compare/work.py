"""Steps of a comparison and what each is expected to cost, to tell how much time is left.

Steps differ in cost by orders of magnitude, so a bar that counted them would tell nothing. Costs
are about the seconds on one core, and what steps of this comparison took corrects them. After a
change of speed, ``python -m benchmarks remaining`` shows how far they are off.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import chain, combinations
from threading import Lock
from typing import TYPE_CHECKING

from upto.core import Group
from upto.core.progress import PARTS
from upto.evidence.prepare import n_components_for
from upto.questions.compare.chance_level import chance_rows
from upto.questions.compare.detail import SUPREMUM_ITERATIONS, SUPREMUM_ROWS, SUPREMUM_WORK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from upto.core import Progress
    from upto.questions.compare.pair_options import Options

    Step = tuple[str, float]
    Plan = Mapping[str, Sequence[Step]]

OPERATIONS = 4e10
"""Floating-point operations per second of a product of matrices in double precision."""
DECOMPOSITION, TIED = 1e-9, 0.6
"""Seconds of a singular value decomposition for each cubed column, and the share of it that settles
as many equal correlations."""
VALUES = 1.4e7
"""Values per second that are read, copied, subtracted and squared for all maps."""
BYTES = 3e9
"""Bytes per second that are read, checked and hashed."""
TESTED, SAMPLED, COMPARED = 600, 2048, 3000
"""Rows that are re-paired, sampled, and compared by all their distances."""
JUDGED = 8000
"""Rows of which three in ten are held out and kept in memory, about."""
DROPPING_STEPS = 120
"""Steps of the rotations of two groups onto a narrower run; most searches take all of them."""
REFITS, REFITS_OF_WIDE, WIDE, FEW = 2, 1, 256, 4
"""Refits that usually suffice, and of wide runs with more than a few rows for each column."""
CARRIED, SEARCH = 40, 50.0
"""Rows for each component, at least, and products of a search with as few."""
TRUSTED = 0.01
"""Cost of the steps whose speed counts as much as that of the machine of these numbers."""


class Work:
    """Progress of a comparison as a whole, whose tasks are parts of one.

    `plan` has the steps of each task in order, each with its kind and its cost. `advance` is told
    the share of the time that has passed, in `PARTS`. Kinds of which a step is done go on at its
    speed, others at that of all steps so far. Steps left when their task ends were not needed.
    """

    def __init__(
        self,
        plan: Plan,
        advance: Callable[[int], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to_do = {label: list(steps) for label, steps in plan.items()}
        self._done: dict[str, float] = {}
        self._spent: dict[str, float] = {}
        self._advance, self._clock = advance, clock
        self._started = self._last = clock()
        self._told, self._lock = 0, Lock()

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Open a part of the plan."""
        to_do = self._to_do[label]

        def advance(count: int) -> None:
            with self._lock:
                steps, to_do[:count] = to_do[:count], []
                self._count(steps)

        yield advance
        to_do.clear()

    def seconds_left(self) -> float:
        """Return the seconds that the steps to do will take."""
        overall = (self._last - self._started + TRUSTED) / (sum(self._done.values()) + TRUSTED)
        speeds = {kind: self._spent[kind] / done for kind, done in self._done.items()}
        steps = chain.from_iterable(self._to_do.values())
        return sum(cost * speeds.get(kind, overall) for kind, cost in steps)

    def end(self) -> None:
        """Count all that is left."""
        self._tell(PARTS)

    def _count(self, steps: Sequence[Step]) -> None:
        now, cost = self._clock(), sum(cost for _, cost in steps)
        for kind, own in steps:
            self._done[kind] = self._done.get(kind, 0.0) + own
            self._spent[kind] = self._spent.get(kind, 0.0) + (now - self._last) * own / cost
        self._last = now
        passed, left = now - self._started, self.seconds_left()
        self._tell(int(PARTS * passed / (passed + left)) if passed > 0 else 0)

    def _tell(self, parts: int) -> None:
        if parts > self._told:
            self._advance(parts - self._told)
            self._told = parts


@contextmanager
def watch_work(progress: Progress, plan: Plan) -> Iterator[Progress]:
    """Open one task for a comparison, and yield what its parts report to."""
    with progress.task("compare", PARTS) as advance:
        work = Work(plan, advance)
        yield work
        work.end()


def plan_work(n_samples: int, widths: Sequence[int], options: Options) -> Plan:
    """Return the steps of comparing runs of these widths, by task."""
    width, is_pair = max(widths), len(widths) == 2
    reading = 0.02 + 8.0 * n_samples * sum(widths) / BYTES
    # Near copies and memory of rows are looked for in a sample.
    looked_at = min(n_samples, SAMPLED)
    reading += 0.1 * _share(n_samples, SAMPLED) + _product(looked_at, width, looked_at)
    prepare = [("survey", reading)]
    for each in widths:
        # Of two runs, all rows are unmixed as well as the fitted ones.
        searches = (1 + is_pair) * options.ica
        cost = _prepare(n_samples, each) + searches * _search(n_samples, each, options)
        prepare.append(("prepare", cost))
    if not is_pair:
        pairs = [
            ("pair", 0.8 * _relate(n_samples, max(each), options))
            for each in combinations(widths, 2)
        ]
        return {"prepare runs": prepare, "compare pairs": pairs}
    are_many = width >= WIDE and n_samples > FEW * width
    n_refits = REFITS_OF_WIDE if are_many else REFITS
    judged = _share(0.3 * n_samples, TESTED) * 0.8e-3 * options.permutations
    dropping = _drop(*widths)
    compare = [
        ("errors", _fit(n_samples, width) + dropping),
        ("worst errors", _bracket(n_samples, width) + dropping),
        ("relation", _relate(n_samples, width, options) + judged + dropping),
    ]
    refit = ("refit", _refit(n_samples, width) + dropping)
    chance = [refit] * min(options.refits, n_refits)
    return {"prepare runs": prepare, "compare": compare, "chance level": chance}


def _product(n_rows: float, width: int, n_columns: int | None = None) -> float:
    return 2.0 * n_rows * width * (n_columns or width) / OPERATIONS


def _share(n_rows: float, limit: int) -> float:
    """Cost of all pairs of rows, over that of all pairs of the largest number."""
    return min(n_rows / limit, 1.0) ** 2


def _prepare(n_samples: int, width: int) -> float:
    """Find moments, directions and distances of a run."""
    found = 0.6 * _product(n_samples, width) + 0.12 * DECOMPOSITION * width**3
    distances = 0.1 * _share(n_samples, SAMPLED)
    return found + distances + 0.45 * _product(min(n_samples, 5000), width, 3000)


def _search(n_samples: int, width: int, options: Options) -> float:
    """Search for components; the fewer rows there are for each, the longer."""
    fitted = (1.0 - options.held_out) * n_samples
    n_components = n_components_for(int(fitted), width)
    n_products = 10.0 + SEARCH * (CARRIED * n_components / max(fitted, CARRIED * n_components)) ** 4
    found = n_products * (_product(n_samples, n_components) + 3e-4)
    return found + 2.0 * _product(n_samples, width, n_components) + 0.3 * DECOMPOSITION * width**3


def _fit(n_samples: int, width: int) -> float:
    """Fit maps of all groups, by one cross product and one decomposition, and their errors."""
    found = 4.0 * _product(n_samples, width) + DECOMPOSITION * width**3
    return 0.02 + found + n_samples * width / VALUES


def _drop(width: int, onto: int) -> float:
    """Find the rotations of a wider run that drop coordinates, step by step."""
    if width <= onto:
        return 0.0
    return DROPPING_STEPS * (0.5 * DECOMPOSITION * onto**3 + 5.0 * _product(width, onto))


def _bracket(n_samples: int, width: int) -> float:
    """Compare distances in both runs, and refit with more and more weight on the worst rows."""
    distances = _share(n_samples, COMPARED) * (0.2 + _product(COMPARED, width, COMPARED // 2))
    rows = min(n_samples, max(SUPREMUM_ROWS, 4 * width))
    work = 2.0 * rows * width**2 + 60.0 * width**3
    n_fits = len(Group) * min(SUPREMUM_ITERATIONS, int(SUPREMUM_WORK / work))
    return distances + 1.1 * n_fits * _product(rows, width)


def _relate(n_samples: int, width: int, options: Options) -> float:
    """Fit maps in both directions and canonical directions, and judge them."""
    judged = min(n_samples, JUDGED)
    found = 1.5 * _product(judged, width) + 0.7 * DECOMPOSITION * width**3
    # With fewer fitted rows than directions of both runs, some correlations are equal.
    tied = max(0.0, min(width, 2.0 * width - (1.0 - options.held_out) * n_samples))
    found += 6.0 * tied / width * _product(width, width) + TIED * DECOMPOSITION * tied**3
    return found + 0.9 * judged * width / VALUES


def _refit(n_samples: int, width: int) -> float:
    """Fit maps to shuffled rows, in sample and held out."""
    rows = min(n_samples, chance_rows(width))
    found = 2.5 * _product(rows, width) + 0.8 * DECOMPOSITION * width**3
    return 0.01 + found + 1.0 * rows * width / VALUES
