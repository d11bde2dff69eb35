"""Clusters of digits: matching with labels, agreement of runs, and the study."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.agreement import over_pairs, over_runs
from upto_studies.run import run_study
from upto_studies.run_pairs import cluster_agreement, compared_runs, matched_accuracy, mean_of_pairs

pytest.importorskip("torch")


def test_the_matching_is_the_best_of_all(rng):
    clusters, labels = rng.integers(4, size=(2, 200))
    best = max((np.array(each)[clusters] == labels).mean() for each in permutations(range(4)))
    assert matched_accuracy(clusters, labels) == pytest.approx(best)


def test_a_matching_of_other_rows_is_used_as_it_is():
    fitted = (np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    assert matched_accuracy(np.array([0, 1, 1]), np.array([1, 0, 1]), fitted=fitted) == 2 / 3
    assert matched_accuracy(np.array([0, 0]), np.array([0, 0]), fitted=fitted) == 0


def test_clusters_of_other_names_agree():
    first = np.arange(60) % 3
    assert cluster_agreement([first, (first + 1) % 3]).value == 1
    shuffled = np.random.default_rng(0).permutation(first)
    assert abs(cluster_agreement([first, shuffled]).value) < 0.1


def test_affine_images_of_a_run_have_a_weak_mcc_of_one(rng):
    run = rng.laplace(size=(300, 2))
    pairs = compared_runs(np.stack([run, run @ [[1.0, 2.0], [-1.0, 1.0]] + 3]), seed=0)
    assert mean_of_pairs(pairs, "weak MCC").value == pytest.approx(1, abs=1e-6)
    assert mean_of_pairs(pairs, "R² affine").value == pytest.approx(1, abs=1e-6)
    assert mean_of_pairs(pairs, "strong MCC").value < 0.95


def test_runs_are_left_out_whole():
    values = [((a, b), float(a + b)) for a in range(4) for b in range(a)]
    found, independent = over_runs(values), over_pairs([value for _, value in values])
    assert found.value == independent.value == 3.0
    # The mean over pairs is twice that over runs, whose jackknife is the Student interval.
    known = over_pairs(2.0 * np.arange(4))
    assert found.high == pytest.approx(known.high)
    assert over_runs(values[:1]).low is None


def test_more_images_than_there_are_are_refused():
    with pytest.raises(InputError, match="ask for fewer"):
        run_study("digit-clusters", size="tiny", settings={"n_images": 5000})


def test_mnist_without_its_folder_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="mnist"):
        run_study("digit-clusters", size="small")


def test_the_tiny_study_measures_all_it_names():
    settings = {"n_seeds": 2, "epochs": 4}
    result = run_study("digit-clusters", size="tiny", settings=settings)
    by_name = {each.name: each.measured for each in result.quantities}
    assert None not in by_name.values()
    assert by_name["diverged"].value == 0
    assert by_name["accuracy, held out"].value > 0.4
