"""One throw-away Slurm cluster and one image of the whole CUDA stack, for all tests of this folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.e2e.cluster.nodes import Nodes

ROOT = Path(__file__).resolve().parents[3]
PACKED = ("bench", "analysis", "suites", "results.duckdb-schema")
CODE = "/results/code.sqfs"
RUNS_THE_CHECKOUT = (
    f"APPTAINER_BIND=/results,{CODE}:/scalebench:image-src=/,ro",
    "APPTAINERENV_PYTHONPATH=/scalebench",
)
_BUILD_TIMEOUT_S = 1_800
_START_TIMEOUT_S = 180


class Cluster:
    """A cluster of ci/cluster/start: nodes n1 and n2 with four GPU devices each, and a login node.

    Commands are lines for a login shell on the login node, run by the ordinary user `user` in its home folder.
    Inside, the results folder is /results and the images are in /images. `apptainer` runs the code of the checkout
    instead of the image's, unless `user_code`. That code is also in an image, and is mounted as a user's image is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self._log = (folder / "start.log").open("w+")
        # If we are killed, so is the cluster.
        command = ["setpriv", "--pdeathsig", "TERM", str(ROOT / "ci/cluster/start"), str(folder)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, start_new_session=True)
        self._wait_until_ready()
        self._pack_the_checkout()

    def run(
        self, command: str, timeout: float = 300, *, root: bool = False, user_code: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Exit code and output. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        line = self._line(command, root=root, user_code=user_code)
        return subprocess.run(line, capture_output=True, text=True, timeout=timeout, check=False)

    def background(
        self,
        command: str,
        *,
        root: bool = False,
        user_code: bool = False,
        output: int | IO[str] = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """The running command, with stdout and stderr in one stream; terminate() sends SIGTERM to the shell
        inside."""
        line = self._line(command, root=root, user_code=user_code)
        return subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, text=True)

    def processes(self) -> list[str]:
        """Command lines of the user's processes on all nodes, including those that start and mount containers."""
        line = [*self._entry(), "--root", "ps", "--user", "user", "-o", "args="]
        return subprocess.run(line, capture_output=True, text=True, check=False).stdout.splitlines()

    def first_process(self) -> int:
        """Id of the cluster's first process on this machine."""
        return int((self.folder / "pid").read_text())

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send that signal to ci/cluster/start and return its exit code."""
        self._process.send_signal(number)
        code = self._process.wait(30)
        self._log.close()
        return code

    def _wait_until_ready(self) -> None:
        for _ in range(_START_TIMEOUT_S * 10):
            if (self.folder / "pid").exists():
                return
            try:
                self._process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            break
        self.stop(signal.SIGKILL)
        raise RuntimeError(f"no cluster: {(self.folder / 'start.log').read_text()}")

    def _pack_the_checkout(self) -> None:
        folders = " ".join(f"/scalebench/{name}" for name in PACKED)
        packed = f"mksquashfs {folders} {CODE} -comp zstd -quiet -no-progress"
        done = self.run(packed, user_code=True)
        assert done.returncode == 0, done.stderr

    def _entry(self) -> list[str]:
        return [str(ROOT / "ci/cluster/run"), "--in", str(self.folder)]

    def _line(self, command: str, *, root: bool, user_code: bool) -> list[str]:
        code = [] if user_code else ["env", *RUNS_THE_CHECKOUT]
        return [*self._entry(), *["--root"] * root, *code, "bash", "-lc", command]


def require_root_and_apt() -> None:
    """Skip the test if the scripts of ci/ cannot work."""
    if os.geteuid() != 0:
        pytest.skip("clusters and images are made by root")
    if shutil.which("mmdebstrap") is None and shutil.which("apt-get") is None:
        pytest.skip("there is neither mmdebstrap nor apt-get, which would bring it")


def build(*arguments: str) -> Path:
    """The file that ci/image makes, or made earlier."""
    require_root_and_apt()
    result = subprocess.run(
        [ROOT / "ci/image", *arguments], capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.strip())


def inside(image: Path) -> str:
    """Path of this image in a cluster."""
    return f"/images/{image.name}"


@pytest.fixture(scope="session")
def image() -> str:
    """Path of bench.sif in a cluster. Its stack is current; its copy of our code may be older."""
    return inside(build("sif", "--any-code"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require_root_and_apt()
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def nodes(cluster: Cluster) -> Nodes:
    return Nodes(cluster)


@pytest.fixture
def idle_nodes(cluster: Cluster, nodes: Nodes) -> Iterator[None]:
    """After the test, no process is left on the nodes, even if the test failed."""
    yield
    if nodes.left():
        cluster.run("scancel --user user; while squeue --noheader | grep -q .; do sleep 0.1; done")
