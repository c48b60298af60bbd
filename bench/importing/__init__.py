"""Timings that were measured elsewhere become a session: one file per format, then one check, then one folder.

Nothing is written unless everything in the file is sound. A run that is imported has a whole time and no steps."""
