"""How a decoder bends and stretches the space of its latents."""
