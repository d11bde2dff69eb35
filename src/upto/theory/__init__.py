"""What the theorems promise: bounds with every constant, and when they say nothing."""
