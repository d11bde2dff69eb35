"""Language models of our own: subwords, GPTs, log-bilinear word embeddings and n-grams."""
