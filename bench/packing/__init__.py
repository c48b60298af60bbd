"""A session as one archive of its files and a manifest of checksums, which another site can verify and load."""
