"""The facts that the checks judge. Gathering them is apart (bench/doctor/gather*.py), so that checks are pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.records.run_spec import Slots


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder that runs write to."""

    path: str
    writable: bool
    """Where it does not exist yet: whether its nearest existing parent is."""
    free_bytes: int
    file_system: str
    """As the kernel names it: ext4, nfs4, lustre, tmpfs ..."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU as NVML shows it, whatever CUDA_VISIBLE_DEVICES says."""

    index: int
    uuid: str
    name: str
    memory_bytes: int
    mig_uuids: tuple[str, ...] = ()
    """Of its MIG slices, where it is cut into such."""


@dataclass(frozen=True, kw_only=True)
class Nvidia:
    """The NVIDIA driver, from the kernel's side and from NVML's."""

    kernel_driver: str | None = None
    """Version in /proc, which a container shows too; null without a driver."""
    nvml_error: str | None = None
    """Why NVML gives no answer; null where it does."""
    cuda: tuple[int, int] | None = None
    """The newest CUDA that the driver can run."""
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Torch:
    """What torch says in a process of its own."""

    version: str
    cuda_build: str | None = None
    """CUDA version it was built for; null for a build without."""
    cuda_devices: int = 0
    cuda_error: str | None = None
    """What torch said when asked to use CUDA; null where it worked."""
    nccl: str | None = None
    """Version; null in a build without NCCL."""
    nccl_error: str | None = None
    """Of an all-reduce by one rank; null where it worked or no device is there to try."""
    gloo_error: str | None = None
    """Of an all-reduce by one rank; null where it worked."""
    torchvision_error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that the checks may know."""

    python: str
    cpus_online: int
    cpus_given: int
    """By this process's affinity."""
    cpu_quota: float | None
    """CPUs' worth of time that the control group grants; null without a limit."""
    memory_available_bytes: int
    """Of the machine and of the control group, the smaller."""
    nvidia: Nvidia
    slots: Slots | None
    """As planning would count them."""
    slots_error: str | None
    """Why they cannot be counted."""
    torch: Torch | None
    torch_error: str | None
    """Why torch could not be asked."""
    container: str | None
    """apptainer, docker or podman; null outside."""
    environment: dict[str, str] = field(default_factory=dict)
    """The variables that checks look at, where they are set."""
    results: Folder
    temporary: Folder
    shared_memory_bytes: int | None
    """Size of /dev/shm; null where there is none."""
    open_files: int
    """Soft limit; -1 without a limit."""
    locked_memory_bytes: int
    """Soft limit; -1 without a limit."""
    infiniband: bool
    compiler: str | None
    """The C++ compiler that torch.compile would call."""
    clock_source: str | None
    clock_read_ns: float
    """What one reading of the monotonic clock takes."""
