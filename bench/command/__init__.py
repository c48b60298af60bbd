"""A user's command as the thing that is measured: its options and suite, its ranks, and what the probe left of it."""
