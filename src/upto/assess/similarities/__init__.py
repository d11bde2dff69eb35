"""How similar runs are by any measures, beside what chance gives."""
