"""Imported first by the fork server: its process ignores signals, dies with its agent and adopts orphans."""

import gc
import signal
import warnings

from bench.common import unreadable_image
from bench.common.process import adopt_orphans, die_with_parent, name_process
from bench.common.safe_path import protect_imports

name_process("fork server")
unreadable_image.hide_errors_of_a_lost_image()
protect_imports()  # before users' code, which runs in forked processes

# A terminal or Slurm may send these to every process of the step; only the agent reacts. Ranks inherit this.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

die_with_parent()  # the server dies with its agent, and the ranks with the server

adopt_orphans()  # then bench.agent.leftovers finds what ranks leave
warnings.filterwarnings(
    "ignore", "forkserver: waitpid returned unexpected pid"
)  # of an orphan that has ended

gc.disable()  # until the end of bench.agent.fork_server_preload: a tenth of its time would be spent on garbage
