import csv
import io
import json

import numpy as np
import pytest

from upto import SimilarityResult
from upto.measures.catalogue import DEFAULT_MEASURES, MEASURES

FAST = ("--permutations", "19", "--half-samples", "10", "--measure", "linear-cka", "--no-progress")


@pytest.fixture
def noise(tmp_path, rng):
    np.save(tmp_path / "noise.npy", rng.normal(size=(300, 3)))
    return tmp_path / "noise.npy"


def test_a_rotated_run_is_closer_than_chance(upto, pair):
    result = upto("similarity", *pair, *FAST)
    assert result.exit_code == 0
    assert result.stdout.startswith("first and second are closer than chance by linear CKA: 1.00")
    assert "300 of 300 rows; chance from 19 random pairings" in result.stdout


def test_without_a_name_the_default_measures_are_taken(upto, pair):
    result = upto("similarity", *pair, *FAST[:4], "--format", "json")
    found = SimilarityResult.from_json(result.stdout)
    assert [each.name for each in found.measures] == [
        MEASURES[name].name for name in DEFAULT_MEASURES
    ]


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".txt"])
def test_the_suffix_of_the_output_chooses_the_format(upto, tmp_path, pair, noise, suffix):
    result = upto("similarity", *pair, noise, *FAST, "-o", f"out{suffix}")
    assert result.exit_code == 0
    assert result.stdout == ""
    text = (tmp_path / f"out{suffix}").read_text()
    if suffix == ".json":
        assert len(SimilarityResult.from_json(text).rows) == 3
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 3
        assert {"first", "second", "measure", "value", "value low", "adjusted p"} <= set(rows[0])
    else:
        assert "linear CKA" in text
        assert "closer than chance" in text


def test_the_options_reach_the_question(upto, tmp_path, pair, rng):
    batches = np.arange(300) % 3
    for path in pair:
        np.savez(path.with_suffix(".npz"), rows=np.load(path), batch=batches)
    first, second = (path.with_suffix(".npz") for path in pair)
    result = upto(
        "similarity", f"{first}::rows", f"{second}::rows", *FAST, "--within", "batch",
        "--max-rows", "100", "--held-out", "0", "--seed", "3", "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    found = SimilarityResult.from_json(result.stdout)
    assert (found.within, found.n_used, found.n_held_out) == ("batch", 100, 0)
    assert (found.n_pairings, found.provenance.seed) == (19, 3)
    assert "UP024" in result.stderr


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_the_measures_are_listed_in_every_format(upto, form):
    result = upto("similarity", "--list", "--format", form)
    assert result.exit_code == 0
    for measure in MEASURES.values():
        assert measure.name in result.stdout
    if form == "json":
        first = json.loads(result.stdout)[0]
        assert {"measure", "range", "closer", "unchanged by", "symmetric", "source"} <= set(first)


def test_the_list_of_measures_goes_to_a_file(upto, tmp_path):
    assert upto("similarity", "--list", "-o", "measures.csv").exit_code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "measures.csv").read_text())))
    assert [row["measure"] for row in rows] == [each.name for each in MEASURES.values()]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Missing argument 'RUN…'"),
        (("first.npy",), 3, "a similarity needs two or more runs, not 1"),
        (("first.npy", "second.npy", "--measure", "magic"), 3, "there is no measure 'magic'"),
        (("first.npy", "second.npy", "--within", "batch"), 3, "no run has a column 'batch'"),
        (("first.npy", "second.npy", "--permutations", "3"), 2, "--permutations"),
        (("first.npy", "second.npy", "--held-out", "1"), 2, "--held-out"),
        (("first.npy", "second.npy", "-o", "first.npy"), 3, "does not determine a format"),
        (("first.npy", "second.npy", "--report", "no/r.html"), 3, "does not exist: make it first"),
        (("first.npy", "absent.npy"), 3, "absent.npy"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_exit_code(upto, pair, arguments, code, words):
    result = upto("similarity", *arguments)
    assert result.exit_code == code
    assert words in result.stderr


def test_strict_turns_chance_into_an_exit_code(upto, pair, noise):
    result = upto("similarity", pair[0], noise, *FAST, "--strict")
    assert result.exit_code == 1
    assert "UP025 similarity within chance" in result.stderr
    assert upto("similarity", *pair, *FAST, "--strict").exit_code == 0


def test_the_page_is_written(upto, tmp_path, pair):
    result = upto("similarity", *pair, *FAST, "--report", "page.html")
    assert result.exit_code == 0
    assert "are closer than chance by linear CKA" in (tmp_path / "page.html").read_text()


def test_the_result_is_reported_later(upto, tmp_path, pair):
    assert upto("similarity", *pair, *FAST, "-o", "result.json").exit_code == 0
    assert upto("report", "result.json", "-o", "page.html").exit_code == 0
    assert "are closer than chance by linear CKA" in (tmp_path / "page.html").read_text()


def test_the_shell_completes_the_names_of_measures(upto):
    words = {"COMP_WORDS": "upto similarity --measure linear-", "COMP_CWORD": "3"}
    result = upto(env={"_UPTO_COMPLETE": "bash_complete", **words}, prog_name="upto")
    assert "plain,linear-cka\n" in result.stdout
    assert "mutual" not in result.stdout
