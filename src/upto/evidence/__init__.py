"""What rows can show: which are held out, which depend on others, random pairings, intervals."""
