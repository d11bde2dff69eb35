"""An interrupt in any pass ends a question: what a search had reached is no answer."""

from __future__ import annotations

import numpy as np
import pytest

import upto


class InterruptedEngine(upto.ThreadsEngine):
    """Count the passes, and raise an interrupt in one of them."""

    __slots__ = ()
    passes, interrupted_pass = 0, 0

    def count(self):
        type(self).passes += 1
        if self.passes == self.interrupted_pass:
            raise KeyboardInterrupt

    def reduce_blocks(self, *args, **kwargs):
        self.count()
        return super().reduce_blocks(*args, **kwargs)

    def map_blocks(self, *args, **kwargs):
        self.count()
        return super().map_blocks(*args, **kwargs)


@pytest.fixture
def engine():
    InterruptedEngine.passes = InterruptedEngine.interrupted_pass = 0
    return InterruptedEngine(n_threads=1)


@pytest.fixture
def pair(rng):
    """Two runs with sources that are found and directions that turn."""
    first = np.hstack([rng.laplace(size=(300, 2)), rng.normal(size=(300, 2))])
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    return first, first @ turn + 0.05 * rng.normal(size=first.shape)


QUESTIONS = {
    "inspect": lambda first, _, **options: upto.inspect(first, **options),
    "compare": lambda *runs, **options: upto.compare(*runs, refits=1, **options),
    "consensus": lambda *runs, **options: upto.consensus(*runs, up_to="ica", **options),
    "unmix": lambda first, _, **options: upto.unmix(first, **options),
}
FEW = 6
"""Number of passes that the fast tests interrupt."""


def interrupted_in(engine, work, step):
    """Interrupt every `step`-th pass, or a few, and return those after which work went on."""
    work()
    returned = []
    for number in range(1, engine.passes + 1, step or -(-engine.passes // FEW)):
        InterruptedEngine.passes, InterruptedEngine.interrupted_pass = 0, number
        try:
            work()
        except KeyboardInterrupt:
            continue
        returned.append(number)
    return returned


@pytest.mark.parametrize("step", [None, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_interrupt_in_any_pass_ends_the_question(name, step, engine, pair):
    ask = QUESTIONS[name]
    assert interrupted_in(engine, lambda: ask(*pair, engine=engine, progress=False), step) == []


@pytest.mark.slow
def test_an_interrupt_in_any_pass_ends_the_scores_of_factors(engine, pair):
    latents, factors = pair[0], pair[1][:, :2]

    def ask():
        options = {"forms": "ica", "scores": "mig", "half_samples": 0}
        upto.factors(latents, factors, engine=engine, progress=False, **options)

    assert interrupted_in(engine, ask, 25) == []
