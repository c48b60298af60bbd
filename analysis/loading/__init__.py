"""A results folder becomes rows of the database."""
