"""Variational autoencoders whose latents have a mixture as their prior, and those beside them."""

from upto_studies.train.mixtures.mixture_members import MixtureMembers
from upto_studies.train.mixtures.mixture_models import MixtureModel, MixtureTraining
from upto_studies.train.mixtures.variational_steps import train_mixtures

__all__ = ["MixtureMembers", "MixtureModel", "MixtureTraining", "train_mixtures"]
