"""Names of pages."""

from __future__ import annotations

import os

import pytest

from analysis.report.html.files import compare_files, page_name, write_whole


def test_an_ordinary_session_names_its_page():
    assert page_name("20261121T014925Z-smoke-3f9a") == "20261121T014925Z-smoke-3f9a.html"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "index", "INDEX", ".hidden", "x" * 300, 'q"<>', "", "CON:\\"]
)
def test_an_unsafe_name_becomes_a_safe_one_with_a_hash(name):
    made = page_name(name)
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert len(made) <= 140
    assert not made.startswith(".")
    assert made.lower() != "index.html"


def test_names_that_look_alike_when_made_safe_stay_apart():
    assert page_name("a/b") != page_name("a:b")


def test_a_page_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OSError, match=r"page\.html"):
        write_whole(tmp_path / "page.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_pipe_that_is_named_like_a_comparison_does_not_hold_up_the_report(tmp_path):
    os.mkfifo(tmp_path / "compare-0123456789ab.html")
    assert compare_files(tmp_path) == []
