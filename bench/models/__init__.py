"""Neural networks of the shipped workloads; one file per model."""
