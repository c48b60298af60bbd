"""The environment table holds facts of the machine and nothing that could be a secret."""

from __future__ import annotations

import pytest

from bench.launch import environment


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
