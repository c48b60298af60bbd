"""Scaling laws fitted to the throughput of a case over its workers: Amdahl, Gustafson, the Universal Scalability Law.

Load fits them once and stores the fits in `law_fits`, which `scaling_law` and `scaling_prediction` read.
"""
