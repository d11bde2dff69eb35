"""Recording of the layers of torch modules, and models from the Hugging Face Hub and timm."""

from upto.activations.hub import load_model
from upto.activations.record import record_activations

__all__ = ["load_model", "record_activations"]
