"""A quick version of ``checks/type_one.py``: few measures and trials, and a check that can fail."""

from concurrent.futures import Future

import pytest
from checks import type_one

from upto.measures.catalogue import find_measures

pytestmark = pytest.mark.slow

TRIALS, SEED = 40, 7
MEASURES = ("linear-cka-biased", "mean-cca", "mutual-knn:3")


class Here:
    """An executor that does the work at once."""

    def submit(self, call, *given):
        found = Future()
        found.set_result(call(*given))
        return found


@pytest.mark.parametrize(
    "cell",
    [
        ("Gaussian", 20, 4),
        ("heavy tails", 30, 40),
        ("memory 0.5", 200, 4),
        ("memory 0.9", 1200, 4),
        ("random walks", 200, 4),
        ("near copies in fives", 200, 4),
        ("near copies in pairs", 200, 4),
        ("one very far row", 100, 4),
        ("3 % far rows", 100, 4),
    ],
    ids=lambda cell: cell[0],
)
def test_independent_runs_are_within_chance(monkeypatch, cell):
    monkeypatch.setattr(type_one, "CELLS", (cell,))
    shares = list(type_one.level(find_measures(MEASURES), TRIALS, SEED, Here()))
    assert [share.measure for share in shares] == list(MEASURES)
    assert all(share.kept for share in shares)


def test_the_best_of_several_pairs_is_within_chance():
    shares = list(type_one.family(find_measures(MEASURES[:1]), TRIALS, SEED, Here()))
    assert [share.case for share in shares] == list(type_one.FAMILIES)
    assert all(share.kept for share in shares)


def test_copies_of_rows_would_be_noticed():
    shares = list(type_one.control(find_measures(MEASURES), TRIALS, SEED, Here()))
    assert all(share.value > 0.5 and share.kept for share in shares)
    assert not type_one.Share(
        check="level", measure="", case="", n_samples=1, n_features=1,
        hits=shares[0].hits, trials=shares[0].trials,
    ).kept  # fmt: skip
