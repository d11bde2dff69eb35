"""TODO decoders."""
