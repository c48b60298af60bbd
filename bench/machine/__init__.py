"""The machine: its slots, limits, container, environment and identity."""
