"""The law of a case: its time per example over its workers, an average of three forms by how well each one fits.

Load fits laws once and stores them in `law_fits`, which `scaling_law` and `scaling_prediction` read.
"""
