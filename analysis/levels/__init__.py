"""Levels of a history: when a case, or all cases together, became slower or faster.

Load finds the changes of every suite and stores them in `history_changes`, which `history` reads.
"""
