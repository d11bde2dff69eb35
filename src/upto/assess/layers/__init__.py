"""Which layer of one run does what a layer of another does."""
