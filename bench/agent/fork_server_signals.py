"""Imported first by the fork server: its process ignores signals and dies with its agent."""

import gc
import signal

from bench.common import unreadable_image
from bench.common.process import die_with_parent, name_process
from bench.common.safe_path import protect_imports

name_process("fork server")
unreadable_image.hide_errors_of_a_lost_image()
protect_imports()  # before users' code, which runs in forked processes

# A terminal or Slurm may send these to every process of the step; only the agent reacts. Ranks inherit this.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

die_with_parent()  # the server dies with its agent, and the ranks with the server

gc.disable()  # until the end of bench.agent.fork_server_preload: a tenth of its time would be spent on garbage
