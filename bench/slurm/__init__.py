"""What Slurm says around a process, and what is said to Slurm."""
