"""Priors as other libraries store them: tied covariances, fits, short precision."""

import numpy as np
import pytest

import upto
from upto.core import InputError

WEIGHTS = np.array([0.4, 0.6])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0]])
TIED = np.array([[2.0, 0.7], [0.7 + 1e-9, 1.0]])


def scikit(**more):
    return {"weights_": WEIGHTS, "means_": MEANS, "covariances_": TIED} | more


@pytest.mark.parametrize("covariances", [TIED, np.diag([2.0, 1.0])])
@pytest.mark.parametrize("name", ["covariances", "covariances_"])
def test_a_tied_covariance_is_not_read_as_variances(name, covariances, tmp_path):
    path = tmp_path / "gmm.npz"
    np.savez(path, **{"weights_": WEIGHTS, "means_": MEANS, name: covariances})
    with pytest.raises(InputError, match="symmetric 2×2 covariances, which may be one covariance"):
        upto.mixture(path)


def test_variances_and_lopsided_covariances_have_one_meaning():
    variances = {"weights": WEIGHTS, "means": MEANS, "variances": [[1.0, 1.0], [1.0, 4.0]]}
    assert upto.mixture(variances).runs[0].assumption("P2").holds
    lopsided = {"weights": WEIGHTS, "means": MEANS, "covariances": [[1.0, 1.0], [3.0, 4.0]]}
    assert upto.mixture(lopsided).runs[0].assumption("P1").holds


def test_a_triple_says_how_nearly_symmetric_numbers_are_read():
    found = upto.mixture((WEIGHTS, MEANS, TIED))
    assert "are read as variances of 2 components" in found.runs[0].assumption("P1").evidence


@pytest.mark.parametrize("stored", [True, False])
def test_the_type_of_scikit_learn_is_used(stored, tmp_path):
    for told, covariances, correlated in (("tied", TIED, True), ("diag", TIED, False)):
        given = scikit(covariances_=covariances, covariance_type=told)
        if stored:
            np.savez(tmp_path / "gmm.npz", **given)
            given = tmp_path / "gmm.npz"
        evidence = upto.mixture(given).runs[0].assumption("P2").evidence
        assert ("are correlated by 0.495" in evidence) is correlated
    with pytest.raises(InputError, match="covariance_type 'spherical': give full"):
        upto.mixture(scikit(covariance_type="spherical"))


def test_names_of_scikit_learn_are_those_of_a_fit():
    full = [np.eye(2), np.diag([1.0, 4.0])]
    found = upto.mixture(scikit(covariances_=full)).runs[0]
    assert found.fitted
    assert found.assumption("P2").holds is None
    plain = {"weights": WEIGHTS, "means": MEANS, "covariances": full}
    assert not upto.mixture(plain).runs[0].fitted


THIRDS = np.full(3, 1 / 3)
THREE = np.array([[0.0, 0.0], [4.0, 1.0], [-1.0, 5.0]])
DIAGONAL = np.array([[1.0, 1.0], [1.0, 4.0], [2.0, 0.5]])


def test_weights_of_half_precision_are_accepted_and_sum_to_one(tmp_path):
    half = THIRDS.astype(np.float16)
    np.savez(tmp_path / "half.npz", weights=half, means=THREE, variances=DIAGONAL)
    found = upto.mixture(tmp_path / "half.npz").runs[0]
    assert sum(each.weight for each in found.components) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(InputError, match=r"sum to 0\.999:"):
        upto.mixture((np.full(3, 0.333), THREE, DIAGONAL))
    with pytest.raises(InputError, match=r"sum to 0\.9375:"):
        upto.mixture((np.array([0.3125] * 3), THREE, DIAGONAL))


def test_weights_in_bfloat16_are_accepted(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    arrays = {"weights": THIRDS, "means": THREE, "variances": DIAGONAL}
    tensors = {name: torch.tensor(each).bfloat16() for name, each in arrays.items()}
    save_file(tensors, tmp_path / "prior.safetensors")
    for given in (tensors, tmp_path / "prior.safetensors"):
        found = upto.mixture(given).runs[0]
        assert [each.weight for each in found.components] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_modules_of_half_precision_are_read(kind):
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 9))
    found = upto.mixture((WEIGHTS, MEANS, DIAGONAL[:2]), decoder=module.to(getattr(torch, kind)))
    assert found.runs[0].assumption("F1").holds
    assert found.decoder_up_to is not None
    assert module.training
    assert module[0].weight.dtype is getattr(torch, kind)


def test_a_module_in_train_mode_with_dropout_is_one_sentence():
    nn = pytest.importorskip("torch").nn
    module = nn.Sequential(nn.Linear(2, 8), nn.Dropout(), nn.LeakyReLU(0.2), nn.Linear(8, 9))
    prior = (WEIGHTS, MEANS, DIAGONAL[:2])
    with pytest.raises(InputError, match=r"in train mode.*call its eval\(\) first"):
        upto.mixture(prior, decoder=module)
    assert upto.mixture(prior, decoder=module.eval()).runs[0].assumption("F1").holds


@pytest.mark.parametrize(("kind", "holds"), [(np.float16, None), (np.float64, True)])
def test_components_that_differ_by_rounding_may_be_equal(kind, holds):
    means = np.array([[100.3, 0.1], [100.36, 0.1]])
    variances = np.array([[1.1, 1.3], [1.1, 1.3]])
    prior = (WEIGHTS, means.astype(kind), variances.astype(kind))
    assert prior[1][0, 0] != prior[1][1, 0]
    distinct = upto.mixture(prior).runs[0].assumption("distinct")
    assert distinct.holds is holds
    assert ("rounding to float16 can cause" in distinct.evidence) is (holds is None)
