"""TODO activations."""
