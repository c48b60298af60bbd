"""Builds the stand-in driver with gcc: `build(folder)` makes the libraries and returns the environment that uses them.

The libraries take the place of CUDA's by LD_PRELOAD and LD_LIBRARY_PATH. An entry point that torch needs and no C file
here defines becomes a function that returns 0; `nm` on the installed torch lists them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).parent
_SHARED = ("-shared", "-fPIC", "-O1", "-std=gnu11")
_CUDA_LIBRARIES = ("libc10_cuda", "libtorch_cuda", "libtorch_cuda_linalg", "libtorch_python")
_PREFIXES = ("cuda", "nccl", "cublas")
_CUPTI = {
    "cuptiActivityGetNextRecord": "int cuptiActivityGetNextRecord(void) { return 12; } // no more records",
    "cuptiGetVersion": "int cuptiGetVersion(unsigned *version) { *version = 130200; return 0; }",
    "cuptiActivityGetNumDroppedRecords": "int cuptiActivityGetNumDroppedRecords(void *context, unsigned stream, "
    "unsigned long *dropped) { *dropped = 0; return 0; }",
    "cuptiGetResultString": 'int cuptiGetResultString(int result, const char **text) { *text = "stand-in"; return 0; }',
    "cuptiGetCallbackName": "int cuptiGetCallbackName(int domain, unsigned call, const char **text) "
    '{ *text = "stand-in"; return 0; }',
}
_DRIVER = {
    "cuInit": "int cuInit(unsigned flags) { return 0; }",
    "cuDevicePrimaryCtxGetState": "int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) "
    "{ *flags = 0; *is_active = 1; return 0; }",
}


def build(folder: Path) -> dict[str, str]:
    """Make the libraries in `folder`, in about a second. Raises CalledProcessError with gcc's own words."""
    folder.mkdir(parents=True, exist_ok=True)
    torch = _package("torch") / "lib"
    headers = [_HERE / "include", *_package("nvidia").glob("*/include")]
    _compile(
        folder / "libstandin.so",
        *(str(_HERE / f"{name}.c") for name in ("device", "cudart", "graphs", "nccl", "cublas")),
        *("-Wall", "-Wextra", "-Werror", "-pthread"),
        *(f"-isystem{header}" for header in headers),
    )
    _compile(folder / "libnvidia-ml.so.1", str(_HERE / "nvml.c"), "-Wall", "-Wextra", "-Werror")

    needed = {name for library in _CUDA_LIBRARIES for name in _undefined(torch / f"{library}.so")}
    rest = {name for name in needed if name.startswith(_PREFIXES)} - _defined(folder / "libstandin.so")
    cupti = {name for name in _undefined(torch / "libtorch_cpu.so") if name.startswith("cupti")}
    checks = [
        name for name in _defined(torch / "libtorch_cpu.so") if "verify_params_across_processes" in name
    ]
    _stubs(folder / "libstandin_rest.so", rest | cupti | {*checks}, _CUPTI)
    driver = {name for name in _undefined(torch / "libcaffe2_nvrtc.so") if name.startswith("cu")}
    _stubs(folder / "libcuda.so.1", driver, _DRIVER)
    return {
        "LD_LIBRARY_PATH": str(folder),
        "LD_PRELOAD": f"{folder / 'libstandin.so'} {folder / 'libstandin_rest.so'}",
    }


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{name} is not installed here, and the stand-in driver is built from it")
    return Path(next(iter(spec.submodule_search_locations)))


def _compile(target: Path, *arguments: str) -> None:
    subprocess.run(["gcc", *_SHARED, "-o", str(target), *arguments], check=True)


def _stubs(target: Path, names: Iterable[str], written: dict[str, str]) -> None:
    """A library of functions that return 0, except those that are `written`."""
    lines = [written.get(name, f"int {name}(void) {{ return 0; }}") for name in sorted({*names, *written})]
    source = target.with_suffix(".c")
    source.write_text("\n".join(lines) + "\n")
    _compile(target, str(source), "-w")


def _undefined(library: Path) -> set[str]:
    return _names(library, "--undefined-only")


def _defined(library: Path) -> set[str]:
    return _names(library, "--defined-only")


def _names(library: Path, which: str) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", which, str(library)], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines()}


if __name__ == "__main__":
    for name, value in build(Path(sys.argv[1]).absolute()).items():
        sys.stdout.write(f"export {name}='{value}'\n")
