"""Prediction before a run: communication time, memory per rank, and whether it fits.

All of it is arithmetic without torch, except activations.py, which runs in a separate process (model_probe.py). The
time formulas are those of docs/methodology.md; the database has the same ones as SQL macros.
"""
