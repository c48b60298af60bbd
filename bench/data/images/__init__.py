"""Image data sets."""
