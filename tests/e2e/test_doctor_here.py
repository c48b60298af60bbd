"""bench doctor on the current machine, with torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.doctor import judge
from bench.doctor.gather_facts import gather


def test_this_machine_can_run_suites_and_its_facts_are_of_their_kind(tmp_path: Path) -> None:
    """tests/e2e/test_hostile_folder.py calls the command."""
    facts = gather(tmp_path / "results")
    findings = judge(facts)
    assert [finding for finding in findings if finding.level == "fail"] == []
    assert "gloo works" in [finding.text for finding in findings]
    assert list(tmp_path.iterdir()) == []
    assert 1 <= facts.cpus_given <= facts.cpus_online
    assert 0 < facts.clock_read_ns < 1e6
    assert facts.memory_available_bytes > 2**28
    assert facts.results.writable
    assert facts.torch is not None
    assert facts.torch.version[0].isdigit()


@pytest.mark.gpu
def test_torch_nccl_and_nvml_agree_on_a_gpu_machine(tmp_path: Path) -> None:
    facts = gather(tmp_path)
    assert facts.torch is not None
    assert facts.slots is not None
    assert facts.torch.nccl_error is None
    assert facts.torch.cuda_devices == facts.slots.cuda_devices_per_node > 0
