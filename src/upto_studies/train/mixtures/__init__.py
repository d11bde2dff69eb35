"""Autoencoders whose latents have a mixture as their prior."""
