"""Errors that a user can fix. Only the command line turns them into exit codes."""


class AnalysisError(ValueError):
    """The database, the results folder or a query is unusable. The message names the place and says what to do."""

    exit_code = 2


NO_RESULTS = "there is no such results folder: `bench suite` makes one, or give --results"
