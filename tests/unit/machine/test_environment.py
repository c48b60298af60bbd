"""The environment table holds facts of the machine and nothing that could be a secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.machine import environment
from bench.machine.environment import OBEYED
from bench.machine.fingerprint import fingerprint
from tests.unit.machine.test_made_with import CPU

METHODOLOGY = Path(__file__).parents[3] / "docs" / "methodology" / "sessions.md"


def test_secrets_in_the_environment_are_never_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "SLURM_JWT", "NCCL_PASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    assert "hunter2" not in str(environment.gather())


def test_facts_say_what_the_machine_is() -> None:
    facts = environment.gather()
    assert facts["torch"].startswith("2.")
    assert int(facts["cpus_given"]) >= 1
    assert int(facts["memory_bytes"]) > 1 << 28


def test_the_version_of_cuda_is_that_of_torch_which_is_not_imported() -> None:
    import torch

    assert environment.gather().get("cuda") == torch.version.cuda


def test_what_tunes_nccl_goes_from_the_environment_into_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in OBEYED:
        monkeypatch.delenv(name, raising=False)
    assert fingerprint(CPU, [environment.gather()], {})["variables"] == "none set"
    for name, value in (("NCCL_NET", "Socket"), ("NCCL_NVLS_ENABLE", "0"), ("NCCL_PASSWORD", "hunter2")):
        monkeypatch.setenv(name, value)
    told = fingerprint(CPU, [environment.gather()], {})["variables"]
    assert told == "NCCL_NET=Socket NCCL_NVLS_ENABLE=0"


def test_the_documents_name_every_variable_that_libraries_obey() -> None:
    (listed,) = re.findall(r"^The `variables` are (.*?):", METHODOLOGY.read_text("utf-8"), re.S | re.M)
    assert tuple(re.findall(r"`(\w+)`", listed)) == OBEYED
