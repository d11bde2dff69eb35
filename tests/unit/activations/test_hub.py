"""Models from folders: only safetensors, no code of theirs, and nothing from elsewhere."""

import json
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from upto.activations.hub import load_model
from upto.activations.record import record_activations
from upto.core import InputError, MissingExtraError
from upto.files import read_manifest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed")


def quiet():
    """Ignore warnings of other packages about themselves."""
    return warnings.catch_warnings(action="ignore")


@pytest.fixture
def transformers(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with quiet():
        return pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.fixture
def bert(transformers, tmp_path):
    """Save a tiny BERT with random weights, and return it with its folder."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
    )
    with quiet():
        model = transformers.BertModel(config).eval()
        model.save_pretrained(tmp_path / "bert")
    return model, tmp_path / "bert"


def text_batch():
    ids = torch.randint(1, 30, (5, 7), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(5, 7, dtype=torch.long)
    mask[0, 4:] = 0
    mask[3, 1:] = 0
    return {"input_ids": ids, "attention_mask": mask, "label": torch.zeros(5)}


def test_a_saved_model_is_loaded_with_its_weights_in_evaluation_mode(bert):
    model, folder = bert
    loaded = load_model(folder)
    assert not loaded.training
    for (name, one), (other, two) in zip(
        model.state_dict().items(), loaded.state_dict().items(), strict=True
    ):
        assert name == other
        assert torch.equal(one, two)


def test_layers_of_a_transformer_are_its_hidden_states_without_the_padding(bert, tmp_path):
    model, folder = bert
    batch = text_batch()
    manifest = record_activations(
        load_model(str(folder)), [batch], tmp_path / "run", layers="encoder.layer.*"
    )
    with torch.no_grad():
        states = model(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            output_hidden_states=True,
        ).hidden_states[1:]
    runs = read_manifest(manifest)
    assert [run.layer for run in runs] == [f"encoder.layer.{number}" for number in range(3)]
    lengths = batch["attention_mask"].sum(dim=1).tolist()
    for run, state in zip(runs, states, strict=True):
        expected = [state[row, :length].mean(dim=0).numpy() for row, length in enumerate(lengths)]
        np.testing.assert_allclose(np.asarray(run.rows[:]), expected, rtol=0, atol=1e-6)


def test_the_last_token_and_the_first_are_taken_by_layer(bert, tmp_path):
    model, folder = bert
    batch = text_batch()
    manifest = record_activations(
        load_model(folder),
        [batch],
        tmp_path / "run",
        layers=["encoder.layer.*", ""],
        pool={"encoder.layer.2": "last", "encoder.**": "first"},
    )
    with torch.no_grad():
        named = {name: batch[name] for name in ("input_ids", "attention_mask")}
        states = model(**named, output_hidden_states=True).hidden_states
    found = {run.layer: np.asarray(run.rows[:]) for run in read_manifest(manifest)}
    ends = batch["attention_mask"].sum(dim=1) - 1
    np.testing.assert_array_equal(found["encoder.layer.0"], states[1][:, 0])
    np.testing.assert_array_equal(found["encoder.layer.2"], states[3][torch.arange(5), ends])
    assert found["output"].shape == (5, 8)


def test_patches_of_a_vision_transformer_leave_out_class_token_and_registers(
    transformers, tmp_path
):
    torch.manual_seed(0)
    config = transformers.Dinov2WithRegistersConfig(
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=8,
        patch_size=4,
        num_register_tokens=3,
    )
    with quiet():
        model = transformers.Dinov2WithRegistersModel(config).eval()
    x = torch.randn(3, 3, 8, 8)
    manifest = record_activations(
        model, [{"pixel_values": x}], tmp_path / "run", layers="layernorm", pool="mean-patches"
    )
    (run,) = read_manifest(manifest)
    with torch.no_grad():
        expected = model(pixel_values=x).last_hidden_state[:, 4:].mean(dim=1)
    np.testing.assert_array_equal(np.asarray(run.rows[:]), expected)


@pytest.mark.parametrize("pickle", ["pytorch_model.bin", "model.pt", "weights.PTH"])
def test_pickled_weights_are_refused_before_any_library_sees_them(pickle, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (tmp_path / pickle).write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(InputError, match=f"has its weights in {pickle}, which could run code"):
        load_model(tmp_path)


def test_pickles_beside_safetensors_are_not_read(bert):
    _, folder = bert
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    assert load_model(folder) is not None


@pytest.mark.parametrize("damage", ["junk", "short", "other sizes"])
def test_damaged_weights_are_told_in_a_sentence(damage, bert):
    _, folder = bert
    weights = folder / "model.safetensors"
    if damage == "other sizes":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 12}))
    else:
        weights.write_bytes(b"junk" if damage == "junk" else weights.read_bytes()[:-8])
    with quiet(), pytest.raises(InputError, match=r"transformers could not load .*Save the model"):
        load_model(folder)


def test_damaged_weights_of_timm_are_told_in_a_sentence(tmp_path, monkeypatch):
    safetensors = pytest.importorskip("safetensors", reason="safetensors is not installed")
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "vit"}))
    (tmp_path / "model.safetensors").write_bytes(b"junk")

    def create_model(name, **options):
        with safetensors.safe_open(tmp_path / "model.safetensors", "np"):
            pass

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    with pytest.raises(InputError, match=r"timm could not load .*header"):
        load_model(tmp_path)


def test_code_of_a_model_is_not_run(bert):
    _, folder = bert
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "ours", "auto_map": {"AutoModel": "ours.Ours", "AutoConfig": "ours.C"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "ours.py").write_text("raise SystemExit('this code was run')")
    with pytest.raises(InputError, match="transformers could not load"):
        load_model(folder)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "has no config.json"),
        ({"config.json": "{}"}, "has no weights in safetensors"),
        ({"config.json": "{", "model.safetensors": ""}, "is not valid JSON"),
        ({"config.json": "[1]", "model.safetensors": ""}, "neither model_type"),
        ({"config.json": '{"architecture": "x"}', "x.safetensors": ""}, "no model.safetensors"),
    ],
)
def test_what_is_not_a_model_is_refused(files, why, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace())
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=why):
        load_model(tmp_path)


def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for name in (tmp_path / "no", "./no", "a/b/c", "~/no-such-folder"):
        with pytest.raises(InputError, match="is not a folder"):
            load_model(name)
    with pytest.raises(InputError, match="there is no library 'keras'"):
        load_model("name", library="keras")


def test_a_library_that_is_missing_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"")
    for library, key, extra in (
        ("transformers", "model_type", "hub"),
        ("timm", "architecture", "timm"),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        (tmp_path / "config.json").write_text(json.dumps({key: "x"}))
        with pytest.raises(MissingExtraError, match=rf"package {library}.*upto\[{extra}\]"):
            load_model(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"package huggingface_hub.*upto\[hub\]"):
        load_model("some/model", library="timm")


def test_a_name_is_downloaded_without_anything_that_could_run(bert, monkeypatch):
    _, folder = bert
    asked = []

    def snapshot_download(repository, **options):
        asked.append((repository, options))
        return str(folder)

    stub = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", stub)
    load_model("someone/bert", revision="abc")
    wanted = ["*.json", "*.safetensors"]
    assert asked == [("someone/bert", {"revision": "abc", "allow_patterns": wanted})]


def test_a_model_that_the_hub_does_not_have_is_told_in_a_sentence(monkeypatch):
    def snapshot_download(repository, **options):
        message = "404 Client Error.\n\nRepository Not Found for url …"
        raise OSError(message)

    stub = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", stub)
    with pytest.raises(InputError, match=r"timm/resnet could not be downloaded.*404 Client Error"):
        load_model("resnet", library="timm")


def test_timm_is_asked_for_the_folder_and_its_weights(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "vit"}))
    (tmp_path / "model.safetensors").write_bytes(b"")
    asked = []

    def create_model(name, **options):
        asked.append((name, options))
        return torch.nn.Linear(2, 2)

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    assert not load_model(tmp_path).training
    # No classes: the output is the representation, not logits.
    assert asked == [(f"local-dir:{tmp_path}", {"pretrained": True, "num_classes": 0})]


def test_a_saved_timm_model_is_loaded_with_its_weights(tmp_path):
    with quiet():
        try:
            timm = pytest.importorskip("timm", reason="timm or torchvision is not installed")
        except RuntimeError as error:
            pytest.skip(f"this torchvision is not made for this torch: {error}")
        from timm.models import save_for_hf
    torch.manual_seed(0)
    size = {"img_size": 16, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 2}
    model = timm.create_model("vit_tiny_patch16_224", num_classes=7, **size).eval()
    save_for_hf(model, tmp_path / "vit", model_args=size, safe_serialization=True)
    loaded = load_model(tmp_path / "vit")
    x = torch.randn(3, 3, 16, 16)
    with torch.no_grad():
        assert torch.equal(model.forward_features(x), loaded.forward_features(x))
        assert loaded(x).shape == (3, 12)
    manifest = record_activations(
        loaded, [x], tmp_path / "run", layers="blocks.*", pool="mean-patches"
    )
    assert [run.layer for run in read_manifest(manifest)] == ["blocks.0", "blocks.1"]
