"""Train whole ensembles of torch models at once."""
