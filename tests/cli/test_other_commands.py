import json
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
from click import Context

from upto.cli.main import main
from upto.core import RULES
from upto.core.extras import EXTRAS
from upto.questions.inspect.result import InspectResult

FAST = ("--no-ica", "--refits", "1", "--no-progress")


@pytest.mark.parametrize("command", main.list_commands(Context(main)))
def test_every_command_has_help_with_its_exit_codes(upto, command):
    result = upto(command, "-h")
    assert result.exit_code == 0
    assert "130 interrupted" in result.output


@pytest.mark.parametrize("command", main.list_commands(Context(main)))
def test_every_option_says_what_it_does(command):
    for param in main.get_command(None, command).params:
        if param.param_type_name == "option" and param.name != "help":
            assert param.help, f"{command} {param.opts}"


def test_an_unknown_command_is_wrong_usage(upto):
    assert upto("juxtapose").exit_code == 2


def test_inspect_tells_shape_rank_and_columns(upto, tmp_path, rng):
    rows = rng.laplace(size=(2000, 3)) @ rng.normal(size=(3, 5))
    np.savez(tmp_path / "run.npz", z=rows, plate=np.array(["p"] * 2000))
    result = upto("inspect", "run.npz::z", "--format", "json", "--no-progress")
    found = InspectResult.from_json(result.stdout)
    assert (found.run.n_samples, found.run.n_features, found.run.rank) == (2000, 5, 3)
    assert found.columns == ("plate",)
    assert len(found.nongaussianity) == 3
    assert "UP002" in result.stderr
    np.testing.assert_allclose(sum(found.spectrum), 1.0)


def test_inspect_shows_a_table(upto, pair):
    result = upto("inspect", pair[0], "-v", "--no-progress")
    assert result.exit_code == 0
    assert "effective dimension" in result.stdout
    assert "Variance of the leading principal directions" in result.stdout


def test_explain_lists_every_finding(upto):
    assert [line.split()[0] for line in upto("explain").stdout.splitlines()] == list(RULES)


@pytest.mark.parametrize("code", RULES)
def test_explain_says_what_to_do(upto, code):
    result = upto("explain", code.lower())
    assert result.exit_code == 0
    assert RULES[code].title in result.stdout
    assert "What to do" in result.stdout


def test_explain_suggests_a_code(upto):
    result = upto("explain", "UP03")
    assert result.exit_code == 3
    assert "Did you mean UP" in result.stderr


def test_report_joins_results(upto, tmp_path, pair):
    upto("compare", *pair, *FAST, "-o", "ab.json")
    upto("compare", *pair[::-1], *FAST, "-o", "ba.json")
    upto("inspect", pair[0], "--no-progress", "-o", "a.json")
    result = upto("report", "ab.json", "ba.json", "a.json", "-o", "page.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    assert "first → second" in page
    assert "second → first" in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "not a result of upto"),
        (b"[1]", "not a result of upto"),
        (b'{"kind": "compare", "schema": 99}', "schema 99"),
        (b'{"kind": "compare", "schema": 2}', "damaged"),
        (b"\xff\xfe", "not a result of upto"),
    ],
)
def test_report_refuses_what_is_not_a_result(upto, tmp_path, content, words):
    (tmp_path / "x.json").write_bytes(content)
    result = upto("report", "x.json", "-o", "page.html")
    assert result.exit_code == 3
    assert words in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_report_refuses_a_missing_file(upto):
    result = upto("report", "x.json")
    assert result.exit_code == 3
    assert "x.json cannot be read" in result.stderr


def test_doctor_names_every_extra(upto):
    result = upto("doctor")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for extra, (packages, purpose) in EXTRAS.items():
        (line,) = [each for each in lines if each.split()[:1] == [extra]]
        assert purpose in line
        assert all(package in line for package in packages) or "pip install" in line
    assert any("jinja2" in line for line in lines)
    assert any("openblas" in line for line in lines)


def test_doctor_takes_harmony_from_either_package(upto, monkeypatch):
    version = metadata.version

    def with_harmonypy(name):
        if name == "scanpy":
            raise metadata.PackageNotFoundError(name)
        return "0.0.10" if name == "harmonypy" else version(name)

    monkeypatch.setattr(metadata, "version", with_harmonypy)
    assert "harmonypy 0.0.10\n" in upto("doctor").stdout


@pytest.mark.parametrize(("python", "is_advised"), [((3, 11, 9), False), ((3, 12, 0), True)])
def test_doctor_advises_no_extra_that_this_python_cannot_have(
    upto, python, is_advised, monkeypatch
):
    version = metadata.version

    def without_scanpy(name):
        if name == "scanpy":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_scanpy)
    monkeypatch.setattr("upto.core.errors.sys", SimpleNamespace(version_info=python))
    (line,) = [each for each in upto("doctor").stdout.splitlines() if "scanpy" in each]
    assert ("pip install 'upto[harmony]'" in line) == is_advised
    assert ("needs Python 3.12 or later" in line) != is_advised


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(upto, shell):
    assert "_UPTO_COMPLETE" in upto("completion", shell).stdout


@pytest.mark.slow
def test_the_demo_tells_the_story_and_writes_the_page(upto, tmp_path):
    result = upto("demo", "-o", "story.html")
    assert result.exit_code == 0, result.output
    assert "1. Two networks that learned the same task" in result.stdout
    words = " ".join(result.stdout.split())
    assert "Partly the same representation: the runs agree on 12 of 64 directions" in words
    assert "Predicting the mean leaves 35.5% and a map fitted to permuted rows 36.7%" in words
    assert (
        "ICA, fitted to each network separately, removes 40% of the error that the rotation removes"
        in words
    )
    assert (tmp_path / "story.html").stat().st_size > 100_000


def test_the_module_runs_as_a_program():
    result = subprocess.run(
        [sys.executable, "-m", "upto", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("upto ")


def test_a_closed_pipe_is_not_an_error(tmp_path, pair):
    command = f"{sys.executable} -m upto compare {pair[0]} {pair[1]} -v -q --no-ica | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


def test_the_same_seed_gives_the_same_json_but_for_the_seconds(upto, pair):
    first, second = (
        json.loads(upto("compare", *pair, "--no-progress", "--format", "json").stdout)
        for _ in range(2)
    )
    for each in (first, second):
        del each["provenance"]["seconds"]
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ("compare", "a.npy", "a.npy", "--format", "csv", "-o", "x.json"),
            2,
            "x.json is a file of",
        ),
        (("compare", "a.npy", "a.npy", "--figure-columns", "2"), 2, "pass --figure too"),
        (("demo", "-o", "x.txt"), 3, "x.txt does not end in .html"),
        (("inspect", "dangling.npy"), 3, "dangling.npy is a link to nothing, which does not exist"),
    ],
)
def test_contradictions_are_refused_before_any_work(upto, tmp_path, arguments, code, sentence):
    np.save(tmp_path / "a.npy", np.eye(4))
    (tmp_path / "dangling.npy").symlink_to("nothing")
    result = upto(*arguments)
    assert (result.exit_code, sorted(tmp_path.iterdir())) == (
        code,
        [tmp_path / "a.npy", tmp_path / "dangling.npy"],
    )
    assert sentence in result.stderr
