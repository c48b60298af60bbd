"""ci/audit with a local service that knows a flaw, and without a service."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "ci" / "audit"
FLAW = {
    "id": "MADE-UP-1",
    "modified": "2026-01-01T00:00:00Z",
    "published": "2026-01-01T00:00:00Z",
    "summary": "A planted flaw",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "duckdb"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
        }
    ],
}


class _Osv(BaseHTTPRequestHandler):
    """The part of OSV's interface that `uv audit` uses: flaws of many packages by id, and each of them."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = {"vulns": [{"id": FLAW["id"], "modified": FLAW["modified"]}]}
        self._say({"results": [known if q["package"]["name"] == "duckdb" else {} for q in asked["queries"]]})

    def do_GET(self) -> None:
        self._say(FLAW)

    def _say(self, answer: object) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Osv)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def audit(tmp_path: Path) -> Callable[[str], str]:
    """`audit(url)`: output of ci/audit, which asks that service alone."""
    npm = tmp_path / "npm"  # the real one would ask a service elsewhere
    npm.write_text("#!/bin/sh\nexit 1\n")
    npm.chmod(0o755)

    def run(url: str) -> str:
        environment = os.environ | {
            "OSV_URL": url,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "NO_COLOR": "1",
        }
        environment["NO_PROXY"] = environment["no_proxy"] = "127.0.0.1"
        done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_what_is_known_against_a_locked_version_is_printed_and_fails_nothing(
    audit: Callable[[str], str], osv: str
) -> None:
    said = audit(osv)
    assert "all with their SHA-256" in said
    assert "OSV of uv.lock: Found 1 known vulnerability" in said
    assert "MADE-UP-1: A planted flaw" in said
    assert said.splitlines()[-1].startswith("npm of package-lock.json: did not answer")


def test_a_service_that_cannot_be_reached_is_said_and_fails_nothing(audit: Callable[[str], str]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # not listening: refused
        said = audit(f"http://127.0.0.1:{closed.getsockname()[1]}/")
    assert said.count("did not answer, so vulnerabilities of the locked versions are unknown") == 2
