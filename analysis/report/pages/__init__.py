"""Whole pages: a session, a comparison, a history, the index."""
