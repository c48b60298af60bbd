"""Neural networks of the workloads that ship; one file per model."""
