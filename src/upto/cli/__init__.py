"""The command line: one module a command, the same words as the functions."""
