"""Errors that a user can mend. Only the command line turns them into exit codes."""

from __future__ import annotations

import errno

OF_THE_MACHINE = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EIO, errno.ESTALE,
    errno.ENAMETOOLONG, errno.ELOOP,
)  # fmt: skip
"""Of an OSError: a folder that may not be written, a disk that is full or broken, a name that no file can have. No
defect of ours."""


class InputError(ValueError):
    """The call, a suite file or the environment is unusable; the message names the place and the remedy."""

    exit_code = 2
