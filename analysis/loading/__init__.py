"""Load a results folder into the database."""
