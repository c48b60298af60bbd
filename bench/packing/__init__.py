"""A session as one archive, so that another site can verify it and load it: a manifest of checksums, and its files."""
