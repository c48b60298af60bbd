"""Numbers and results as sentences."""
