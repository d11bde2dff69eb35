import csv
import io
import json

import numpy as np
import pytest

from upto.disentanglement.catalogue import SCORES
from upto.questions.factors.result import FactorsResult

QUICK = ("--scores", "gaussian-tc", "--half-samples", "0", "--no-progress")


@pytest.fixture
def files(tmp_path, rng):
    """Write rotated factors and the factors, and return their paths."""
    truth = rng.uniform(-1, 1, size=(300, 2))
    np.save(tmp_path / "z.npy", truth @ [[0.8, 0.6], [-0.6, 0.8]])
    lines = [f"{x},{y},{'ab'[int(x > 0)]}" for x, y in truth.tolist()]
    (tmp_path / "factors.csv").write_text("\n".join(["x,y,side", *lines]) + "\n")
    return tmp_path / "z.npy", tmp_path / "factors.csv"


def test_scores_and_errors_are_shown_before_and_after_ica(upto, files):
    z, factors = files
    result = upto("factors", z, "--factors", factors, *QUICK, "--forms", "raw,ica")
    assert result.exit_code == 0, result.stderr
    verdict = " ".join(result.stdout.split())
    assert verdict.startswith(
        "Without ICA, the latents identify the 2 factors up to a rigid motion and"
    )
    assert "after ICA, they identify them up to a signed permutation" in verdict
    assert "z against 3 factors: scores" in result.stdout
    assert "Mean error to 2 factors" in result.stdout
    assert "UP067" in result.stderr


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md"])
def test_the_suffix_of_the_output_chooses_the_format(upto, tmp_path, files, suffix):
    z, factors = files
    out = f"out{suffix}"
    result = upto("factors", z, "--factors", factors, *QUICK, "--forms", "raw", "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    text = (tmp_path / out).read_text()
    if suffix == ".json":
        assert FactorsResult.from_json(text).name == "z"
        assert upto("report", out, "-o", "again.html").exit_code == 0
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["score"] for row in rows][:2] == [
            "gaussian-tc@disentanglement_lib",
            "error/identity",
        ]
    else:
        assert "Factors in each latent, without ICA" in text


def test_the_options_reach_the_question(upto, tmp_path, files):
    z, factors = files
    result = upto(
        "factors", z, "--factors", factors, "--factor", "x", "--factor", "side", *QUICK,
        "--forms", "ica", "--discrete", "x", "--unordered", "x",
    )  # fmt: skip
    assert result.exit_code == 3
    assert "'x' is declared as discrete and unordered" in result.stderr
    result = upto(
        "factors", z, "--factors", factors, "--factor", "x", "--factor", "y", *QUICK,
        "--forms", "ica", "--max-rows", "200", "--held-out", "0.5", "--seed", "3",
        "--format", "json", "--report", "page.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    found = FactorsResult.from_json(result.stdout)
    assert [factor.name for factor in found.factors] == ["x", "y"]
    assert (found.n_used, found.n_held_out, found.provenance.seed) == (200, 100, 3)
    assert [form.name for form in found.forms] == ["ICA"]
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_columns_of_the_run_are_factors_without_a_file(upto, tmp_path, rng):
    truth = rng.uniform(size=(200, 2))
    np.savez(tmp_path / "run.npz", z=truth, x=truth[:, 0], ids=np.arange(200))
    result = upto("factors", "run.npz::z", *QUICK, "--forms", "raw", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert [factor.name for factor in FactorsResult.from_json(result.stdout).factors] == ["x"]


def test_rows_are_matched_by_ids(upto, tmp_path, rng):
    truth, order = rng.uniform(size=(200, 2)), rng.permutation(200)
    np.savez(tmp_path / "run.npz", z=truth, who=np.arange(200))
    lines = [f"{row},{truth[row, 0]}" for row in order]
    (tmp_path / "factors.csv").write_text("\n".join(["who,x", *lines]) + "\n")
    result = upto(
        "factors", "run.npz::z", "--factors", "factors.csv", "--ids", "who", *QUICK,
        "--forms", "raw", "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert FactorsResult.from_json(result.stdout).form("without ICA").match("x").correlation > 0.999


def test_discrete_codes_are_scored_as_given(upto, tmp_path, rng):
    np.save(tmp_path / "codes.npy", rng.integers(4, size=(200, 2)))
    np.save(tmp_path / "truth.npy", np.load(tmp_path / "codes.npy"))
    given = ("factors", "codes.npy", "--factors", "truth.npy", "--discrete-codes")
    result = upto(*given, *QUICK[2:], "--scores", "infomec/modularity", "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = FactorsResult.from_json(result.stdout)
    assert found.discrete_latents
    assert found.score("infomec/modularity").value.value == pytest.approx(1)
    assert upto(*given, *QUICK, "--forms", "ica").exit_code == 3


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_the_scores_are_listed_in_every_format(upto, form):
    result = upto("factors", "--list", "--format", form)
    assert result.exit_code == 0
    for name in SCORES:
        assert name in result.stdout
    if form == "json":
        assert {"score", "variants", "range", "source"} <= set(json.loads(result.stdout)[0])


def test_the_list_of_scores_goes_to_a_file(upto, tmp_path):
    assert upto("factors", "--list", "-o", "scores.csv").exit_code == 0
    assert "infomec/modularity" in (tmp_path / "scores.csv").read_text()


def test_strict_exits_with_one_on_a_warning_and_with_four_without_convergence(
    upto, files, monkeypatch
):
    z, factors = files
    given = ("factors", z, "--factors", factors, *QUICK, "--factor", "x", "--strict")
    assert upto(*given, "--forms", "raw").exit_code == 0
    np.save(z.with_name("noise.npy"), np.random.default_rng(1).normal(size=(300, 1)))
    noise = upto("factors", "noise.npy", *given[2:], "--factor", "y", "--forms", "raw")
    assert noise.exit_code == 1
    assert "there are warnings" in noise.stderr
    monkeypatch.setattr("upto.questions.factors.forms.MAX_ITERATIONS", 1)
    assert upto(*given, "--forms", "ica-literal").exit_code == 4


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Missing argument 'RUN'"),
        (("z.npy", "--factors", "nothing.csv"), 3, "nothing.csv does not exist"),
        (("z.npy", "--factors", "short.csv"), 3, "z has 300 rows but short.csv has 2"),
        (("z.npy",), 3, "z has no metadata columns"),
        (("z.npy", "--factors", "factors.csv", "--factor", "w"), 3, "has no factor 'w'"),
        (("z.npy", "--factors", "factors.csv", "--continuous", "side"), 3, "has labels such as"),
        (("z.npy", "--factors", "factors.csv", "--scores", "beauty"), 3, "no score 'beauty'"),
        (("z.npy", "--factors", "factors.csv", "--forms", "pca"), 3, "unknown form 'pca'"),
        (("z.npy", "--factors", "factors.csv", "-o", "factors.csv"), 3, "is an input"),
        (("runs.toml", "--factors", "factors.csv"), 3, "factors takes one run"),
        (("factors.csv", "--factors", "z.npy", "--refits", "3"), 2, "--refits"),
        (("z.npy", "--factors", "factors.csv", "--half-samples", "1"), 2, "--half-samples"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_one_sentence(upto, tmp_path, files, arguments, code, words):
    (tmp_path / "short.csv").write_text("x\n1\n2\n")
    (tmp_path / "runs.toml").write_text('[[run]]\npath = "z.npy"\n[[run]]\npath = "z.npy"\n')
    result = upto("factors", *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
