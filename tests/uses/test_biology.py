"""A computational biologist has an AnnData object with an embedding, plates and compounds."""

import json

import numpy as np
import pytest

import upto

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::anndata.ImplicitModificationWarning")


@pytest.fixture
def wells(rng):
    """240 wells on four plates: two compounds and controls, which differ in one factor."""
    compound = np.tile(np.array(["control", "control", "A", "B"]), 60)
    plate = np.repeat(["p1", "p2", "p3", "p4"], 60)
    factors = rng.laplace(size=(240, 4))
    factors[:, 0] += 4 * (compound == "A") - 4 * (compound == "B")
    factors[:, 1] += 2 * np.unique(plate, return_inverse=True)[1]
    obs = pandas.DataFrame(
        {"plate": pandas.Categorical(plate), "compound": pandas.Categorical(compound)},
        index=[f"well {number}" for number in range(240)],
    )
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    return anndata.AnnData(
        X=rng.normal(size=(240, 3)), obs=obs, obsm={"X_embedding": factors @ rotation}
    )


@pytest.mark.slow
def test_plates_and_compounds_are_columns_of_the_object(wells):
    embedding = upto.as_embeddings(wells, key="X_embedding")
    chosen = {"conditions": ("base", "pca"), "mixing": ()}
    result = upto.batches(embedding, batch="plate", label="compound", control="control", **chosen)
    by_values = upto.batches(
        wells.obsm["X_embedding"],
        batch=wells.obs["plate"],
        label=wells.obs["compound"],
        control="control",
        **chosen,
    )
    assert result.scores[0].auroc.value == pytest.approx(by_values.scores[0].auroc.value)
    assert result.scores[0].auroc.value > 0.8


def test_components_are_written_into_the_file_and_read_without_upto(wells, tmp_path, upto_command):
    wells.write_h5ad(tmp_path / "wells.h5ad")
    upto_command("unmix", "wells.h5ad::obsm/X_embedding", "-o", "wells.h5ad", "--seed", 0)
    again = anndata.read_h5ad(tmp_path / "wells.h5ad")
    assert again.obsm["X_ica"].shape == (240, 4)
    np.testing.assert_allclose(again.obsm["X_embedding"], wells.obsm["X_embedding"])
    assert len(json.dumps(again.uns["ica"], default=np.ndarray.tolist)) < 20_000
    back = again.obsm["X_ica"] @ np.asarray(again.uns["ica"]["mixing"]).T
    centred = wells.obsm["X_embedding"] - wells.obsm["X_embedding"].mean(axis=0)
    np.testing.assert_allclose(back, centred, atol=1e-4)


def test_two_objects_are_matched_by_the_names_of_their_wells(wells):
    shuffled = wells[::-1].copy()
    result = upto.compare(
        upto.as_embeddings(wells, key="X_embedding", name="screen"),
        upto.as_embeddings(shuffled, key="X_embedding", name="screen again"),
        ica=False,
    )
    assert result.up_to == "identity"
    assert result.identity.error.value < 1e-9
