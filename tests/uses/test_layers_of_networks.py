"""Someone who interprets networks records layers of two trainings and asks which correspond."""

import json

import pytest

import upto

torch = pytest.importorskip("torch")


@pytest.fixture
def recordings(tmp_path):
    """Layers of two networks of which the second is wider, of the same inputs."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(300, 6, generator=generator)
    for seed, width in enumerate((8, 12)):
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(6, width), torch.nn.Tanh(), torch.nn.Linear(width, 4)
        )
        upto.record_activations(
            network, inputs.split(64), tmp_path / f"seed{seed}", layers=["0", "2"], pool="none"
        )
    return tmp_path / "seed0", tmp_path / "seed1"


def test_recorded_folders_are_given_to_layers_as_they_are(recordings, upto_command):
    printed = upto_command("layers", *recordings, "--format", "json", "--permutations", 19)
    result = upto.LayersResult.from_json(printed)
    assert [model.name for model in result.runs] == ["seed0", "seed1"]
    assert upto.layers(*recordings, permutations=19).verdict == result.verdict


def test_layers_compared_one_by_one_have_the_names_of_the_recording(recordings, upto_command):
    manifests = [folder / "runs.toml" for folder in recordings]
    printed = upto_command("compare", *manifests, "--no-ica", "--format", "json")
    names = {run["name"] for run in json.loads(printed)["runs"]}
    assert names == {"seed0/0", "seed0/2", "seed1/0", "seed1/2"}
