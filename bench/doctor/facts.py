"""The facts that checks judge. bench/doctor/gather*.py gathers them, so checks are pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.machine import gpu_vendor
from bench.records.run_spec import Slots


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder that runs write to."""

    path: str
    writable: bool
    """If it does not exist yet: whether its nearest existing parent is writable."""
    free_bytes: int
    file_system: str
    """The kernel's name of its type: ext4, nfs4, lustre, tmpfs ..."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU as NVML shows it, regardless of CUDA_VISIBLE_DEVICES."""

    index: int
    name: str = "unknown GPU"
    memory_bytes: int | None = None
    capability: tuple[int, int] | None = None
    """Compute capability: major, minor; null if the driver does not say."""
    problem: str | None = None
    """NVML's error if the GPU does not answer, or not completely; null if it does."""
    slices: int | None = None
    """Number of its MIG slices; null if it is not in MIG mode."""


def listed(gpus: Iterable[Gpu]) -> str:
    """GPUs by kind: `2 x NVIDIA H200, 141 GiB; 1 x NVIDIA L4, 24 GiB`."""
    kinds = Counter(
        gpu.name if gpu.memory_bytes is None else f"{gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB"
        for gpu in gpus
    )
    return "; ".join(f"{count} x {kind}" for kind, count in kinds.items())


@dataclass(frozen=True, kw_only=True)
class Nvidia:
    """The NVIDIA driver and its GPUs, by the kernel and by NVML."""

    kernel_driver: str | None = None
    """Version in /proc, which is visible in containers, too; null without a driver."""
    nvml_error: str | None = None
    """Why NVML does not work; null if it does."""
    cuda: tuple[int, int] | None = None
    """The newest CUDA version that the driver supports: major, minor."""
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Torch:
    """Facts of torch, found in a separate process."""

    version: str
    cuda_build: str | None = None
    """CUDA version that it was built for; null for a build without CUDA."""
    rocm_build: str | None = None
    """ROCm version that it was built for; null for a build without ROCm."""
    cuda_devices: int = 0
    cuda_error: str | None = None
    """Error of initialising CUDA; null if it worked."""
    nccl: str | None = None
    """Version of NCCL, or of RCCL in a build for ROCm; null in a build without it."""
    nccl_error: str | None = None
    """Error of an all-reduce with one rank; null if it worked or there is no GPU to try it on."""
    gloo_error: str | None = None
    """Error of an all-reduce with one rank; null if it worked."""
    torchvision_error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that checks can use."""

    python: str
    cpus_online: int
    cpus_given: int
    """By this process's affinity."""
    cpu_quota: float | None
    """CPU seconds per second that the control group grants; null without a limit."""
    memory_available_bytes: int
    """The smaller of the machine's and of the control group's available memory."""
    nvidia: Nvidia
    amd_gpus: int = 0
    """GPUs of AMD, as the kernel counts them."""
    far_gpus: tuple[int, ...] = ()
    """Indices, among the visible GPUs, of those that are near none of the CPUs that this process may use."""
    slots: Slots | None
    """Slots as a plan counts them; null if they cannot be counted."""
    slots_error: str | None
    """Why they cannot be counted."""
    torch: Torch | None
    torch_error: str | None
    """Why the facts of torch are not known."""
    container: str | None
    """apptainer, docker or podman; null outside of a container."""
    environment: dict[str, str] = field(default_factory=dict)
    """Environment variables that checks use, as far as they are set."""
    results: Folder
    temporary: Folder
    shared_memory_bytes: int | None
    """Size of /dev/shm; null if it does not exist."""
    open_files: int
    """Soft limit of open files; -1 without a limit."""
    locked_memory_bytes: int
    """Soft limit of locked memory; -1 without a limit."""
    infiniband: bool
    compiler: str | None
    """Path of the C++ compiler that torch.compile calls; null if there is none."""
    clock_source: str | None
    clock_read_ns: float
    """Time of one reading of the monotonic clock."""

    @property
    def is_rocm(self) -> bool:
        """Whether torch is built for AMD's GPUs."""
        return self.torch is not None and self.torch.rocm_build is not None

    @property
    def gpus(self) -> int:
        """Number of the GPUs that torch is built for."""
        return self.amd_gpus if self.is_rocm else len(self.nvidia.gpus)

    @property
    def visible_devices(self) -> tuple[str, str] | None:
        """Name and value of the variable that chooses these GPUs; null if none is set."""
        names = gpu_vendor.variables_in(self.environment, amd=self.is_rocm)
        return next(((name, self.environment[name]) for name in names if name in self.environment), None)
