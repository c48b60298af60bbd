"""Before a run: what its communication takes, what memory a rank needs, whether that fits.

Everything here is arithmetic without torch but for working_set.py, live_bytes.py and cuda_shapes.py, which a process of
its own runs (probe.py). The formulas of time are those of docs/methodology.md, which the database has as SQL macros.
"""
