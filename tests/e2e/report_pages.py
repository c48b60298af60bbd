"""The sessions whose report the browser tests open: one of each kind that a page must show well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from analysis.loading.load import load
from analysis.report.html.files import page_name
from tests.e2e.browser import Browser
from tests.factory import Case, make_session

SCALING = "20261121T014925Z-smoke-3f9a"
GPUS = "20261121T034925Z-gpus-77aa"
BROKEN = "20261121T044925Z-broken-0001"
HOSTILE = "we<i>rd\"&'[x] \u202ename"
SCRIPT = "<script>window.hacked = 1<\u2215script><img src=x onerror=window.hacked=1>"
SUITE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>" + "s" * 300
ONCE = "20261121T054925Z-once-0002"
ALL = [SCALING, GPUS, BROKEN, HOSTILE, ONCE]
KINDS = {"scaling": SCALING, "gpus": GPUS, "broken": BROKEN, "hostile": HOSTILE, "once": ONCE}
"""Short names for the tests' sessions."""
COMPARED = [SCALING, ONCE]
"""The sessions of the page that compares, the baseline first."""


def make_sessions(results: Path) -> None:
    """Write and load one session of each kind."""
    results.mkdir(parents=True)
    make_session(
        results,
        [
            Case(name="single", strategy="single", scaling="none", step_ms={1: 100.0}, jitter=0.03, steps=60),
            Case(name="ddp", step_ms={1: 100.0, 2: 55.0, 4: 30.0}, jitter=0.03, steps=60),
            Case(
                name="fsdp",
                strategy="fsdp",
                step_ms={1: 110.0, 2: 70.0, 4: 50.0},
                jitter=0.03,
                statuses={(4, 1): "oom"},
                oversubscribed=frozenset({4}),
            ),
            Case(name="n" * 150, scaling="weak", step_ms={1: 100.0, 2: 105.0}, jitter=0.02),
        ],
        session_id=SCALING,
    )
    gpus = Case(
        name="fsdp", strategy="fsdp", device_type="cuda", step_ms={4: 60.0, 8: 32.0, 16: 19.0, 32: 12.0}
    )
    make_session(results, [gpus], session_id=GPUS)
    failed = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}
    make_session(results, [Case(name="ddp", step_ms={1: 50.0, 2: 30.0}, statuses=failed)], session_id=BROKEN)
    make_session(results, [Case(name="ddp", step_ms={1: 50.0, 2: 30.0}, repeats=1)], session_id=ONCE)
    hostile = [
        Case(name=f'">{SCRIPT}', step_ms={1: 50.0, 2: 30.0}),
        Case(name="{{x}}${y}\u2028'", step_ms={1: 9.0}),
    ]
    make_session(results, hostile, session_id=HOSTILE, suite=SUITE, tags=["<b>bold</b>"])
    assert load(results).problems == ()


def write_report(folder: Path) -> Path:
    """`folder`/out, which the real command writes from `folder`/results."""
    out = folder / "out"
    command = [sys.executable, "-m", "bench", "report"]
    folders = ["--results", str(folder / "results"), "--out", str(out)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    for chosen in ([*COMPARED, "--compare"], []):
        done = subprocess.run(
            [*command, *chosen, *folders], check=True, capture_output=True, text=True, env=environment
        )
    assert done.stdout.splitlines()[-1] == str(out / "index.html")
    return out


def open_page(browser: Browser, report: Path, session: str, *, folded: bool = False) -> Path:
    """Open a session's page with an empty console and an empty list of requests, and every section of it unless they
    shall stay `folded`."""
    page = report / page_name(session)
    browser.console()
    browser.requests()
    browser.open(page)
    if not folded:
        open_sections(browser)
    return page


def open_sections(browser: Browser) -> None:
    """Open every folded section, and wait for its charts."""
    browser.run("document.querySelectorAll('details.layer').forEach((fold) => { fold.open = true; })")
    browser.wait(
        "return [...document.querySelectorAll('figure.chart')].every((figure) => figure.dataset.state !== undefined)"
    )
