"""Too few classes: the teacher, canonical correlations, and the study at its smallest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from upto.core import InputError
from upto.theory import head_diversity
from upto_studies.class_diversity import canonical_correlations
from upto_studies.class_teacher import draw_teacher
from upto_studies.run import run_study

pytest.importorskip("torch")


def teacher_of(**given):
    return draw_teacher(
        **{
            "n_inputs": 6,
            "n_units": 10,
            "n_outputs": 4,
            "n_classes": 7,
            "logit_scale": 2.0,
            "corners": True,
            "seed": 0,
        }
        | given
    )


def test_the_representation_of_the_teacher_is_white_and_scores_have_their_scale():
    teacher = teacher_of()
    rows = teacher.draw(20_000, seed=3, purpose="a test")
    f = teacher.f(rows)
    assert np.allclose(f.mean(axis=0), 0, atol=0.05)
    assert np.allclose(np.cov(f, rowvar=False), np.eye(4), atol=0.05)
    assert teacher.scores(rows, 5).std(axis=0) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("n_classes", [3, 4, 5, 7])
def test_the_first_classes_are_corners_of_a_regular_simplex(n_classes):
    teacher = teacher_of(n_classes=n_classes)
    corners = teacher.classes[:5]
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    assert np.allclose(apart[~np.eye(len(corners), dtype=bool)], apart[0, 1])
    if n_classes == 5:
        assert head_diversity(teacher.classes).condition == pytest.approx(1.0)
    assert not np.allclose(teacher_of(corners=False).classes[:3], teacher_of().classes[:3])


def test_divergence_and_information_are_those_by_hand():
    teacher = teacher_of()
    rows = teacher.draw(300, seed=3, purpose="a test")
    shares = teacher.probabilities(rows, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert teacher.divergence(rows, teacher.scores(rows, 3) + 5.0) == pytest.approx(0, abs=1e-12)
    frequent = np.broadcast_to(np.log(shares.mean(axis=0)), shares.shape)
    by_hand = (shares * (np.log(shares) - frequent)).sum(axis=1).mean()
    assert teacher.divergence(rows, frequent) == pytest.approx(by_hand)
    assert teacher.information(rows, 3) == pytest.approx(by_hand)


def test_canonical_correlations_are_those_of_scikit_learn(rng):
    x = rng.normal(size=(400, 3)) + 5.0
    y = np.hstack([x[:, :1] + 0.3 * rng.normal(size=(400, 1)), rng.normal(size=(400, 2))])
    y = y @ rng.normal(size=(3, 3))
    found = canonical_correlations(x, y)
    fitted = CCA(n_components=3, max_iter=5000).fit(x[::2], y[::2])
    u, v = fitted.transform(x[1::2], y[1::2])
    known = [np.corrcoef(u[:, k], v[:, k])[0, 1] for k in range(3)]
    assert found == pytest.approx(known, abs=1e-3)
    assert found[0] > 0.9
    assert np.allclose(canonical_correlations(x, x @ rng.normal(size=(3, 3))), 1.0)


def test_a_number_given_twice_is_refused():
    with pytest.raises(InputError, match="the same number twice"):
        run_study("class-diversity", size="tiny", settings={"n_classes": [3, 3]})


def test_numbers_that_do_not_meet_the_condition_have_no_step():
    settings = {"n_classes": [2], "n_pairs": 1, "n_steps": 30, "n_held_out": 100}
    result = run_study("class-diversity", size="tiny", settings=settings)
    by_name = {each.name: each.measured for each in result.quantities}
    assert by_name["step"] is None
    assert by_name["ranks off"].value == 0


@pytest.mark.slow
def test_the_tiny_study_finds_the_step():
    result = run_study("class-diversity", size="tiny")
    assert result.missed == ()
    directions = result.details[0].records()
    agreeing = [row["directions that agree"] for row in directions]
    assert agreeing == [1, 2, 2]
