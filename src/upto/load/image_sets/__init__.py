"""Sets of images from files: what is known of each, how it is read, and what was read."""
