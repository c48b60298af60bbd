"""Errors that a user can fix. Only the command line turns them into exit codes."""

from __future__ import annotations

import errno
import signal

OF_THE_MACHINE = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EIO, errno.ESTALE,
    errno.ENAMETOOLONG, errno.ELOOP,
)  # fmt: skip
"""Error numbers of an OSError that is not a defect: an unwritable folder, a full or broken disk, an impossible name."""


class InputError(ValueError):
    """The call, a suite file or the environment is unusable; the message names the place and the remedy."""

    exit_code = 2


class ToldToStop(BaseException):
    """SIGTERM or SIGHUP arrived while nothing was measured, like KeyboardInterrupt for Ctrl-C."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"stopped by {number.name}")
        self.exit_code = 128 + number
        self.terminal_gone = number is signal.SIGHUP
        """No terminal is left to print to."""
