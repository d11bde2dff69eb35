from functools import cache
from pathlib import Path

import msgspec
import pytest

from upto import StudyResult
from upto.core import SilentProgress, Span
from upto_studies import STUDIES, Work, misspecified_regression
from upto_studies.run import study_plan

TINY = ("--size", "tiny", "--no-progress")
REAL = misspecified_regression.run


@cache
def found(settings, seed):
    work = Work(
        seed=seed, device="cpu", folder=Path(), resume=False, data=None, progress=SilentProgress()
    )
    return REAL(msgspec.convert(dict(settings), misspecified_regression.Settings), work)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Let the study compute once for all tests of this file."""
    plan = study_plan("misspecified-regression", size="tiny")
    key = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in plan.settings.items())
    monkeypatch.setattr(misspecified_regression, "run", lambda settings, work: found(key, 0))


def test_every_study_is_listed_with_its_claim(upto):
    result = upto("study", "list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in STUDIES)


def test_a_study_is_shown_with_what_its_recorded_run_found(upto):
    result = upto("study", "show", "misspecified-regression")
    assert result.exit_code == 0
    assert "upto study run misspecified-regression" in result.stdout
    assert "claims borne out" in result.stdout
    recorded = upto("study", "show", "misspecified-regression", "--format", "json")
    assert StudyResult.from_json(recorded.stdout).size == "full"


def test_a_run_leaves_result_figure_and_page_and_no_checkpoints(upto, tmp_path):
    result = upto("study", "run", "misspecified-regression", *TINY)
    assert result.exit_code == 0
    folder = tmp_path / "misspecified-regression-tiny"
    assert sorted(path.name for path in folder.iterdir()) == [
        "figure.svg",
        "report.html",
        "result.json",
    ]
    found = StudyResult.from_json((folder / "result.json").read_bytes())
    assert found.verdict.split(":")[0] in result.stdout
    assert upto("report", folder / "result.json", "-o", "again.html").exit_code == 0


def test_settings_are_changed_and_wrong_ones_refused(upto, tmp_path):
    wrong = upto("study", "run", "misspecified-regression", *TINY, "--set", "n_rowz=3")
    assert wrong.exit_code == 3
    assert "has no setting 'n_rowz'" in wrong.stderr
    assert not list(tmp_path.glob("misspecified*"))
    assert upto("study", "run", "nothing").exit_code == 3
    assert upto("study", "run", "misspecified-regression", "--set", "n_rows").exit_code == 2


def test_a_claim_that_fails_fails_with_strict_only(upto, tmp_path, monkeypatch):
    from upto_studies import run as running

    real = running._quantities

    def impossible(name, size, outcome):
        (first, *others) = real(name, size, outcome)
        never = type(first)(name="never", says="Never", measured=None, claimed=Span(low=1.0))
        return (never, *others)

    monkeypatch.setattr(running, "_quantities", impossible)
    assert upto("study", "run", "misspecified-regression", *TINY).exit_code == 0
    strict = upto("study", "run", "misspecified-regression", *TINY, "--strict")
    assert strict.exit_code == 1
    assert "outside their ranges: never." in strict.stderr


def test_an_interrupt_says_how_to_go_on(upto, tmp_path, monkeypatch):
    def interrupted(settings, work):
        if kept:
            (work.folder / "half").write_text("done")
        raise KeyboardInterrupt

    kept = False
    monkeypatch.setattr(misspecified_regression, "run", interrupted)
    nothing = upto("study", "run", "misspecified-regression", *TINY)
    assert nothing.exit_code == 130
    assert "interrupted; nothing was left half written" in nothing.stderr
    kept = True
    something = upto("study", "run", "misspecified-regression", *TINY)
    assert something.exit_code == 130
    assert "--resume continues" in something.stderr
    again = upto("study", "run", "misspecified-regression", *TINY)
    assert again.exit_code == 3
    assert "--restart" in again.stderr
    other = upto("study", "run", "misspecified-regression", *TINY, "--resume", "--seed", "1")
    assert other.exit_code == 3
    assert "belongs to a run with another seed" in other.stderr
    assert "continues from there" not in other.stderr
    monkeypatch.setattr(misspecified_regression, "run", REAL)
    assert upto("study", "run", "misspecified-regression", *TINY, "--resume").exit_code == 0


@pytest.mark.slow
def test_the_result_of_other_settings_is_written_over_only_if_asked(upto):
    assert upto("study", "run", "misspecified-regression", *TINY).exit_code == 0
    other = ("study", "run", "misspecified-regression", *TINY, "--seed", "1")
    refused = upto(*other)
    assert refused.exit_code == 3
    assert "contains a result of another study, seed or settings" in refused.stderr
    assert upto(*other, "--restart").exit_code == 0


def test_a_device_or_folder_that_cannot_be_is_refused(upto):
    for options, code in ((("--device", "nonsense"), 2), (("--data", "nowhere"), 3)):
        assert upto("study", "run", "misspecified-regression", *TINY, *options).exit_code == code


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_runs_in_its_smallest_size_and_its_claims_hold(upto, name, monkeypatch):
    monkeypatch.setattr(misspecified_regression, "run", REAL)
    result = upto("study", "run", name, *TINY, "--strict")
    assert result.exit_code == 0, result.stderr
