"""What a rank does: set up, the measured loop, validation."""
