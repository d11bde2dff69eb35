"""Training of whole ensembles of networks at once."""

from upto_studies.train.ensembles import Ensemble
from upto_studies.train.networks import Network
from upto_studies.train.settings import Training
from upto_studies.train.training import train_ensemble

__all__ = ["Ensemble", "Network", "Training", "train_ensemble"]
