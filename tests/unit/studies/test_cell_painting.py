"""Cell Painting profiles are read as published, and the study runs on a screen of their layout."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.cell_painting import Settings, ask, give_sham
from upto_studies.cell_painting_data import (
    BATCHES,
    FILE,
    RESISTANT,
    UNTREATED,
    WILD,
    draw_profiles,
    join_tables,
    read_gct,
    read_profiles,
)
from upto_studies.held_out_data import find_file
from upto_studies.run import run_study, study_plan

ABOUT = ("Plate", "Well", "batch", "clone_number", "treatment")


def write_gct(path, about, values):
    n_columns = len(about["Plate"])
    lines = [
        "#1.3",
        f"{len(values)}\t{n_columns}\t1\t{len(about)}",
        "\t".join(["id", "cp_feature_name", *(f"SAMPLE_{n}" for n in range(n_columns))]),
        *("\t".join([name, "nan", *map(str, about[name])]) for name in about),
        *(
            "\t".join([f"ID_{n}", name, *map(str, each)])
            for n, (name, each) in enumerate(values.items())
        ),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def about(batch, n=3):
    return {
        "Plate": [f"{batch}-p"] * n,
        "Well": [f"B{k:02}" for k in range(n)],
        "batch": [batch] * n,
        "clone_number": ["WT_parental", "WT clone 01", "BZ001"][:n],
        "treatment": [UNTREATED] * n,
    }


def test_a_gct_table_is_read_by_feature(tmp_path):
    write_gct(tmp_path / "a.gct", about("x"), {"f": [1, 2, 3.5], "g": [4, 5, 6]})
    table = read_gct(tmp_path / "a.gct")
    assert table.values["f"].tolist() == [1.0, 2.0, 3.5]
    assert table.about["clone_number"].tolist() == ["WT_parental", "WT clone 01", "BZ001"]


def test_a_table_that_is_cut_or_none_is_refused(tmp_path):
    path = tmp_path / "a.gct"
    write_gct(path, about("x"), {"f": [1, 2, 3], "g": [4, 5, 6]})
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]))
    with pytest.raises(InputError, match="declares 7 rows of 5 cells but has 6"):
        read_gct(path)
    path.write_text("id,f\n1,2\n")
    with pytest.raises(InputError, match=r"does not start with #1\.3"):
        read_gct(path)


def test_tables_keep_the_features_that_all_have_in_the_order_of_the_first(tmp_path):
    write_gct(tmp_path / "a.gct", about("x"), {"f": [1, 2, 3], "g": [4, 5, 6], "h": [7, 8, 9]})
    write_gct(tmp_path / "b.gct", about("y"), {"h": [1, 1, 1], "f": [0, 0, 0]})
    joined = join_tables([read_gct(tmp_path / name) for name in ("a.gct", "b.gct")])
    assert joined.rows.tolist() == [[1, 7], [2, 8], [3, 9], [0, 1], [0, 1], [0, 1]]
    assert joined.batch.tolist() == ["x"] * 3 + ["y"] * 3
    assert joined.embeddings().columns["clone"].tolist() == [WILD, WILD, RESISTANT] * 2


def test_profiles_are_read_from_a_clone_of_the_published_repository(tmp_path):
    for number, batch in enumerate(BATCHES):
        path = tmp_path / f"2.describe-data/data/gct_files/{batch}/{batch}_feature_select.gct"
        write_gct(path, about(batch), {"f": [number] * 3})
    profiles = read_profiles(tmp_path)
    assert profiles.rows[:, 0].tolist() == np.repeat(np.arange(7.0), 3).tolist()
    path.unlink()
    with pytest.raises(InputError, match=rf"lacks 1 of 7 tables, e.g. {BATCHES[-1]}"):
        read_profiles(tmp_path)


def test_a_drawn_screen_has_the_traps_of_the_real_layout():
    profiles = draw_profiles(n_wells=20, n_features=8, seed=0)
    columns = profiles.embeddings().columns
    for well in np.unique(columns["well"]):
        assert len(np.unique(columns["clone"][columns["well"] == well])) == 1
    dosed = columns["treatment"] != UNTREATED
    for plate in np.unique(columns["plate"]):
        assert len(np.unique(columns["treatment"][dosed & (columns["plate"] == plate)])) <= 1
    assert len(np.unique(columns["batch"])) == 7
    assert len(np.unique(columns["plate"])) == 28
    # As on the real plates: what is not treated on a dosed plate are parental cells only.
    plates = np.unique(columns["plate"][dosed])
    others = np.isin(columns["plate"], plates) & ~dosed
    assert set(profiles.clone[others].tolist()) == {"WT_parental"}


def test_questions_are_about_their_own_wells():
    profiles = draw_profiles(n_wells=20, n_features=8, seed=0)
    plan = study_plan("cell-painting", size="full").settings
    asked = ask(profiles, Settings(**plan))
    assert len(asked) == 10
    assert set(asked["untreated by plate"].run.columns["treatment"]) == {UNTREATED}
    assert set(asked["parental by batch"].run.columns["clone"]) == {WILD}
    assert (asked["clone by batch"].fold_by, asked["clone by batch"].folds) == ("batch", 7)
    assert asked["clone by plate"].run.n_samples == len(profiles.plate)


def test_a_sham_dose_is_given_to_untreated_wells_only_and_laid_out_like_a_dose():
    profiles = draw_profiles(n_wells=20, n_features=8, seed=0)
    sham = give_sham(profiles).treatment == "sham"
    assert set(profiles.treatment[sham].tolist()) == {UNTREATED}
    dosed = profiles.treatment != UNTREATED
    assert set(profiles.well[sham]) == set(profiles.well[dosed])
    assert len(np.unique(profiles.plate[sham])) == 4
    others = np.isin(profiles.plate, profiles.plate[sham]) & ~sham
    assert set(profiles.clone[others].tolist()) == {"WT_parental"}


def test_the_main_question_cannot_be_left_out():
    with pytest.raises(InputError, match="the questions lack clone by plate"):
        run_study("cell-painting", size="tiny", settings={"questions": ["dose"]})


@pytest.mark.slow
def test_the_tiny_study_bears_out_what_it_claims():
    result = run_study("cell-painting", size="tiny")
    assert result.missed == ()
    assert sum(each.fixed is not None for each in result.quantities) == 4
    assert {finding.code for finding in result.findings} >= {"UP071", "UP072"}


@pytest.mark.slow
def test_the_published_profiles_are_scaled_by_plate():
    folder = Path(os.environ.get("UPTO_DATA", "nowhere"))
    if find_file(folder, FILE) is None:
        pytest.skip("UPTO_DATA names no folder with the profiles")
    profiles = read_profiles(folder)
    assert profiles.rows.shape == (1680, 102)
    for plate in np.unique(profiles.plate):
        own = profiles.rows[profiles.plate == plate].astype(float)
        assert np.abs(own.mean(axis=0)).max() < 1e-5
        assert np.abs(own.std(axis=0) - 1).max() < 1e-5
