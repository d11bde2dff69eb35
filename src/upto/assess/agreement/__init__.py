"""What many runs share."""
