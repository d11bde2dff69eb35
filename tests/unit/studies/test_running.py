import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from upto.core import Column, Estimate, InputError, Marks, Panel, Span, StudyResult, Table
from upto_studies import STUDIES, Outcome
from upto_studies import run as running
from upto_studies.run import (
    SIZES,
    recorded_result,
    run_study,
    study_folder,
    study_plan,
    study_readme,
    unrecorded_reason,
)

FIGURES = Path(__file__).parents[3] / "docs" / "studies"

PLAN = """
title = "Coins"
claim = "coins are fair"
paper = "none"
[settings]
n_throws = 1000 # how many
bias = 0.5 # of one side
words = ["head", "tail"]
[tiny]
n_throws = 10
"""
EXPECTED = [
    {
        "name": "share",
        "says": "The share of one side",
        "claimed": {"low": 0.45, "high": 0.55},
        "expected": {"low": 0.3, "high": 0.7},
        "fixed": "before any run",
        "reference": 0.5,
    },
    {
        "name": "lost",
        "says": "Coins lost",
        "expected": {"high": 0.0},
        "fixed": "after a pilot",
    },
    {"name": "full", "says": "Only in full", "sizes": ["full"]},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    n_throws: int
    bias: float
    words: list[str]


@pytest.fixture
def coins(tmp_path, monkeypatch):
    module = ModuleType("coins_study")
    seen = {}

    def run(settings, work):
        seen["settings"], seen["work"] = settings, work
        if seen.get("keeps", True):
            (work.folder / "half").write_text("done")
        if seen.get("interrupt"):
            raise KeyboardInterrupt
        return Outcome(
            measured={"share": Estimate(value=settings.bias, low=0.4, high=0.6)},
            says="as they should be",
            tables=(Table(title="t", columns=(Column(name="a"),), rows=((1.0,),)),),
            panels=(Panel(title="p", x="x", y="y", marks=(Marks(name="m", x=(1.0,), y=(2.0,)),)),),
        )

    module.Settings, module.run = Settings, run
    monkeypatch.setitem(sys.modules, "coins_study", module)
    monkeypatch.setitem(STUDIES, "coins", "coins_study")
    folder = tmp_path / "coins"
    folder.mkdir()
    (folder / "study.toml").write_text(PLAN)
    (folder / "expected.json").write_text(json.dumps(EXPECTED))
    real = running.study_folder
    monkeypatch.setattr(
        running, "study_folder", lambda name: folder if name == "coins" else real(name)
    )
    return seen


def test_a_size_changes_some_settings_and_the_caller_others(coins):
    plan = study_plan("coins", size="tiny", settings={"bias": 0.3})
    assert plan.settings == {"n_throws": 10, "bias": 0.3, "words": ["head", "tail"]}
    assert study_plan("coins").settings["n_throws"] == 1000


def test_claims_of_the_paper_and_expectations_of_ours_are_judged_apart(coins):
    result = run_study("coins", size="tiny")
    assert [(each.name, each.bears_out, each.meets) for each in result.quantities] == [
        ("share", "open", "yes"),
        ("lost", None, "no"),
    ]
    assert result.verdict == (
        "Coins, tiny size: as they should be (the paper's claims borne out: 0 of 1, 1 open; "
        "our expectations met: 1 of 2)"
    )
    assert (result.claims.before, result.expectations.before) == (1, 1)
    assert result.missed == ("lost",)
    assert run_study("coins", settings={"bias": 0.6}).missed == ("lost",)
    assert run_study("coins", settings={"bias": 0.8}).missed == ("share", "lost")
    whole = run_study("coins", size="full")
    assert [each.name for each in whole.quantities] == ["share", "lost", "full"]


@pytest.mark.parametrize(
    ("low", "value", "high", "judgement"),
    [
        (0.1, 0.2, 0.3, "yes"),
        (None, 0.2, None, "yes"),
        (-0.1, 0.2, 0.3, "open"),
        (-0.3, -0.1, 0.3, "open"),
        (-0.3, -0.2, -0.1, "no"),
        (None, -0.2, None, "no"),
    ],
)
def test_a_range_is_open_where_only_a_part_of_the_interval_lies_in_it(low, value, high, judgement):
    measured = Estimate(value=value, low=low, high=high)
    assert Span(low=0.0).judge(measured) == judgement
    mirrored = Estimate(
        value=-value, low=None if high is None else -high, high=None if low is None else -low
    )
    assert Span(high=0.0).judge(mirrored) == judgement


def test_what_was_not_measured_lies_in_no_range():
    assert Span(low=0.0).judge(None) == "no"


def test_the_provenance_is_the_command_that_makes_the_result_again(coins):
    result = run_study("coins", size="tiny", settings={"bias": 0.7, "words": ["a"]}, seed=3)
    assert result.provenance.call == (
        'upto study run coins --size tiny --set bias=0.7 --set words=["a"] --seed 3'
    )


def test_a_result_survives_json(coins):
    result = run_study("coins")
    assert StudyResult.from_json(result.to_json()) == result


def test_an_unknown_study_setting_or_size_is_refused_with_the_next_best_name(coins):
    with pytest.raises(InputError, match=r"no study 'coin': did you mean coins\?"):
        study_folder("coin")
    with pytest.raises(InputError, match=r"no setting 'n_throw': did you mean n_throws\?"):
        run_study("coins", settings={"n_throw": 3})
    with pytest.raises(InputError, match="sizes tiny, small, full, not 'huge'"):
        run_study("coins", size="huge")
    with pytest.raises(
        InputError, match=r"the setting n_throws of coins is invalid: Expected `int`, got `str`"
    ):
        run_study("coins", settings={"n_throws": "many"})


def test_checkpoints_stay_when_a_study_is_interrupted_and_go_when_it_is_done(coins, tmp_path):
    coins["interrupt"] = True
    with pytest.raises(KeyboardInterrupt):
        run_study("coins", folder=tmp_path / "out")
    kept = tmp_path / "out" / "checkpoints"
    assert (kept / "half").is_file()
    coins["interrupt"] = False
    run_study("coins", folder=tmp_path / "out", resume=True)
    assert coins["work"].resume
    assert not kept.exists()


def test_checkpoints_of_another_run_are_not_resumed(coins, tmp_path):
    coins["interrupt"] = True
    with pytest.raises(KeyboardInterrupt):
        run_study("coins", folder=tmp_path)
    with pytest.raises(InputError, match=r"another seed, bias: give the same .*, or --restart"):
        run_study("coins", folder=tmp_path, resume=True, seed=1, settings={"bias": 0.1})
    with pytest.raises(InputError, match="no interrupted run to resume"):
        run_study("coins", folder=tmp_path / "elsewhere", resume=True)
    with pytest.raises(InputError, match="resuming a study needs a folder"):
        run_study("coins", resume=True)


def test_the_seconds_of_a_resumed_run_are_those_of_all_its_parts(coins, tmp_path, monkeypatch):
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    coins["interrupt"] = True
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt):
            run_study("coins", folder=tmp_path, resume=resume)
    coins["interrupt"] = False
    whole = run_study("coins", folder=tmp_path, resume=True).provenance.seconds
    alone = run_study("coins", folder=tmp_path).provenance.seconds
    assert whole == alone + 200


def test_an_interrupted_run_is_thrown_away_only_if_asked(coins, tmp_path):
    coins["interrupt"] = True
    with pytest.raises(KeyboardInterrupt):
        run_study("coins", folder=tmp_path)
    kept = tmp_path / "checkpoints" / "half"
    coins["interrupt"] = False
    with pytest.raises(InputError, match="contains an interrupted run: pass --resume"):
        run_study("coins", folder=tmp_path)
    assert kept.is_file()
    (tmp_path / "checkpoints" / "stale").write_text("")
    run_study("coins", folder=tmp_path, restart=True)
    assert not coins["work"].folder.joinpath("stale").exists()


def test_a_run_that_kept_nothing_leaves_nothing(coins, tmp_path):
    coins["interrupt"], coins["keeps"] = True, False
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    for name in ("new", "full"):
        with pytest.raises(KeyboardInterrupt):
            run_study("coins", folder=tmp_path / name)
    assert not (tmp_path / "new").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_a_folder_of_data_that_is_not_there_is_refused(coins, tmp_path):
    with pytest.raises(InputError, match="nowhere is not a folder"):
        run_study("coins", data=tmp_path / "nowhere")


def test_a_study_without_a_recorded_run_says_why_in_its_readme(coins, tmp_path):
    readme = tmp_path / "coins" / "README.md"
    readme.write_text("# Coins\n\n**Test.** One.\n")
    assert recorded_result("coins") is None
    assert unrecorded_reason("coins") is None
    readme.write_text("# Coins\n\n**Not run.** Nobody\nhas a coin.\n\nMore.\n")
    assert unrecorded_reason("coins") == "Nobody has a coin."


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_all_its_parts(name):
    folder = study_folder(name)
    plans = [study_plan(name, size=size) for size in SIZES]
    assert all(plan.title and plan.claim and plan.paper for plan in plans)
    assert f"upto study run {name}" in study_readme(name)
    expected = json.loads((folder / "expected.json").read_text())
    assert expected
    assert all(set(each.get("sizes", SIZES)) <= set(SIZES) for each in expected)
    for each in expected:
        spans = [each[key] for key in ("claimed", "expected") if key in each]
        assert bool(spans) == ("fixed" in each), "a range says when it was fixed"
        assert all(span.keys() & {"low", "high"} for span in spans)
    module = __import__(STUDIES[name], fromlist=["run"])
    for plan in plans:
        running._settings(plan, module.Settings)


def _ranges_of(each):
    spans = (Span(**each[key]) if key in each else None for key in ("claimed", "expected"))
    return *spans, each.get("fixed")


@pytest.mark.parametrize("name", STUDIES)
def test_the_recorded_run_is_of_the_full_size_with_the_settings_of_today(name):
    result = recorded_result(name)
    if result is None:
        said = "run the study in full and keep its result.json, and its figure beside the docs"
        assert unrecorded_reason(name), f"{said}, or let its README say why it was not run"
        return
    assert unrecorded_reason(name) is None
    plan = study_plan(name, size="full")
    assert (result.size, result.settings) == ("full", plan.settings)
    expected = json.loads((study_folder(name) / "expected.json").read_text())
    wanted = [
        (each["name"], *_ranges_of(each)) for each in expected if "full" in each.get("sizes", SIZES)
    ]
    found = [(each.name, each.claimed, each.expected, each.fixed) for each in result.quantities]
    assert found == wanted
    assert (FIGURES / f"{name}.svg").is_file()
