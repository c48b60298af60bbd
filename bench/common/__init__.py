"""Errors, files, paths and processes: used by every part of the runner."""
