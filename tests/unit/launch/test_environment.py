"""The environment table holds facts of the machine and nothing that could be a secret."""

from __future__ import annotations

from pathlib import Path

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


def test_the_fingerprint_changes_with_the_suite_and_not_with_its_order() -> None:
    facts = environment.gather()
    first = environment.fingerprint(facts, {"a": 1, "b": 2}, "cpu")
    assert first == environment.fingerprint(facts, {"b": 2, "a": 1}, "cpu")
    assert first["suite"] != environment.fingerprint(facts, {"a": 1, "b": 3}, "cpu")["suite"]


def test_the_fingerprint_does_not_change_with_the_folder_of_a_users_own_workload() -> None:
    def at(folder: str, options: int = 1) -> dict[str, str]:
        name = f"{folder}/my_model.py:TinyLm"
        suite = {"cases": [{"workload": {"name": name, "options": {"width": options}}}]}
        return environment.fingerprint({}, suite, "cpu")

    assert at("/here") == at("/there/else")
    assert at("/here") != at("/here", options=2)


def test_a_users_own_file_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "my_model.py"
    file.write_text("width = 8")
    first = environment.own_file(f"{file}:TinyLm")
    assert list(first) == ["content of my_model.py"]
    assert environment.own_file(f"{file}:Other") == first
    file.write_text("width = 16")
    assert environment.own_file(f"{file}:TinyLm") != first
    assert environment.own_file("spiral_mlp") == environment.own_file(f"{tmp_path}/gone.py:TinyLm") == {}
