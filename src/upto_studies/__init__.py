"""Studies that reproduce the papers' claims, one command each, with their trainers and searches.

`upto` never imports this package: it discovers the command ``upto study`` by its entry point.
"""

from upto.lazy import attach

STUDIES = {
    "leaky-autoencoders": "upto_studies.leaky_autoencoders",
    "sprite-isometry": "upto_studies.sprite_isometry",
    "bounds-hold": "upto_studies.bounds_hold",
    "misspecified-regression": "upto_studies.misspecified_regression",
    "metric-behaviour": "upto_studies.metric_behaviour",
    "autoencoder-ica": "upto_studies.autoencoder_ica",
    "plate-holdout-synthetic": "upto_studies.plate_holdout_synthetic",
    "cell-painting": "upto_studies.cell_painting",
    "speakers": "upto_studies.speakers",
    "rxrx3-openphenom": "upto_studies.rxrx3_openphenom",
    "radial-classes": "upto_studies.radial_classes",
    "class-diversity": "upto_studies.class_diversity",
    "contrastive-patches": "upto_studies.contrastive_patches",
    "word-embeddings": "upto_studies.word_embeddings",
    "layers-of-gpts": "upto_studies.layers_of_gpts",
    "model-pairs": "upto_studies.model_pairs",
    "ica-efficiency": "upto_studies.ica_efficiency",
    "facets-mnist": "upto_studies.facets_mnist",
    "likelihood-surfaces": "upto_studies.likelihood_surfaces",
    "hierarchy": "upto_studies.dropped_assumptions",
    "pinwheel": "upto_studies.pinwheel",
    "digit-clusters": "upto_studies.digit_clusters",
    "side-information": "upto_studies.side_information",
    "index-upgrade": "upto_studies.index_upgrade",
}
"""Module of each study; its folder has the name of the study."""

# Lazy, so that the command can list studies without importing NumPy.
__getattr__, __dir__, __all__ = attach(__name__)
__all__ += ["STUDIES"]
