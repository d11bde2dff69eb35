"""The verdict of a consensus: which runs share a space, and words that do not contradict it."""

from __future__ import annotations

import numpy as np
import pytest

from upto import InputError, compare, consensus


def rotation(rng, width):
    return np.linalg.qr(rng.normal(size=(width, width)))[0]


@pytest.fixture
def pair(rng):
    """Return two runs that are equal up to a rotation."""
    rows = rng.laplace(size=(600, 5))
    return rows, rows @ rotation(rng, 5)


def unrelated(rng, size):
    return size * rng.laplace(size=(600, 5))


@pytest.mark.parametrize("kind", ["cubes", "broad", "narrow"])
def test_a_run_of_another_scale_does_not_part_those_that_agree(rng, pair, kind):
    odd = pair[0] ** 3 if kind == "cubes" else unrelated(rng, 50 if kind == "broad" else 0.02)
    result = consensus(*pair, odd)
    assert [run.belongs for run in result.runs] == [True, True, False]
    assert all(run.explained.value > 0.95 for run in result.runs[:2])
    assert result.verdict.startswith(
        "2 of 3 runs share one space up to a rigid motion (first and second): the consensus of "
    )
    assert result.verdict.endswith("and 5 of 5 directions appear in each of them.")


def test_a_run_much_wider_than_predicted_does_not_belong_and_is_told_why(rng, pair):
    result = consensus(*pair, 30 * pair[0] @ rotation(rng, 5))
    assert result.runs[2].explained.value > 0
    assert result.runs[2].times == pytest.approx(30, rel=0.05)
    assert [run.belongs for run in result.runs] == [True, True, False]
    (message,) = (finding.message for finding in result.findings if finding.code == "UP030")
    assert message.endswith("; it is 30 times as wide as predicted.")


def test_fewer_than_two_runs_are_no_consensus(rng, pair):
    rows = pair[0]
    alone = consensus(rows, 0.05 * pair[1], unrelated(rng, 0.05))
    assert sum(bool(run.belongs) for run in alone.runs) < 2
    assert alone.verdict.startswith("No consensus: ")
    nothing = consensus(*(unrelated(rng, 1) for _ in range(3)))
    assert nothing.verdict == "No consensus: none of 3 runs belongs with the others."
    two = consensus(rows, unrelated(rng, 1))
    assert two.verdict == "No consensus: the two runs do not belong together."
    messages = " ".join(finding.message for finding in two.findings)
    assert "that the other explains is " in messages
    assert "components appear in both runs." in messages


def test_one_that_does_not_belong_of_many_is_named(rng, pair):
    more = [pair[0] @ rotation(rng, 5) for _ in range(2)]
    result = consensus(*pair, unrelated(rng, 1), *more)
    assert "4 of 5 runs share one space up to a rigid motion (all but third): " in result.verdict


def test_two_runs_are_each_other_s_other(rng, pair):
    result = consensus(*pair)
    assert result.verdict == (
        "Both runs share one space up to a rigid motion: each explains 100.0% of the other's "
        "held-out variance, and 5 of 5 directions appear in both."
    )
    matched = consensus(pair[0], pair[0][:, ::-1] + 1, up_to="signed-permutation")
    assert "a held-out correlation of 1.00 with the other, where the" in matched.verdict
    titles = [table.title for table in result.tables()]
    assert "Variance of each run that the other explains" in titles
    assert "Components: correlation of a run with the other" in titles


def test_one_component_appears(rng):
    shared = rng.laplace(size=(1500, 1))
    runs = [np.hstack([shared, rng.laplace(size=(1500, 3))]) for _ in range(3)]
    result = consensus(*runs, up_to="ica")
    (message,) = (finding.message for finding in result.findings if finding.code == "UP031")
    assert message == "1 of 4 components appears in all 3 runs."


def test_labels_of_many_runs_are_refused_by_what_they_are_for(rng, pair):
    with pytest.raises(InputError, match=r"agreement within classes .* compare two at a time"):
        compare(*pair, unrelated(rng, 1), labels=np.arange(600) % 3)
