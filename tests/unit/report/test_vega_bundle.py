"""Vega's JavaScript is made once and kept; it is made again if it cannot be kept."""

from __future__ import annotations

import pytest

from analysis.errors import AnalysisError
from analysis.report.html import vega_bundle


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "scalebench"


def test_what_was_made_is_kept_for_the_next_time(cache, monkeypatch):
    monkeypatch.setattr(vega_bundle, "_PROGRAM", "print('const made = 1;', end='')")
    with vega_bundle.Bundle() as made:
        assert made.text() == "const made = 1;"
    assert [path.read_text() for path in cache.iterdir()] == ["const made = 1;"]
    monkeypatch.setattr(vega_bundle, "_PROGRAM", "raise SystemExit('must not run')")
    with vega_bundle.Bundle() as kept:
        assert kept.text() == "const made = 1;"


def test_a_cache_folder_that_cannot_be_written_costs_nothing_but_time(cache, monkeypatch):
    cache.write_text("a file where the folder should be")
    monkeypatch.setattr(vega_bundle, "_PROGRAM", "print('const made = 1;', end='')")
    with vega_bundle.Bundle() as made:
        assert made.text() == "const made = 1;"
    assert cache.read_text() == "a file where the folder should be"


def test_a_bundle_that_cannot_be_made_is_an_error_with_its_reason(cache, monkeypatch):
    monkeypatch.setattr(vega_bundle, "_PROGRAM", "raise SystemExit('no vl_convert here')")
    with pytest.raises(AnalysisError, match="no vl_convert here"), vega_bundle.Bundle() as made:
        made.text()
    assert not cache.exists()


def test_leaving_early_ends_the_process(cache, monkeypatch):
    monkeypatch.setattr(vega_bundle, "_PROGRAM", "import time; time.sleep(600)")
    with vega_bundle.Bundle() as made:
        process = made._process
    assert process is not None
    assert process.returncode == -9
