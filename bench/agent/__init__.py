"""The agent, one process per task: it starts, watches and ends the ranks of a run on its node."""
