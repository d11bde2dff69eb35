"""TODO batch_metrics."""
