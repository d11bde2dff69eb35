"""Latents against known factors: structure, scores, and which latent tells what."""
