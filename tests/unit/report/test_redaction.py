"""Pages for others: no host name, path or command line is in them, also not in their compressed data."""

from __future__ import annotations

import re

import polars as pl
import pytest

from analysis.loading.load import load
from analysis.report import write
from analysis.report.html.embedding import unpacked
from analysis.report.redaction import Redaction
from tests.factory import Case, make_session

SESSIONS = ("20261121T014925Z-one-000a", "20261122T014925Z-one-000b")
HOST, FOLDER = "gpu-07.lab.example.org", "/scratch/anna/data"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("redacted") / "results"
    folder.mkdir()
    facts = {"0": {"hostname": HOST, "own_path": FOLDER, "torch": "2.15.0"}}
    for session_id in SESSIONS:
        cases = [Case(name="ddp", step_ms={1: 20.0, 2: [11.0, 11.2, 11.4]}, statuses={(2, 1): "failed"})]
        make_session(folder, cases, session_id=session_id, environment=facts)
    assert load(folder).problems == ()
    return folder


def texts(results, out, **options):
    """Every page, with its data unpacked."""
    pages = [path.read_text("utf-8") for path in write(results, SESSIONS, out, compare=True, **options)]
    data = [
        str(unpacked(found))
        for page in pages
        for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
    ]
    return " ".join([*pages, *data])


def test_a_redacted_report_has_no_host_no_path_and_no_command_line_and_the_next_one_has(results, tmp_path):
    hidden = texts(results, tmp_path / "redacted", redact=True)
    shown = texts(results, tmp_path / "all")
    for secret in (HOST, "gpu-07", FOLDER, "bench suite smoke"):
        assert secret in shown
        assert secret not in hidden
    assert "host-1" in hidden
    assert "2.15.0" in hidden


def test_only_whole_names_and_absolute_paths_are_replaced():
    rows = pl.DataFrame(
        {
            "session_id": ["20261121-node-1"],
            "evidence": [
                "node-1 at 12 examples/s, 1/2 of node-10; see /scratch/anna/x.log, ~anna/y and node-1.lab"
            ],
            "config": [
                '{"workload_options": {"command": ["python", "a.py"], "env": {"TOKEN": "s"}, "depth": 2}}'
            ],
            "tags": [["on node-1", "nightly"]],
            "command": [["bench", "suite"]],
        }
    )
    (row,) = Redaction(hosts={"node-1": "host-1"}).frame(rows).to_dicts()
    assert row == {
        "session_id": "20261121-node-1",
        "evidence": "host-1 at 12 examples/s, 1/2 of node-10; see (path) (path) and host-1",
        "config": '{"workload_options": {"command": "(left out)", "env": "(left out)", "depth": 2}}',
        "tags": ["on host-1", "nightly"],
        "command": None,
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("reads '/secret dir/x.txt' first", "reads '(path)' first"),
        ('{"root": "/secret dir/x.txt"}', '{"root": "(path)"}'),
        ("data in /secretroot", "data in (path)"),
        (r"C:\Users\anna\image.sif", "(path)"),
        (r"\\server\share\data", "(path)"),
        ("s3://anna-bucket/data", "(path)"),
        ("gcc -I/home/anna/x a//home/anna/x", "gcc -I(path) a/(path)"),
        ("../anna/train.py", "(path)"),
        ("GPU02-ib0, gpu02.example.org and gpu020", "host-1, host-1 and gpu020"),
        ("10.0.3.17 and fe80:0:0:0:1:2", "(address) and (address)"),
        ("12 examples/s, 1/2, 05:26:36, torch 2.15.0, 0000:3b:00.0", None),
        ("https://docs.example.org/page", None),
    ],
)
def test_paths_hosts_and_addresses_of_every_kind_are_replaced(text, shown):
    assert Redaction(hosts={"gpu02": "host-1"}).text(text) == (text if shown is None else shown)


def test_a_list_of_nodes_is_left_out():
    facts = pl.DataFrame({"key": ["slurm_node_list", "torch"], "value": ["gpu[01-04]", "2.15.0"]})
    assert Redaction(hosts={}).frame(facts).rows() == [("slurm_node_list", "(left out)"), ("torch", "2.15.0")]
