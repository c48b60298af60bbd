"""How tests/conftest.py treats skips: pytest runs on small files next to a copy of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import gpu_count

_SOURCES = {
    "call": "import pytest\ndef test_it():\n    pytest.skip('no kernel feature')\n",
    "mark": "import pytest\n@pytest.mark.skip(reason='no kernel feature')\ndef test_it():\n    pass\n",
    "module": "import pytest\npytest.skip('no kernel feature', allow_module_level=True)\n",
    "fixture": "def test_it(require_program):\n    require_program('no-such-program')\n",
    "gpu": "import pytest\n@pytest.mark.gpu\ndef test_it():\n    pytest.skip('not today')\n",
    "xfail": "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_it():\n    assert 1 == 2\n",
    "passing": "def test_it():\n    pass\n",
}


def outcomes(folder: Path, ci: str) -> dict[str, str]:
    """Outcome by the name of the small file, and the whole of pytest's output under `output`."""
    shutil.copy(Path(__file__).parents[1] / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    gpu: needs a GPU\n")
    for name, source in _SOURCES.items():
        (folder / f"test_{name}.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--no-fold-skipped"]
    env = {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = subprocess.run(
        [*command, "--continue-on-collection-errors"],
        cwd=folder,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )
    found = re.findall(r"^([A-Z]+) (?:\[1\] )?test_(\w+)\.py", result.stdout, flags=re.MULTILINE)
    return {"output": result.stdout, **{name: outcome for outcome, name in found}}


@pytest.fixture(scope="module")
def in_ci(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outcomes(tmp_path_factory.mktemp("ci"), ci="true")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outcomes(tmp_path_factory.mktemp("elsewhere"), ci="")


@pytest.mark.parametrize("way", ["call", "mark", "module", "fixture"])
def test_a_skip_is_a_failure_in_ci_however_it_came_about(in_ci: dict[str, str], way: str) -> None:
    # Before the test body begins pytest calls a failure an error.
    assert in_ci[way] == ("ERROR" if way in ("mark", "module") else "FAILED")
    assert "with CI=true nothing may be skipped. Skipped: no kernel feature" in in_ci["output"]


@pytest.mark.parametrize("way", ["call", "mark", "module", "fixture"])
def test_elsewhere_a_skip_stays_one_and_gives_its_reason(elsewhere: dict[str, str], way: str) -> None:
    assert elsewhere[way] == "SKIPPED"
    assert "the program no-such-program is not on PATH" in elsewhere["output"]


def test_a_gpu_test_may_be_skipped_in_ci_only_where_there_is_no_gpu(in_ci: dict[str, str]) -> None:
    assert in_ci["gpu"] == ("SKIPPED" if gpu_count() == 0 else "FAILED")


def test_an_expected_failure_is_no_skip_and_a_pass_stays_one(in_ci: dict[str, str]) -> None:
    assert (in_ci["xfail"], in_ci["passing"]) == ("XFAIL", "PASSED")
