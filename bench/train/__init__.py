"""The work of a rank: set-up, the measured loop, validation."""
