"""Errors that a user can mend. Only the command line turns them into exit codes."""


class InputError(ValueError):
    """The call, a suite file or the environment is unusable; the message names the place and the remedy."""

    exit_code = 2
