"""Imported first by the server that ranks are forked from: what may end it, and what may not."""

import signal

from bench import lost_image
from bench.process import die_with_parent, name_process
from bench.safe_path import protect_imports

name_process("fork server")
lost_image.hide_errors_of_a_lost_image()
protect_imports()  # before user code, which runs in the processes forked from here

# Each may reach every process of a terminal or a Slurm step; the agent decides. Ranks inherit it.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

die_with_parent()  # the server dies with its agent, and the ranks with the server
