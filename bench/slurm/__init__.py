"""Slurm: read the job, step and accounts around a process, and write command lines and scripts for Slurm."""
