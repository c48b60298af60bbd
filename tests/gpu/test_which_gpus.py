"""Which GPUs ranks get: slices, GPUs that torch cannot use, the row of each rank's place."""

from __future__ import annotations

from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD, ONE

TWO_RANKS = "  - {name: ddp, strategy: ddp, scaling: weak, batch_per_rank: 4, world: [1, 2]}\n"
PLACES = "SELECT world_size, rank, device, gpu_uuid FROM rank_places JOIN runs USING (run_id) ORDER BY world_size, rank"

BOTH = 'BENCH_TASK=1 "$@" & BENCH_TASK=0 "$@"; code=$?; wait; exit $code'
TWO_TASKS = ("env", "BENCH_TASKS=2", "BENCH_LAUNCH=1", "bash", "-c", BOTH, "bash")


def uuid(kind: str, number: int) -> str:
    return f"{kind}-{number:08}-0000-0000-0000-000000000000"


def cut(gpus: Gpus, *places: str) -> None:
    """Put GPUs into MIG mode; each place, as in `0.2`, has a slice of 10 GiB."""
    for place in places:
        gpu, _, number = place.partition(".")
        gpus.readings |= {f"gpu{gpu}.mig_mode": 1, f"gpu{gpu}.mig{number}.exists": 1}
        gpus.readings |= {f"gpu{gpu}.mig{number}.memory_used": 0}


def test_each_rank_has_its_gpu_and_cpus_in_a_row(gpus: Gpus) -> None:
    gpus.readings |= {"gpu0.cpus": "0x1", "gpu1.cpus": "0x2"}
    done = gpus.suite(HEAD + TWO_RANKS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert gpus.ask(PLACES.replace("gpu_uuid", "gpu_uuid, cpus")) == [
        {"world_size": 1, "rank": 0, "device": 0, "gpu_uuid": uuid("GPU", 0), "cpus": "0"},
        {"world_size": 2, "rank": 0, "device": 0, "gpu_uuid": uuid("GPU", 0), "cpus": "0"},
        {"world_size": 2, "rank": 1, "device": 1, "gpu_uuid": uuid("GPU", 1), "cpus": "1"},
    ]


def test_only_the_gpus_that_ranks_use_count(gpus: Gpus) -> None:
    """GPU 0 is hidden from this session, and GPU 2 not used by a rank. Both are full."""
    gpus.count = 3
    gpus.readings |= {"gpu0.memory_used": 60 << 30, "gpu2.memory_used": 60 << 30}
    gpus.variables["CUDA_VISIBLE_DEVICES"] = "1,2"
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    read = "SELECT device, ranks, memory_used_bytes_peak FROM run_device_stats WHERE device IS NOT NULL ORDER BY 1"
    assert gpus.ask(read) == [
        {"device": 0, "ranks": 1, "memory_used_bytes_peak": 0},
        {"device": 1, "ranks": 0, "memory_used_bytes_peak": 60 << 30},
    ]
    assert gpus.ask(PLACES)[0]["gpu_uuid"] == uuid("GPU", 1)
    assert gpus.ask("SELECT peak_device_memory_used_bytes AS bytes FROM memory") == [{"bytes": 0}]
    assert gpus.ask("SELECT 1 FROM findings WHERE finding = 'other_process_on_gpu'") == []


def test_tasks_of_a_node_split_its_gpus_and_all_of_them_count(gpus: Gpus) -> None:
    gpus.count = 4
    gpus.launcher = TWO_TASKS
    done = gpus.suite(HEAD + TWO_RANKS.replace("[1, 2]", "[4]"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["device"] for row in gpus.ask(PLACES)] == [0, 2, 1, 3]
    (use,) = gpus.ask("SELECT devices, gpu_busy_share FROM hardware_use")
    assert use["devices"] == 4
    assert gpus.ask("SELECT sum(ranks) AS ranks FROM run_device_stats") == [{"ranks": 4}]


def test_ranks_on_slices_of_one_gpu_train_by_way_of_gloo(gpus: Gpus) -> None:
    gpus.count = 1
    cut(gpus, "0.0", "0.2")
    done = gpus.suite(HEAD + TWO_RANKS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(row["rank"], row["device"], row["gpu_uuid"]) for row in gpus.ask(PLACES)] == [
        (0, 0, uuid("MIG", 0)),
        (0, 0, uuid("MIG", 0)),
        (1, 1, uuid("MIG", 2)),
    ]
    (fact,) = gpus.ask("SELECT value FROM environment WHERE key = 'transport_1x2'")
    assert fact["value"].startswith("gloo over lo, by way of host memory")


def test_a_slice_that_does_not_tell_its_memory_ends_no_session(gpus: Gpus) -> None:
    cut(gpus, "0.0", "1.1")
    gpus.readings["gpu0.mig0.memory_used"] = "!4"
    done = gpus.suite(HEAD.replace("device: cuda", "device: cpu").replace("bf16", "fp32") + ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    facts = gpus.ask("SELECT key FROM environment WHERE key LIKE 'gpu%_memory_bytes'")
    assert facts == [{"key": "gpu1_memory_bytes"}]


def test_slices_of_two_gpus_use_nccl(gpus: Gpus) -> None:
    cut(gpus, "0.0", "1.1")
    done = gpus.suite(HEAD + TWO_RANKS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["gpu_uuid"] for row in gpus.ask(PLACES)][1:] == [uuid("MIG", 0), uuid("MIG", 8)]
    assert gpus.ask("SELECT value FROM environment WHERE key = 'nccl'")


def test_a_gpu_that_torch_has_no_code_for_is_refused(gpus: Gpus) -> None:
    gpus.settings["capability"] = 70
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert (
        "case one: GPU 0, NVIDIA A100-SXM4-80GB, has compute capability 7.0, for which torch" in done.stderr
    )
    assert not (gpus.results / "s").exists()


def test_a_gpu_that_nvml_sees_and_cuda_does_not_is_refused(gpus: Gpus) -> None:
    gpus.settings["devices"] = 1
    done = gpus.suite(HEAD + TWO_RANKS)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "CUDA shows this process only 1 GPU: name those that work" in done.stderr


def test_a_task_whose_gpu_cannot_be_used_takes_no_part(gpus: Gpus) -> None:
    """Tasks 0 and 1 have GPUs 0 and 2, and 1 and 3."""
    gpus.count = 4
    gpus.settings["devices"] = 3
    gpus.launcher = TWO_TASKS
    done = gpus.suite(HEAD + TWO_RANKS.replace("[1, 2]", "[2, 4]"))
    assert "task 1 on" in done.stderr
    assert "CUDA shows this process only 3 GPUs: name those that work" in done.stderr
    assert gpus.ask("SELECT world_size, status FROM runs ORDER BY 1") == [
        {"world_size": 2, "status": "ok"},
        {"world_size": 4, "status": "skipped"},
    ]


def test_the_doctor_names_the_gpu_that_torch_cannot_use(gpus: Gpus) -> None:
    gpus.settings["devices"] = 1
    done = gpus.bench("doctor")
    assert done.returncode == 2
    assert "CUDA shows this process only 1 GPU: name those that work" in done.stdout


def test_gpus_that_do_not_tell_their_mode_count_as_whole(gpus: Gpus) -> None:
    """GPU 1 gives no permission, and GPU 2 does not support the question."""
    gpus.count = 3
    gpus.readings |= {"gpu1.mig_mode": "!4", "gpu2.mig_mode": "!3"}
    done = gpus.suite(HEAD + TWO_RANKS.replace("[1, 2]", "[1, 3]"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["device"] for row in gpus.ask(PLACES)] == [0, 0, 1, 2]


def test_a_gpu_in_mig_mode_without_a_slice_is_no_slot(gpus: Gpus) -> None:
    gpus.readings["gpu1.mig_mode"] = 1
    gpus.settings["devices"] = 1
    doctor = gpus.bench("doctor")
    assert "GPU 1 is in MIG mode without a slice" in doctor.stdout
    assert "1 rank fits on this node, each with a GPU" in doctor.stdout
