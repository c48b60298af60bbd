"""Text data sets."""
