"""Networks of images trained side by side: residual classifiers and masked autoencoders."""

from upto_studies.train.vision.settings import VisionTraining
from upto_studies.train.vision.training import VisionRun, train_vision

__all__ = ["VisionRun", "VisionTraining", "train_vision"]
