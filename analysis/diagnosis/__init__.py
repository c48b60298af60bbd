"""Rules of diagnosis, shipped and custom, and their findings."""
