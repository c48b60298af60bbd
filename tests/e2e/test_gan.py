"""A GAN, whose workload makes its own steps, trains as in a plain loop, at every size and under every strategy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from processes import OneProcess

from tests.e2e.documents import saved_examples

STEPS, RATE, BATCH = 6, 1e-3, 64
ROOT = Path(__file__).parents[2]
SIZES = {"single": [1], "ddp": [1, 2], "fsdp": [1, 2], "fsdp1": [2]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    made = tmp_path_factory.mktemp("custom_step")
    (made / "my_gan.py").write_text(saved_examples(ROOT / "docs/first-suite.md")["my_gan.py"])
    cases: list[dict[str, Any]] = [
        {"name": name, "strategy": name, "scaling": "strong", "global_batch": BATCH, "world": world}
        for name, world in SIZES.items()
    ]
    cases.append(cases[1] | {"name": "fp16", "world": [2], "train": {"precision": "fp16", "clip_norm": 1.0}})
    cases.append(cases[2] | {"name": "profiled", "world": [2], "measure": {"profiled": 2, "selfcheck": 12}})
    suite = {
        "title": "A GAN",
        "workload": {"name": "./my_gan.py:Gan"},
        "device": "cpu",
        "train": {"learning_rate": RATE},
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 120},
        "cases": cases,
    }
    (made / "gan.yaml").write_text(json.dumps(suite))
    options = ["--results", str(made / "r"), "--session", "s", "--ranks-per-node", "2"]
    done = one_process.run("suite", str(made / "gan.yaml"), *options)
    assert done.returncode == 0, done.stderr
    return made


def losses(folder: Path, case: str, ranks: int) -> np.ndarray:
    """[steps] float64: mean over the ranks."""
    table = pq.read_table(folder / f"r/s/{case}.1x{ranks}.r0/steps.node0.parquet").to_pydict()
    by_step = np.zeros(STEPS)
    trained = [at for at, kind in enumerate(table["kind"]) if kind in ("warmup", "measured")]
    np.add.at(by_step, [table["step"][at] for at in trained], [table["loss"][at] / ranks for at in trained])
    return by_step


def by_hand(folder: Path, places: list[torch.Tensor]) -> tuple[list[float], list[float]]:
    """The losses of generator and discriminator in a plain loop over these examples."""
    sys.path.insert(0, str(folder))
    import my_gan

    sys.path.remove(str(folder))
    work = my_gan.Gan()
    work.prepare()
    torch.manual_seed(0)
    model = work.model()
    generator, discriminator = model["generator"], model["discriminator"]
    for_generator, for_discriminator = (
        torch.optim.AdamW(one.parameters(), lr=RATE) for one in model.values()
    )
    found: tuple[list[float], list[float]] = [], []
    for at in places:
        batch = work.batch(at, at)
        real, fake = discriminator(batch["real"]), discriminator(generator(batch["noise"]).detach())
        targets = torch.cat([torch.ones_like(real), torch.zeros_like(fake)])
        for_discriminator.zero_grad()
        other = my_gan.cross_entropy(torch.cat([real, fake]), targets)
        other.backward()
        for_discriminator.step()
        scores = discriminator(generator(batch["noise"]))
        for_generator.zero_grad()
        loss = my_gan.cross_entropy(scores, torch.ones_like(scores))
        loss.backward()
        for_generator.step()
        found[0].append(loss.item())
        found[1].append(other.item())
    return found


def test_its_losses_are_those_of_a_plain_loop(folder: Path, one_process: OneProcess) -> None:
    from bench.data.order import Order

    order = Order(4096, 0)
    places = [order.places(range(step * BATCH, (step + 1) * BATCH)) for step in range(STEPS)]
    generator, discriminator = by_hand(folder, places)
    np.testing.assert_allclose(losses(folder, "single", 1), generator, rtol=1e-5)
    query = (
        "SELECT case_name, step, avg(loss) AS loss, count(*) AS n, min(name) AS name FROM named_losses"
        " JOIN runs USING (session_id, run_id, attempt) WHERE case_name IN ('single', 'fsdp1')"
        " GROUP BY ALL ORDER BY ALL"
    )
    done = one_process.run("sql", query, "--results", str(folder / "r"), "--format", "json")
    rows = json.loads(done.stdout)
    assert {(row["case_name"], row["name"], row["n"]) for row in rows} == {
        ("fsdp1", "discriminator", 2), ("single", "discriminator", 1),
    }  # fmt: skip
    for case in ("single", "fsdp1"):
        kept = [row["loss"] for row in rows if row["case_name"] == case]
        np.testing.assert_allclose(kept, discriminator, rtol=1e-4)


def test_the_report_draws_the_losses_by_name(folder: Path, one_process: OneProcess) -> None:
    chart = ["export", "s", "--format", "svg", "--chart", "named_losses", "--results", str(folder / "r")]
    done = one_process.run(*chart)
    assert (done.returncode, done.stdout.count("discriminator") > 0) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("case", "ranks"), [(case, ranks) for case, world in SIZES.items() for ranks in world] + [("profiled", 2)]
)
def test_it_trains_alike_at_every_size_and_under_every_strategy(folder: Path, case: str, ranks: int) -> None:
    np.testing.assert_allclose(losses(folder, case, ranks), losses(folder, "single", 1), rtol=1e-4)


def test_half_precision_scales_and_clips_the_losses_of_both(folder: Path) -> None:
    measured = losses(folder, "fp16", 2)
    np.testing.assert_allclose(measured, losses(folder, "single", 1), rtol=0.05)
    assert not np.array_equal(measured, losses(folder, "ddp", 2))


def test_every_phase_is_measured(folder: Path) -> None:
    table = pq.read_table(folder / "r/s/ddp.1x2.r0/steps.node0.parquet").to_pydict()
    for phase in ("forward_ns", "backward_ns", "optimizer_ns"):
        assert min(table[phase]) > 0
