"""Profiled steps: kernels and collective operations of a trace."""
