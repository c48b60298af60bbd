"""Scaling laws fitted to the throughput of a case over its workers: Amdahl, Gustafson, the Universal Scalability Law.

Load fits them once and stores what it found in `law_fits`; the views `scaling_law` and `scaling_prediction` read that.
"""
