import csv
import io
import sys

import numpy as np
import pytest
from decoders import smooth_decoder

from upto import LipschitzResult

torch = pytest.importorskip("torch", reason="torch is not installed")

MODULE = """\
import torch

def double(z):
    return 2 * z

def folded(z):
    return z.abs()

def warped(z):
    return torch.cat([z, z**2], dim=1)
"""


@pytest.fixture
def files(tmp_path, rng):
    """Write latents, outputs, a module and an exported decoder."""
    latents = rng.normal(size=(120, 4))
    np.save(tmp_path / "latents.npy", latents)
    np.save(tmp_path / "outputs.npy", 2 * latents)
    (tmp_path / "written.py").write_text(MODULE)
    example = torch.tensor(latents, dtype=torch.float32)
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    decoder = smooth_decoder(4, 9)
    program = torch.export.export(decoder, (example,), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "decoder.pt2")
    yield tmp_path
    sys.modules.pop("written", None)


QUIET = ("--no-progress",)


def test_a_named_function_is_measured(upto, files):
    result = upto("lipschitz", "latents.npy", "--decoder", "written:double", *QUIET)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(
        "The decoder double changes lengths by a factor of 2 at the worst of 120"
    )
    assert "120 of 120 latents; exact singular values" in result.stdout
    assert "UP054 near an isometry up to a scale" in result.stderr


def test_an_exported_decoder_is_measured(upto, files):
    result = upto(
        "lipschitz", "latents.npy", "--decoder", "decoder.pt2", "--format", "json", *QUIET
    )
    found = LipschitzResult.from_json(result.stdout)
    assert (found.decoder, found.n_latents, found.n_outputs) == ("decoder", 4, 9)


def test_outputs_alone_are_measured(upto, files):
    result = upto("lipschitz", "latents.npy", "outputs.npy", *QUIET)
    assert result.exit_code == 0, result.stderr
    assert "The map from latents to outputs changes lengths by at least a factor of 2" in (
        " ".join(result.stdout.split())
    )
    assert "distances to 10 nearest rows" in result.stdout


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".txt"])
def test_the_suffix_of_the_output_chooses_the_format(upto, files, suffix):
    result = upto(
        "lipschitz", "latents.npy", "--decoder", "written:warped", "-o", f"out{suffix}", *QUIET
    )
    assert (result.exit_code, result.stdout) == (0, "")
    text = (files / f"out{suffix}").read_text()
    if suffix == ".json":
        assert LipschitzResult.from_json(text).decoder == "warped"
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 120
        assert {"row", "largest", "smallest", "lipschitz", "by directions"} <= set(rows[0])
    else:
        assert "warped changes lengths" in text


def test_the_options_reach_the_question(upto, files):
    result = upto(
        "lipschitz", "latents.npy", "--decoder", "written:warped", "--n-points", "50",
        "--directions", "3", "--method", "lanczos", "--steps", "2", "--seed", "4",
        "--format", "json", *QUIET,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    found = LipschitzResult.from_json(result.stdout)
    assert (found.n_points, found.n_directions, found.method) == (50, 3, "lanczos")
    assert found.provenance.seed == 4
    assert "UP052" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--fail-above", "1.9"), 1),
        (("--fail-above", "1.9", "--at", "q95"), 1),
        (("--fail-above", "1.9", "--at", "mean"), 1),
        (("--fail-above", "2.1"), 0),
        (("--fail-above", "2.1", "--at", "median"), 0),
        (("--strict",), 1),
    ],
)
def test_limits_become_exit_codes(upto, files, arguments, code):
    result = upto("lipschitz", "latents.npy", "--decoder", "written:double", *arguments, *QUIET)
    assert result.exit_code == code, result.stderr
    if "--fail-above" in arguments and code:
        assert "the bi-Lipschitz constant is 2 " in result.stderr
        assert "above --fail-above 1.9" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("outputs.npy", "--fail-above", "1.9"), "is at least 2 at the worst, above"),
        (
            ("outputs.npy", "--fail-above", "2.1"),
            "is only known to be at least 2 at the worst, so it may exceed "
            "--fail-above 2.1: give the decoder itself",
        ),
        (
            ("--decoder", "written:warped", "--method", "lanczos", "--steps", "2",
             "--fail-above", "1e9"),
            "so it may exceed --fail-above 1e+09: give more --steps",
        ),
        (("--decoder", "written:folded", "--fail-above", "1.1"), "above --fail-above 1.1"),
    ],
)  # fmt: skip
def test_a_limit_is_not_kept_by_a_bound_from_below(upto, files, arguments, words):
    result = upto("lipschitz", "latents.npy", *arguments, *QUIET)
    assert result.exit_code == 1, result.stderr
    assert words in " ".join(result.stderr.split())


def test_files_of_images_are_outputs_too(upto, files):
    latents = np.load(files / "latents.npy")
    np.save(files / "images.npy", np.stack([latents, latents], axis=1).reshape(120, 2, 2, 2))
    result = upto("lipschitz", "latents.npy", "images.npy", "--format", "json", *QUIET)
    assert result.exit_code == 0, result.stderr
    found = LipschitzResult.from_json(result.stdout)
    assert (found.latents, found.n_outputs) == ("latents", 8)
    assert found.spread("lipschitz").worst == pytest.approx(2**0.5)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("latents.npy",), 2, "Give OUTPUTS or --decoder, and not both"),
        (("latents.npy", "outputs.npy", "--decoder", "written:double"), 2, "and not both"),
        (("latents.npy", "--decoder", "written:doubled"), 3, "did you mean 'double'?"),
        (("latents.npy", "--decoder", "absent:double"), 3, "cannot be imported"),
        (("latents.npy", "--decoder", "absent.pt2"), 3, "there is no file absent.pt2"),
        (("latents.npy", "--decoder", "outputs.npy"), 3, "neither TorchScript nor an exported"),
        (("absent.npy", "outputs.npy"), 3, "absent.npy"),
        (("latents.npy", "outputs.npy", "--n-points", "0"), 2, "--n-points"),
        (("latents.npy", "outputs.npy", "--fail-above", "0.5"), 2, "--fail-above"),
        (("latents.npy", "outputs.npy", "--fail-above", "nan"), 2, "nan cannot be compared"),
        (("latents.npy", "outputs.npy", "--report", "no/r.html"), 3, "make it first"),
        (
            ("latents.npy", "--decoder", "decoder.pt2", "-o", "decoder.pt2", "--format", "json"),
            3,
            "is an input: writing the result there would destroy it",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_exit_code(upto, files, arguments, code, words):
    result = upto("lipschitz", *arguments)
    assert result.exit_code == code, result.stderr
    assert words in result.stderr


def test_the_page_is_written_and_again_from_the_result(upto, files):
    result = upto(
        "lipschitz", "latents.npy", "--decoder", "written:warped", "--report", "page.html",
        "-o", "result.json", *QUIET,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert upto("report", "result.json", "-o", "again.html").exit_code == 0
    for name in ("page.html", "again.html"):
        page = (files / name).read_text()
        assert "warped changes lengths by a factor of" in page
        assert "Distribution of the bi-Lipschitz constant" in page
        assert "Stretch and shrink at each point" in page
        assert "What the theorems promise" in page
