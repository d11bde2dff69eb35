"""A user's own two models: folders of transformers, ResNet-18 weights and recorded rows."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from upto.core import InputError, read_tensors, write_tensors
from upto_studies import model_pairs, user_models
from upto_studies.run import run_study
from upto_studies.user_inputs import read_pictures, read_texts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

QUICK = {"context": 8, "n_inputs": 60}
WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "saw", "dogs", "run")


def save_language_model(folder, *, seed, words=WORDS):
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(("<unk>", *words))}
    tokeniser = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokeniser).save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=16,
        n_embd=8,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.GPT2Model(config).save_pretrained(folder, safe_serialization=True)
    return folder


@pytest.fixture
def texts(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [" ".join(rng.choice(WORDS, size=12)) for _ in range(60)]
    (folder / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def run_pair(tmp_path, first, second, data, *, folder="out", resume=False, **settings):
    return run_study(
        "model-pairs",
        size="tiny",
        settings={"own_models": [str(first), str(second)], **QUICK, **settings},
        folder=tmp_path / folder,
        resume=resume,
        data=data,
        progress=False,
    )


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_two_language_models_make_a_row_for_every_block(tmp_path, texts):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    result = run_pair(tmp_path, *models, texts)
    table = result.details[0]
    families = [row[0] for row in table.rows if row[2] == "held out"]
    assert families == ["h.0", "output"]
    assert "seed0 and seed1 of output differ" in result.verdict
    paper = [row for row in table.rows if "paper" in str(row[0])]
    assert len(paper) == 4
    # The study's claims are about other models.
    assert result.quantities == ()
    assert result.tables()[0] is table
    assert "borne out" not in result.verdict


def test_a_model_and_its_rotation_agree_up_to_a_rigid_motion(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.laplace(size=(400, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    # Names that could be taken for layers.
    names = (tmp_path / "mae_timm.npy", tmp_path / "mae_original.npy")
    for name, own in zip(names, (rows, rows @ turn), strict=True):
        np.save(name, own)
    table = run_pair(tmp_path, *names, tmp_path).details[0]
    held_out = next(row for row in table.rows if row[2] == "held out")
    permutation, rigid = held_out[3].value, held_out[4].value
    assert permutation > 0.1
    assert rigid < 1e-6


def test_resnets_are_read_from_safetensors(tmp_path):
    from upto_studies.train.vision.resnets import ResNet

    for seed in (0, 1):
        torch.manual_seed(seed)
        state = ResNet(width=4, n_classes=3).state_dict()
        arrays = {name: values.numpy() for name, values in state.items()}
        write_tensors(tmp_path / f"{seed}.safetensors", arrays, {})
    images = np.random.default_rng(0).integers(256, size=(60, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    result = run_pair(tmp_path, tmp_path / "0.safetensors", tmp_path / "1.safetensors", tmp_path)
    families = [row[0] for row in result.details[0].rows if row[2] == "held out"]
    assert families == ["layer1", "layer2", "layer3", "layer4", "output"]


class Pooled(torch.nn.Module):
    """A network as timm makes it: it says which images it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.pretrained_cfg = {
            "input_size": (3, 4, 4),
            "mean": (0.5, 0.25, 0.0),
            "std": (0.5, 0.25, 2.0),
        }
        self.blocks = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 2), torch.nn.Conv2d(6, 6, 2))
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return self.blocks(x).mean(dim=(2, 3))


def test_models_of_timm_say_which_images_they_take(tmp_path, monkeypatch):
    # timm itself needs torchvision, which is not made for every torch.
    models = []

    def create_model(name, **options):
        assert options["num_classes"] == 0
        torch.manual_seed(len(models))
        models.append(Pooled())
        return models[-1]

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"architecture": "vit"}))
        (tmp_path / name / "model.safetensors").write_bytes(b"")
    images = np.random.default_rng(0).integers(256, size=(60, 8, 8, 3), dtype=np.uint8)
    images[0] = (255, 0, 51)
    np.savez(tmp_path / "images.npz", images=images)
    result = run_pair(tmp_path, tmp_path / "a", tmp_path / "b", tmp_path)
    families = [row[0] for row in result.details[0].rows if row[2] == "held out"]
    assert families == ["blocks.0", "output"]
    seen = models[0].seen[0]
    assert seen.shape[1:] == (3, 4, 4)
    np.testing.assert_allclose(seen[0, :, 1, 1], [1.0, -1.0, 0.1], atol=1e-5)


@pytest.mark.slow
def test_masked_autoencoders_show_every_patch(tmp_path):
    config = transformers.ViTMAEConfig(
        image_size=8,
        patch_size=4,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
    )
    for seed in (0, 1):
        torch.manual_seed(seed)
        transformers.ViTMAEModel(config).save_pretrained(tmp_path / f"mae{seed}")
    images = np.random.default_rng(0).integers(256, size=(60, 16, 16, 3), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    found = [
        run_pair(tmp_path / name, tmp_path / "mae0", tmp_path / "mae1", tmp_path).details[1]
        for name in ("once", "again")
    ]
    errors = [[row[3] for row in table.rows] for table in found]
    # Hidden patches would be drawn anew each time.
    assert errors[0] == pytest.approx(errors[1], rel=1e-4)


def test_bad_models_are_refused_in_one_sentence(tmp_path, texts):
    model = save_language_model(tmp_path / "model", seed=0)
    other = save_language_model(tmp_path / "other", seed=0, words=("one", "two"))
    empty = tmp_path / "empty"
    empty.mkdir()
    no_tokeniser = tmp_path / "bare"
    config = json.loads((model / "config.json").read_text())
    no_tokeniser.mkdir()
    (no_tokeniser / "config.json").write_text(json.dumps(config))
    (no_tokeniser / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    write_tensors(tmp_path / "w.safetensors", {"x": np.ones(3)}, {})
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(50, 3)))
    np.save(tmp_path / "b.npy", np.random.default_rng(0).normal(size=(60, 3)))
    for first, second, says in (
        (model, other, "different tokenisers"),
        (model, no_tokeniser, "has no tokeniser"),
        (model, tmp_path / "nothing", "does not exist"),
        (empty, tmp_path / "a.npy", "has no config.json"),
        (model, model, "was given twice"),
        (tmp_path / "a.npy", tmp_path / "w.safetensors", "is no ResNet-18"),
        (tmp_path / "a.npy", tmp_path / "b.npy", "50 rows and b.npy 60"),
    ):
        with pytest.raises(InputError, match=says) as caught:
            run_pair(tmp_path, first, second, texts)
        assert not (tmp_path / "out").exists()
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="give more"):
        run_pair(tmp_path, model, tmp_path / "a.npy", texts, context=128)


@pytest.mark.parametrize("changed", ["texts", "weights"])
def test_a_resumed_run_records_again_what_has_changed(tmp_path, texts, monkeypatch, changed):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    with monkeypatch.context() as patch:
        patch.setattr(model_pairs, "_rows", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_pair(tmp_path, *models, texts)
    if changed == "texts":
        path = texts / "texts.txt"
        path.write_text("\n".join(reversed(path.read_text().splitlines())))
    else:
        save_language_model(models[1], seed=2)
    resumed, afresh = (
        run_pair(tmp_path, *models, texts, folder=folder, resume=folder == "out").details[1]
        for folder in ("out", "again")
    )
    for ours, theirs in zip(resumed.rows, afresh.rows, strict=True):
        assert ours[3] == pytest.approx(theirs[3], rel=1e-6)


def test_a_resumed_run_keeps_the_recordings_of_the_same_inputs(tmp_path, texts, monkeypatch):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    with monkeypatch.context() as patch:
        patch.setattr(model_pairs, "_rows", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_pair(tmp_path, *models, texts)
    monkeypatch.setattr(user_models, "record_activations", interrupt)
    assert run_pair(tmp_path, *models, texts, resume=True).details


def test_windows_longer_than_a_model_are_refused(tmp_path, texts):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    says = r"windows have 17 tokens and the models 16 positions: pass --set context=16\."
    with pytest.raises(InputError, match=says):
        run_pair(tmp_path, *models, texts, context=17, n_inputs=30)


def test_what_is_not_finite_names_its_model_or_file(tmp_path, texts):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    arrays, words = read_tensors(models[1] / "model.safetensors")
    arrays["h.1.mlp.c_proj.weight"][:] = np.nan
    write_tensors(models[1] / "model.safetensors", arrays, words)
    says = r"seed1 computes 480 values that are NaN or infinite, first in output: mend its weights"
    with pytest.raises(InputError, match=says):
        run_pair(tmp_path, *models, texts)
    rows = np.random.default_rng(0).normal(size=(50, 3))
    np.save(tmp_path / "a.npy", rows)
    rows[4, 1] = np.nan
    np.save(tmp_path / "b.npy", rows)
    with pytest.raises(InputError, match=r"b\.npy has 1 values that are NaN or infinite: remove"):
        run_pair(tmp_path, tmp_path / "a.npy", tmp_path / "b.npy", texts, folder="files")


def test_a_damaged_config_is_not_blamed_on_the_tokeniser(tmp_path, texts):
    models = [save_language_model(tmp_path / f"seed{n}", seed=n) for n in (0, 1)]
    (models[1] / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"seed1.config\.json is not valid JSON"):
        run_pair(tmp_path, *models, texts)


def test_inputs_are_read_from_lines_and_tables(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "t.csv").write_text("id,words\n1,first text\n2,\n3,third\n", encoding="utf-8")
    parquet.write_table(pyarrow.table({"words": ["a b", None]}), tmp_path / "t.parquet")
    assert read_texts(tmp_path, name="t.csv", column="words") == ["first text", "third"]
    assert read_texts(tmp_path, name="t.parquet", column="words") == ["a b"]
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(InputError, match="has no column 'text', but"):
            read_texts(tmp_path, name=name)
    with pytest.raises(InputError, match=r"has no none\.txt"):
        read_texts(tmp_path, name="none.txt")
    with pytest.raises(InputError, match=r"has no texts\.txt: put texts into texts\.txt"):
        read_texts(tmp_path)
    with pytest.raises(InputError, match=r"has no images\.npz: .* or images into images\.npz"):
        read_pictures(tmp_path, count=2)
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(InputError, match="contains no text"):
        read_texts(tmp_path, name="empty.txt")
    np.savez(tmp_path / "images.npz", images=np.zeros((3, 4, 4)))
    with pytest.raises(InputError, match="not count × height × width × 3 bytes"):
        read_pictures(tmp_path, count=2)


def test_the_option_models_is_a_setting_that_others_refuse(tmp_path):
    from click.testing import CliRunner

    from upto.cli.main import main

    found = CliRunner().invoke(
        main, ["study", "run", "bounds-hold", "--models", "a", "b", "--folder", str(tmp_path / "o")]
    )
    assert found.exit_code != 0
    assert "compares no models of yours" in f"{found.output}{found.exception}"


def test_one_model_and_an_option_ask_for_two_models(tmp_path):
    from click.testing import CliRunner

    from upto.cli.main import main

    found = CliRunner().invoke(main, ["study", "run", "model-pairs", "--models", "gpt0", "-q"])
    assert found.exit_code != 0
    assert "takes two models, as in --models A B" in f"{found.output}{found.exception}"
