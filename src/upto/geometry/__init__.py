"""TODO geometry."""
