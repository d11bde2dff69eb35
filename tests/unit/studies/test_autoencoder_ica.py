"""The study of autoencoders and ICA: what it trains, how it chooses, what it reports."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from upto.core import SilentProgress
from upto_studies import Work, autoencoder_ica
from upto_studies.autoencoder_ica import Settings, planned_members, trained
from upto_studies.autoencoder_scores import Candidate, Row, Scorer, Scores, chosen
from upto_studies.autoencoder_tables import gain, outcome_of, seed_mean
from upto_studies.image_runs import Encoded, look_steps
from upto_studies.pretrained_vaes import pretrained_files, pretrained_latents
from upto_studies.run import run_study, study_plan


def settings(size: str = "tiny", **changes: object) -> Settings:
    plan = study_plan("autoencoder-ica", size=size, settings=changes)
    return msgspec.convert(plan.settings, Settings)


def work(folder, **changes: object) -> Work:
    values = {
        "seed": 0,
        "device": "cpu",
        "folder": folder,
        "resume": True,
        "data": None,
        "progress": SilentProgress(),
    }
    return Work(**(values | changes))


def scores(modularity: float | None = 0.5, **changes: float | None) -> Scores:
    names = (
        "explicitness",
        "compactness",
        "chance_modularity",
        "chance_compactness",
        "adjusted_modularity",
        "adjusted_compactness",
        "psnr",
    )
    return Scores(modularity=modularity, **(dict.fromkeys(names, 0.1) | changes))


def row(form: str | None, values: list[float], model: str = "ae", **changes: object) -> Row:
    kinds = {"images": "room", "choice": "by InfoM" if form else None}
    return Row(
        **(kinds | changes),
        model=model,
        form=form,
        weight_decay=0.1,
        step=10,
        seeds=tuple(
            scores(each, adjusted_modularity=each, chance_modularity=0.2) for each in values
        ),
    )


def test_every_model_of_every_set_is_trained_from_every_seed():
    members = planned_members(settings("full"), 0)
    assert len(members) == len(set(members)) == 3 * (3 + 7) * 3
    room = [each.model for each in members if each.images == "room"]
    assert {each.n_latents for each in room} == {12}
    assert {each.weight_decay for each in room if each.kind == "ae"} == {0.001, 0.1, 1.0}
    assert {each.strength for each in room if each.kind == "beta-tcvae"} == {3.0}


def test_looks_end_with_the_training():
    assert look_steps(4000, 3) == (1333, 2666, 4000)


def test_a_choice_is_made_among_those_that_reconstruct():
    def candidate(psnr: float, modularity: float, agreement: float) -> Candidate:
        return Candidate(
            weight_decay=psnr,
            look=0,
            step=1,
            psnr=psnr,
            modularity=modularity,
            agreement=agreement,
        )

    found = [candidate(20, 0.9, 0.9), candidate(28, 0.6, 0.2), candidate(30, 0.5, 0.3)]
    assert chosen(found, "by InfoM", 3.0).psnr == 28
    assert chosen(found, "by agreement", 3.0).psnr == 30
    assert chosen(found, "by InfoM", 10.0).psnr == 20
    assert chosen(found, "by InfoM", 0.0).psnr == 30


def test_a_mean_over_seeds_has_student_s_interval():
    found = seed_mean(np.array([1.0, 2.0, 3.0]))
    assert found.value == 2.0
    # The 97.5 % point of Student's distribution with two degrees of freedom.
    assert found.high - 2.0 == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert seed_mean(np.array([np.nan, 1.0])).low is None
    assert seed_mean(np.array([np.nan])) is None


def test_a_gain_is_paired_by_seed():
    rows = [row("as-given", [0.1, 0.5]), row("ica-active", [0.3, 0.7])]
    found = gain(rows, "room", "ica-active", "by InfoM", "modularity")
    assert found.value == pytest.approx(0.2)
    assert found.high - found.low == pytest.approx(0.0, abs=1e-9)


def test_what_is_measured_follows_from_the_rows():
    forms = {"as-given": [0.3, 0.4], "ica": [0.3, 0.4], "ica-literal": [0.2, 0.3]}
    forms["ica-active"] = [0.6, 0.8]
    rows = [row(form, values) for form, values in forms.items()]
    rows += [row(form, values, choice="by agreement") for form, values in forms.items()]
    rows += [row(None, [0.5, 0.5], model="qlae"), row(None, [0.9], model="public VAE")]
    encoded = [
        Encoded(
            member=planned_members(settings("full", sets=["room"]), 0)[0],
            steps=(1,),
            latents=np.zeros((1, 2, 12)),
            psnr=(25.0,),
            loss=(0.1,),
            rate=3.0,
            device="an abacus",
        )
    ]
    found = outcome_of(settings("full", sets=["room"]), (rows, {}), encoded)
    measured = found.measured
    assert measured["room: gain of adjusted InfoM by ICA, active"].value == pytest.approx(0.35)
    assert measured["room: gain of InfoM by ICA, literal"].value == pytest.approx(-0.1)
    assert measured["room: InfoM of the autoencoder over chance"].value == pytest.approx(0.15)
    # A public model is shown, and is not one of ours to be compared with.
    assert measured["room: ICA, active, over the best other model"].value == pytest.approx(0.2)
    assert measured["room: best reconstruction"].value == 25.0
    assert found.device == "an abacus"
    assert "by +0.35" in found.says
    paper = [cells[-1] for cells in found.tables[0].rows]
    assert paper[0] == ".34 .99 .16"
    assert paper[2] == ".79 .99 .52"


def test_the_modularity_of_a_choice_is_that_of_the_table():
    rng = np.random.default_rng(0)
    levels = rng.integers(4, size=(600, 3))
    latents = np.hstack([levels + 0.1 * rng.normal(size=levels.shape), rng.normal(size=(600, 2))])
    encoded = Encoded(
        member=planned_members(settings("full"), 0)[0],
        steps=(1,),
        latents=latents[None].astype(np.float32),
        psnr=(25.0,),
        loss=(0.1,),
        rate=3.0,
        device="",
    )
    scorer = Scorer(levels, 2, 0)
    full, _ = scorer.scores(encoded, "as-given", 0)
    assert scorer.modularity(encoded, "as-given", 0) == full.modularity
    assert full.adjusted_modularity > 0.95


def test_public_encoders_are_read_from_arrays(tmp_path):
    from upto_studies.scenes import dsprites_grid

    shapes = {
        "conv1": (32, 1, 4, 4),
        "conv2": (32, 32, 4, 4),
        "conv3": (32, 32, 4, 4),
        "conv_64": (32, 32, 4, 4),
        "lin1": (256, 512),
        "lin2": (256, 256),
        "mu_logvar_gen": (20, 256),
    }
    rng = np.random.default_rng(0)
    arrays = {f"encoder.{name}.weight": rng.normal(size=s) * 0.05 for name, s in shapes.items()}
    arrays |= {f"encoder.{name}.bias": np.zeros(s[0]) for name, s in shapes.items()}
    arrays["encoder.mu_logvar_gen.bias"] = np.arange(20.0)
    (tmp_path / "weights").mkdir()
    path = tmp_path / "weights" / "VAE_dsprites_fp16.npz"
    np.savez(path, **{name: array.astype(np.float16) for name, array in arrays.items()})
    assert pretrained_files(tmp_path) == {"VAE": path}
    assert pretrained_files(None) == {}
    latents = pretrained_latents(path, dsprites_grid().factors([0, 700_000]))
    assert latents.shape == (2, 10)
    # Means have the even places.
    assert np.allclose(latents.mean(axis=0), np.arange(0, 20, 2), atol=0.5)


@pytest.mark.slow
def test_a_run_that_goes_on_trains_nothing_again(tmp_path, monkeypatch):
    first = trained(settings(), work(tmp_path))
    monkeypatch.delattr("upto_studies.image_runs._train_group")
    again = trained(settings(), work(tmp_path))
    for one, other in zip(first, again, strict=True):
        assert one.member == other.member
        assert np.array_equal(one.latents, other.latents)
    with pytest.raises(Exception, match="_train_group"):
        trained(settings(), work(tmp_path, resume=False))


@pytest.mark.slow
def test_the_tiny_study_runs_from_images_to_claims():
    result = run_study("autoencoder-ica", size="tiny")
    assert {each.name for each in result.quantities} >= {"steps a second"}
    assert autoencoder_ica.__doc__
    assert len(result.details) == 4
    titles = [cells[0] for cells in result.details[0].rows]
    assert titles[0] == "AE, by InfoM"
    assert "QLAE" in titles
