"""`upto layers RUN…`."""

import csv
import io
import json

import numpy as np
import pytest

from upto import LayersResult

FAST = ("--permutations", "39", "--no-progress")


@pytest.fixture
def manifest(tmp_path, rng):
    """Write two runs of three layers, the second run turned, and return their manifest."""
    entries = []
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    for depth in range(3):
        rows = rng.laplace(size=(80, 4))
        for name, values in (("net-a", rows), ("net-b", rows @ turn + 1)):
            np.save(tmp_path / f"{name}-{depth}.npy", values.astype(np.float32))
            entries.append((name, depth))
    text = "\n".join(
        f'[[run]]\nname = "{name}"\nlayer = "block.{depth}"\npath = "{name}-{depth}.npy"\n'
        for name, depth in entries
    )
    (tmp_path / "layers.toml").write_text(text)
    return "layers.toml"


def test_layers_of_a_manifest_are_grouped_by_run(upto, manifest):
    result = upto("layers", manifest, *FAST)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(
        "3 of 3 layers of net-a have their closest counterpart under the same name in net-b"
    )
    assert "block.2" in result.stdout


def test_the_result_is_written_as_json_and_as_data(upto, tmp_path, manifest):
    assert upto("layers", manifest, *FAST, "-q", "-o", "out.json").exit_code == 0
    found = LayersResult.from_json((tmp_path / "out.json").read_text())
    assert [layer.name for layer in found.runs[1].layers] == ["block.0", "block.1", "block.2"]
    shown = upto("layers", manifest, *FAST, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert len(rows) == 9
    assert {row["measure"] for row in rows} == {"linear-cka"}
    report = upto("report", "out.json", "-o", "again.html")
    assert report.exit_code == 0, report.stderr


def test_measures_are_chosen_by_name(upto, manifest):
    chosen = ("--measure", "mutual-knn:5", "--measure", "linear-cka-biased")
    result = upto("layers", manifest, *chosen, *FAST, "--format", "json")
    assert [m.name for m in LayersResult.from_json(result.stdout).measures] == [
        "mutual-knn:5",
        "linear-cka-biased",
    ]
    unknown = upto("layers", manifest, "--measure", "nothing", *FAST)
    assert unknown.exit_code == 3
    assert "there is no measure 'nothing'" in unknown.stderr


def test_a_page_of_layers_is_written(upto, tmp_path, manifest):
    result = upto("layers", manifest, *FAST, "--report", "layers.html")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "layers.html").read_text()
    assert "All pairs of layers" in page
    assert "block.2" in page


def test_one_run_of_a_manifest_is_compared_with_itself(upto, tmp_path, manifest):
    kept = (tmp_path / manifest).read_text().split("\n\n")
    (tmp_path / "one.toml").write_text("\n\n".join(part for part in kept if "net-a" in part))
    result = upto("layers", "one.toml", *FAST, "--format", "json")
    (pair,) = LayersResult.from_json(result.stdout).pairs
    assert (pair.first, pair.second) == ("net-a", "net-a")


def test_a_manifest_with_one_layer_a_run_and_plain_files_are_compared(upto, manifest):
    result = upto("layers", "net-a-0.npy", "net-b-0.npy", *FAST)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("1 of 1 layers of net-a-0")
    alone = upto("layers", "net-a-0.npy", *FAST)
    assert alone.exit_code == 3
    assert "net-a-0 has 1 layer and there is no other run" in alone.stderr


def test_different_rows_are_refused(upto, tmp_path, manifest):
    np.save(tmp_path / "net-b-1.npy", np.zeros((79, 4)))
    result = upto("layers", manifest, *FAST)
    assert result.exit_code == 3
    assert "has 80 rows but net-b, layer block.1 has 79" in result.stderr


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (("--up-to", "rigid"), "--up-to"),
        (("--no-ica",), "--no-ica"),
        (("--fail-above", "1"), "--fail-above"),
        (("--ids", "id"), "--ids"),
    ],
)
def test_options_of_whole_runs_are_refused(upto, manifest, option, name):
    result = upto("layers", manifest, *option)
    assert result.exit_code == 2
    assert f"No such option '{name}'" in result.stderr


def test_rows_to_use_are_chosen(upto, manifest):
    result = upto("layers", manifest, "--max-rows", "30", *FAST, "--format", "json")
    assert LayersResult.from_json(result.stdout).n_used == 30


def test_layers_have_defaults_of_their_own_and_the_help_says_so(upto, manifest):
    result = upto("layers", manifest, "--no-progress", "--format", "json")
    found = LayersResult.from_json(result.stdout)
    assert (found.n_held_out, found.n_pairings) == (40, 199)
    text = " ".join(upto("layers", "--help").stdout.split())
    assert "[default: 0.5; 0<=x<1]" in text
    assert "[default: 199; x>=19]" in text
    assert "[default: 1024; x>=2]" in text


def test_an_edited_result_is_refused_in_a_sentence(upto, tmp_path, manifest):
    assert upto("layers", manifest, *FAST, "-q", "-o", "out.json").exit_code == 0
    record = json.loads((tmp_path / "out.json").read_text())
    record["pairs"][0]["closest"][0]["closest"] = 99
    (tmp_path / "out.json").write_text(json.dumps(record))
    result = upto("report", "out.json", "-o", "page.html")
    assert result.exit_code == 3
    assert "out.json: this layers result is damaged" in result.stderr


def test_strict_fails_where_no_layer_is_beyond_chance(upto, tmp_path, rng):
    for name in ("x", "y"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(60, 3)))
    result = upto("layers", "x.npy", "y.npy", *FAST, "--strict")
    assert result.exit_code == 1
    assert "UP041 no layer beyond chance" in result.stderr


def test_what_was_recorded_is_compared(upto, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from upto import record_activations

    torch.manual_seed(0)
    x = torch.randn(60, 6)
    for seed in range(2):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        record_activations(model, x.split(25), tmp_path / f"seed{seed}", seed=seed)
    result = upto("layers", "seed0/runs.toml", "seed1/runs.toml", *FAST, "--format", "json")
    found = LayersResult.from_json(result.stdout)
    assert [(run.name, run.seed) for run in found.runs] == [("seed0", 0), ("seed1", 1)]
    assert [layer.n_features for layer in found.runs[0].layers] == [8, 8, 3]


@pytest.fixture
def recordings(tmp_path, rng):
    """Write two recorded folders of two layers each, the second run turned."""
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    layers = {layer: rng.laplace(size=(80, 4)) for layer in ("conv1", "conv2")}
    for name, change in (("seed0", np.eye(4)), ("seed1", turn)):
        (tmp_path / name).mkdir()
        text = ""
        for layer, rows in layers.items():
            np.save(tmp_path / name / f"{layer}.npy", rows @ change)
            text += f'[[run]]\nname = "{name}"\nlayer = "{layer}"\npath = "{layer}.npy"\n'
        (tmp_path / name / "runs.toml").write_text(text)
    return ("seed0", "seed1/")


def test_recorded_folders_are_runs(upto, recordings):
    result = upto("layers", *recordings, *FAST, "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = LayersResult.from_json(result.stdout)
    assert [run.name for run in found.runs] == ["seed0", "seed1"]
    assert [layer.name for layer in found.runs[0].layers] == ["conv1", "conv2"]
    assert [(each.layer, each.closest) for each in found.pairs[0].closest] == [(0, 0), (1, 1)]


def test_one_layer_of_recorded_folders_can_be_compared(upto, recordings):
    result = upto("compare", *(f"{each}::conv2" for each in recordings), "--no-progress", "-q")
    assert result.exit_code == 0, result.stderr
    assert "seed0/conv2 → seed1/conv2" in result.stdout
    assert "The same representation up to a rigid motion" in result.stdout


@pytest.mark.parametrize("command", ["compare", "similarity", "inspect"])
def test_a_recording_of_many_layers_says_what_to_do(upto, recordings, command):
    result = upto(command, *recordings[: 1 if command == "inspect" else 2])
    assert result.exit_code == 3
    assert "seed0 has 2 layers (conv1, conv2): name one, as in seed0::conv2," in result.stderr
    assert "`upto layers`" in result.stderr


def test_many_layers_of_a_manifest_keep_their_names_everywhere(upto, tmp_path, recordings):
    files = [f"{each.rstrip('/')}/runs.toml" for each in recordings]
    result = upto("compare", *files, "--report", "page.html", "--no-ica", "--no-progress")
    assert result.exit_code == 0, result.stderr
    assert "`upto layers` finds which correspond to which" in result.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("seed0/conv1", "seed0/conv2", "seed1/conv1", "seed1/conv2"):
        assert name in result.stdout
        assert name in page
    assert "(2)" not in result.stdout + result.stderr


def test_an_output_may_not_replace_a_recorded_layer(upto, recordings):
    result = upto("unmix", "seed0::conv1", "-o", "seed0/conv1.npy")
    assert result.exit_code == 3
    assert "seed0/conv1.npy" in result.stderr
    done = upto("unmix", "seed0::conv1", "-o", "out.npy", "--no-progress", "-q")
    assert done.exit_code == 0, done.stderr
