import numpy as np
import pytest
from safetensors.numpy import save_file

from upto.questions.mixture.result import MixtureResult

WEIGHTS = np.array([0.4, 0.6])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0]])
VARIANCES = np.array([[1.0, 1.0], [1.0, 4.0]])


@pytest.fixture
def model(tmp_path, rng):
    """Write priors and decoders of two runs, the second in one file of a model."""
    layers = {
        "0.weight": rng.normal(size=(6, 2)),
        "0.bias": rng.normal(size=6),
        "10.weight": rng.normal(size=(9, 7)),
        "2.weight": rng.normal(size=(7, 6)),
        "2.bias": rng.normal(size=7),
    }
    np.savez(tmp_path / "prior.npz", weights=WEIGHTS, means=MEANS, variances=VARIANCES)
    np.savez(tmp_path / "decoder.npz", **layers)
    prior = {"gmm.pi": WEIGHTS, "gmm.mu": MEANS, "gmm.logvar": np.log(VARIANCES)}
    encoder = {"encoder.weight": rng.normal(size=(2, 9)), "decoders": rng.normal(size=3)}
    named = {f"decoder.{name}": values for name, values in layers.items()}
    save_file(prior | encoder | named, tmp_path / "model.safetensors")
    return tmp_path


def result_of(found):
    assert found.exit_code == 0, found.output
    return MixtureResult.from_json(found.stdout)


def test_files_of_weights_and_of_a_model_say_the_same(upto, model):
    plain = upto("mixture", "prior.npz", "--decoder", "decoder.npz", "--leak", 0.1,
                 "--format", "json")  # fmt: skip
    whole = upto("mixture", "model.safetensors::gmm", "--decoder", "model.safetensors::decoder",
                 "--leak", 0.1, "--format", "json")  # fmt: skip
    one, other = result_of(plain), result_of(whole)
    assert one.prior_up_to == other.prior_up_to == "scaled-permutation"
    assert (one.runs[0].name, other.runs[0].name) == ("prior", "model")
    relu = result_of(upto("mixture", "prior.npz", "--decoder", "decoder.npz", "--format", "json"))
    assert relu.runs[0].assumption("F4").holds is not True


def test_runs_become_a_page_and_a_claim_fails_strictly(upto, model):
    (model / "other").mkdir()
    np.savez(model / "other" / "prior.npz", weights=WEIGHTS, means=MEANS, variances=VARIANCES)
    found = upto("mixture", "prior.npz", "other/prior.npz", "--draws", 0, "--report", "page.html",
                 "-o", "found.json", "--up-to", "affine", "--strict")  # fmt: skip
    assert found.exit_code == 1
    page = (model / "page.html").read_text(encoding="utf-8")
    assert "Stability over runs" in page
    assert "UP099" in page
    result = MixtureResult.from_json((model / "found.json").read_text())
    assert result.runs[1].name == "other/prior"
    assert upto("report", "found.json", "-o", "again.html").exit_code == 0


def test_the_prior_is_tested_on_rows_of_a_file(upto, model, rng):
    np.save(model / "codes.npy", rng.laplace(size=(400, 2)))
    found = upto("mixture", "prior.npz", "--rows", "codes.npy", "--format", "json")
    assert result_of(found).runs[0].n_rows == 400
    assert "UP087" in found.stderr


BAD = {
    "model.safetensors": "has no weights and means of a mixture: it holds",
    "model.safetensors::other": "has no array whose name begins with 'other'",
    "decoder.npz": "has no weights and means of a mixture",
    "half.npz": "half.npz has no weights and no variances or covariances: it holds means.",
    "misfit.npz": "misfit: weights (2,), means (3, 2)",
    "negative.npz": "negative.npz has variances down to -4: give positive ones.",
    "pickled.npz": "pickled.npz::weights",
    "prior.pkl": "is a pickle, which can run any code",
    "prior.csv": "ends in .csv, which upto does not read",
    "missing.npz": "missing.npz does not exist",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_priors_are_one_sentence_and_write_nothing(upto, model, name):
    np.savez(model / "half.npz", means=MEANS)
    np.savez(model / "misfit.npz", weights=WEIGHTS, means=np.ones((3, 2)), variances=VARIANCES)
    np.savez(model / "negative.npz", weights=WEIGHTS, means=MEANS, variances=-VARIANCES)
    np.savez(model / "pickled.npz", weights=np.array([{}, None]), means=MEANS, variances=VARIANCES)
    (model / "prior.pkl").write_bytes(b"\x80\x04N.")
    (model / "prior.csv").write_text("weights\n1\n")
    found = upto("mixture", name, "--report", "page.html", "-o", "found.json")
    assert found.exit_code == 3
    assert BAD[name] in " ".join(found.stderr.split())
    assert not (model / "page.html").exists()
    assert not (model / "found.json").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"0.weight": np.ones((4, 3))}, "takes 3 latents, but the prior prior has 2 coordinates"),
        (
            {"0.weight": np.ones((4, 2)), "bn.running_mean": np.ones(4)},
            "::bn.running_mean of shape",
        ),
        ({"0.weight": np.ones((4, 2, 3, 3))}, "fold normalisations into the layers"),
        ({"0.bias": np.ones(4)}, "has a bias but no weights of layer 0"),
        ({"0.weight": np.ones((4, 2)), "1.weight": np.ones((4, 5))}, "bad.npz: weights and bias"),
    ],
)
def test_bad_decoders_are_one_sentence(upto, model, arrays, message):
    np.savez(model / "bad.npz", **arrays)
    found = upto("mixture", "prior.npz", "--decoder", "bad.npz")
    assert found.exit_code == 3
    assert message in " ".join(found.stderr.split())


def test_layers_without_numbers_are_read_in_the_only_order_that_fits(upto, model, rng):
    layers = {"out.weight": rng.normal(size=(9, 6)), "hidden.weight": rng.normal(size=(6, 2))}
    layers["between1.weight"] = layers["between2.weight"] = np.eye(6)
    np.savez(model / "named.npz", **layers)
    found = upto("mixture", "prior.npz", "--decoder", "named.npz", "--format", "json")
    evidence = result_of(found).runs[0].assumption("F1").evidence
    assert evidence.endswith("layers read in the order hidden, between1, between2, out")
    numbered = upto("mixture", "prior.npz", "--decoder", "decoder.npz", "--format", "json")
    assert "order" not in result_of(numbered).runs[0].assumption("F1").evidence


def test_weights_without_a_leak_are_read_with_relus_and_the_verdict_says_so(upto, model):
    """The file could be that of a decoder with tanh, of which nothing is promised."""
    layers = {"0.weight": [[1.0], [-1.0]], "2.weight": np.eye(2)}
    np.savez(model / "line.npz", weights=WEIGHTS, means=MEANS[:, 1:], variances=VARIANCES[:, 1:])
    np.savez(model / "folded.npz", **layers)
    said = ["mixture", "line.npz", "--decoder", "folded.npz", "--format", "json"]
    assumed, known = result_of(upto(*said)), result_of(upto(*said, "--leak", 0))
    assert assumed.prior_up_to == known.prior_up_to == "scaled-permutation"
    assert "a known law and the decoder has ReLUs (no leak is given)." in assumed.verdict
    assert known.verdict.endswith("if the noise has a known law.")
    for name in ("F1", "F2", "F4", "continuous"):
        assert "no leak is given" in assumed.runs[0].assumption(name).evidence
        assert "leak is" not in known.runs[0].assumption(name).evidence
    np.savez(model / "affine.npz", **{"0.weight": [[1.0], [2.0]]})
    affine = result_of(upto("mixture", "line.npz", "--decoder", "affine.npz", "--format", "json"))
    assert "no leak" not in affine.verdict


def test_layers_of_several_orders_are_one_sentence(upto, model, rng):
    np.savez(model / "named.npz", **{"out.weight": np.eye(2), "hidden.weight": 2 * np.eye(2)})
    found = upto("mixture", "prior.npz", "--decoder", "named.npz")
    assert found.exit_code == 3
    assert "allow several orders: name them in order" in " ".join(found.stderr.split())


def test_a_prior_is_needed(upto):
    assert upto("mixture").exit_code == 2
