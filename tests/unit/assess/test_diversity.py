"""The check of a head as a result: verdict, table, plot, file."""

import numpy as np
import pytest

import upto
from upto.core import Diversity


def test_a_diverse_head_says_so_with_its_numbers(rng):
    head = rng.normal(size=(200, 8))
    found = upto.check_diversity(head)
    assert found.holds
    assert "200 classes have 8 independent differences of 8 needed" in found.verdict
    assert "condition number 1." in found.verdict
    covariance = np.cov(head.T, ddof=0)
    np.testing.assert_allclose(
        found.amplification, 1 / np.sqrt(np.linalg.eigvalsh(covariance)[0]), rtol=1e-10
    )
    differences = head[list(found.chosen)] - head[found.base]
    np.testing.assert_allclose(np.linalg.cond(differences), found.differences_condition)


def test_few_classes_leave_directions_open(rng):
    found = upto.check_diversity(rng.normal(size=(10, 64)))
    assert not found.holds
    assert "only 9 of its 64 directions are" in found.verdict
    assert found.verdict.endswith("If the file is inputs × classes, transpose it.")
    assert (found.condition, found.amplification, found.base, found.chosen) == (
        None,
        None,
        None,
        (),
    )


def test_a_margin_that_rounding_can_make_is_no_margin(rng):
    head = rng.normal(size=(500, 4))
    head[:, 3] = head[:, 0] - head[:, 1]
    found = upto.check_diversity(head.astype(np.float16))
    assert found.holds
    assert found.ill_conditioned
    assert "barely identify" in found.verdict


def test_classes_that_never_occur_are_counted_apart(rng):
    counts = np.repeat([0, 3], 20)
    found = upto.check_diversity(rng.normal(size=(40, 4)), frequencies=counts)
    assert (found.n_classes, found.n_left_out) == (20, 20)


def test_a_tall_head_is_not_called_transposed(rng):
    head = rng.normal(size=(40, 4))
    head[:, 3] = head[:, 0]
    assert "transpose" not in upto.check_diversity(head).verdict
    few = upto.check_diversity(rng.normal(size=(40, 8)), frequencies=np.repeat([0, 3], [37, 3]))
    assert not few.holds
    assert "transpose" not in few.verdict


def test_the_result_survives_a_file_and_is_drawn_as_data(rng):
    for rows in (5, 50):
        found = upto.check_diversity(rng.normal(size=(rows, 6)))
        assert Diversity.from_json(found.to_json()) == found
        (panel,) = found.panels()
        (marks,) = panel.marks
        assert len(marks.x) == len(marks.y) == min(rows - 1, 6)
        assert panel.y_log


def test_a_manifest_of_several_heads_is_refused(tmp_path, rng):
    np.save(tmp_path / "a.npy", rng.normal(size=(5, 2)))
    lines = '[[run]]\npath = "a.npy"\nname = "{}"\n'
    (tmp_path / "heads.toml").write_text(lines.format("one") + lines.format("two"))
    with pytest.raises(upto.InputError, match="one head is checked at a time, not 2"):
        upto.check_diversity(tmp_path / "heads.toml")
