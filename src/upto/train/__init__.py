"""Train whole ensembles of networks at once."""

from upto.train.ensembles import Ensemble
from upto.train.networks import Network
from upto.train.settings import Training
from upto.train.training import train_ensemble

__all__ = ["Ensemble", "Network", "Training", "train_ensemble"]
