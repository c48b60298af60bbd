"""Prediction before a run: communication time, memory per rank, and whether it fits.

Messages and memory are those of a shadow rank (bench/shadow). All else is arithmetic without torch.
docs/methodology/communication.md has the formulas of times; the database has the same ones as SQL macros.
"""
