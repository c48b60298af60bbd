"""Sections of a session's page: one question and its table each."""
