import numpy as np

from upto.questions.diversity.result import DiversityResult


def test_a_head_is_checked_with_its_frequencies(upto, tmp_path, rng):
    np.savez(tmp_path / "model.npz", weight=rng.normal(size=(50, 6)), other=np.ones(3))
    np.save(tmp_path / "counts.npy", np.repeat([0, 2], 25))
    arguments = (
        "diversity",
        "model.npz::weight",
        "--frequencies",
        "counts.npy",
        "--format",
        "json",
    )
    found = DiversityResult.from_json(upto(*arguments).stdout)
    assert (found.n_classes, found.n_left_out, found.rank, found.holds) == (25, 25, 6, True)


def test_a_check_becomes_a_page(upto, tmp_path, rng):
    np.save(tmp_path / "head.npy", rng.normal(size=(4, 6)))
    assert upto("diversity", "head.npy", "-o", "check.json").exit_code == 0
    assert upto("report", "check.json", "-o", "check.html").exit_code == 0
    page = (tmp_path / "check.html").read_text(encoding="utf-8")
    assert "only 3 of its 6 directions are" in page


def test_frequencies_that_are_words_are_refused(upto, tmp_path, rng):
    np.save(tmp_path / "head.npy", rng.normal(size=(2, 1)))
    (tmp_path / "counts.txt").write_text("many\nfew\n")
    result = upto("diversity", "head.npy", "--frequencies", "counts.txt")
    assert result.exit_code == 3
    assert "not numbers" in result.stderr
