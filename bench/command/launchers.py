"""Launchers that start ranks themselves, such as torchrun: the command of `bench run` that takes their place."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from bench.command import working_copy
from bench.probe.bench_probe.launchers import FILE, is_python, launcher_in

_VALUES = {
    "torchrun": (
        "nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts monitor_interval start_method "
        "event_log_handler role log_dir redirects,r tee,t log_line_prefix_template local_ranks_filter node_rank "
        "duplicate_stdout_filters duplicate_stderr_filters master_addr master_port local_addr logs_specs numa_binding "
        "signals_to_handle shutdown_timeout"
    ),
    "accelerate launch": (
        "config_file mixed_precision num_processes num_machines dynamo_backend machine_rank main_process_ip "
        "main_process_port tee log_dir role rdzv_backend rdzv_conf max_restarts monitor_interval main_training_function"
    ),
    "deepspeed": (
        "hostfile,H num_nodes num_gpus num_accelerators master_port master_addr node_rank launcher launcher_args "
        "enable_each_rank_log bind_core_list comment account ssh_port"
    ),
}
"""Options with a value. Those that change the training are not here, unless _Launch passes them on."""
_FLAGS = {
    "torchrun": "standalone module,m no_python run_path use_env",
    "accelerate launch": "quiet,q cpu multi_gpu same_network module,m no_python enable_cpu_affinity debug",
    "deepspeed": "module no_python no_local_rank no_ssh no_ssh_check force_multi save_pid bind_cores_to_rank",
}
_PLACES = {
    *(
        "compute_environment",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
        "main_training_function",
    ),
    *("rdzv_backend", "same_network", "gpu_ids", "enable_cpu_affinity", "tpu_use_cluster", "tpu_use_sudo"),
}
"""Keys of accelerate's configuration that do not change the training on these ranks."""
_DISTRIBUTED = ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_XPU", "MULTI_NPU")
"""Values of its `distributed_type` that need no settings of their own."""

_MOST = 8
"""Variables that a message names."""


class UnknownError(Exception):
    """The launcher's arguments are not understood; the message names the part."""


@dataclass(frozen=True, kw_only=True)
class _Launch:
    """The training that a launcher starts."""

    words: list[str]
    """The script and its arguments, after the program that starts it."""
    ranks: tuple[int | None, int | None]
    """Nodes, and ranks on each; null if the launcher counts them itself, or was not told."""
    variables: dict[str, str] = field(default_factory=dict)
    gives_local_rank: bool = False
    """Whether the script gets --local_rank as an argument."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UnknownError(message)


def instead_of(command: Sequence[str], cwd: str | None, env: Mapping[str, str]) -> str | None:
    """What to give in place of this command, if it is a launcher; null if it is none. The others are its options."""
    found = launcher_in(command)
    if found is None:
        return None
    name, arguments = found
    folder = Path(cwd or ".")
    more = [] if folder.resolve() == Path.cwd() else ["--cwd", str(folder)]
    if is_python(command[0]):
        python = command[0]
    else:
        neighbour = Path(command[0]).with_name("python")
        python = str(neighbour) if "/" in command[0] and (folder / neighbour).exists() else "python"
    remedy = _remedy(name, arguments, python, folder, [*more, *_variables(env)])
    return f"{name} starts ranks itself, as bench does: {remedy}"


def refused_in(scratch: Path, options: Mapping[str, Any]) -> tuple[str, int] | None:
    """Why the run ends, and the rank, if the command has started a launcher; null if it has not.

    `options`: the command's."""
    try:
        facts = json.loads((scratch / FILE).read_text())
    except FileNotFoundError:
        return None
    name, arguments = launcher_in(facts["words"]) or ("a launcher", [])
    path = {**os.environ, **options["env"]}.get("PATH")
    found = shutil.which("python", path=path) or sys.executable
    python = "python" if Path(found).parent == Path(facts["python"]).parent else facts["python"]
    cwd, began = Path(facts["cwd"]), Path(options["cwd"] or ".").resolve()
    copy = (scratch / working_copy.FOLDER).resolve()
    if options["isolate"] and cwd.is_relative_to(copy):
        cwd = began / cwd.relative_to(copy)
    more = ["--isolate"] if options["isolate"] else []
    more += [] if cwd == Path.cwd() else ["--cwd", str(cwd)]
    remedy = _remedy(name, arguments, python, cwd, [*more, *_variables(options["env"])])
    starter = shlex.join(options["command"])
    text = f"`{starter}` starts {name}, which starts ranks itself, as bench does: {remedy}"
    added = facts["variables"]
    if added:
        more_of_them = f" and {len(added) - _MOST} more" if len(added) > _MOST else ""
        text += f"; `{starter}` sets {', '.join(added[:_MOST])}{more_of_them}: add --env NAME=VALUE for each"
    return text, facts["rank"]


def _variables(env: Mapping[str, str]) -> list[str]:
    return [word for name, value in env.items() for word in ("--env", f"{name}={value}")]


def _remedy(name: str, arguments: Sequence[str], python: str, cwd: Path, more: Sequence[str]) -> str:
    try:
        launch = _parsed(name, arguments, python, cwd)
    except UnknownError as error:
        return (
            f"give bench the script that {name} starts, as in `bench run --world 4 -- python train.py`; the command "
            f"could not be worked out from its arguments: {error}"
        )
    nodes, ranks = launch.ranks
    world = None if ranks is None or nodes is None else str(ranks) if nodes == 1 else f"{nodes}x{ranks}"
    given = [*(["--world", world] if world else []), *more, *_variables(launch.variables)]
    text = f"give bench the script: `bench run {shlex.join([*given, '--', *launch.words])}`"
    if launch.gives_local_rank:
        text += f"; {name} gives it --local_rank, too: let it read LOCAL_RANK from os.environ instead"
    return text


def _parsed(name: str, arguments: Sequence[str], python: str, cwd: Path) -> _Launch:
    """The launch of these arguments. Raises UnknownError."""
    kind = "torchrun" if name == "torch.distributed.launch" else name
    parser = _Parser(add_help=False, allow_abbrev=kind != "accelerate launch")
    for table, action in ((_VALUES, "store"), (_FLAGS, "store_true")):
        for word in table[kind].split():
            option, _, letter = word.partition(",")
            spelled = dict.fromkeys((f"--{option}", f"--{option.replace('_', '-')}"))
            parser.add_argument(*spelled, *([f"-{letter}"] if letter else []), action=action, dest=option)
    parser.add_argument("script")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = vars(parser.parse_args(list(arguments)))
    words = [given["script"], *given["rest"]]
    if not given["no_python"]:
        words = [python, *(["-m"] if given["module"] else []), *words]
    if kind == "torchrun":
        return _Launch(
            words=words,
            ranks=(_number(given["nnodes"] or "1"), _number(given["nproc_per_node"])),
            gives_local_rank=name != "torchrun" and not given["use_env"],
        )
    if kind == "deepspeed":
        return _Launch(
            words=words,
            ranks=(
                _number(given["num_nodes"] or ("1" if given["hostfile"] is None else None)),
                _number(given["num_gpus"] or given["num_accelerators"]),
            ),
            gives_local_rank=not given["no_local_rank"],
        )
    return _of_accelerate(words, given, cwd)


def _number(text: str | None) -> int | None:
    """The number; null for `auto`, `gpu`, a range of nodes and others that the launcher counts."""
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None


def _of_accelerate(words: list[str], given: Mapping[str, Any], cwd: Path) -> _Launch:
    """Its options, over the configuration: the file that it is given, or its default one."""
    settings = _configuration(given["config_file"], cwd)
    cpu = given["cpu"] or settings.get("use_cpu") is True
    precision = given["mixed_precision"] or settings.get("mixed_precision")
    total = _number(given["num_processes"] or str(settings.get("num_processes", "")))
    nodes = _number(given["num_machines"] or str(settings.get("num_machines", 1)))
    variables = {}
    if precision not in (None, "no", False):  # YAML's `no`
        variables["ACCELERATE_MIXED_PRECISION"] = str(precision)
    if precision == "fp8":
        raise UnknownError("settings of fp8 are variables")
    if cpu:
        variables["ACCELERATE_USE_CPU"] = "true"
    if given["dynamo_backend"] not in (None, "no"):
        variables["ACCELERATE_DYNAMO_BACKEND"] = given["dynamo_backend"].upper()
    if given["debug"] or settings.get("debug") is True:
        variables["ACCELERATE_DEBUG_MODE"] = "true"
    divides = total is not None and nodes is not None and total % nodes == 0
    ranks = (nodes, total // nodes) if divides and total and nodes else (None, None)
    return _Launch(words=words, ranks=ranks, variables=variables)


def _configuration(named: str | None, cwd: Path) -> dict[str, Any]:
    """Accelerate's configuration; empty if there is none. Raises UnknownError if it cannot be passed on."""
    import yaml

    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    default = Path(os.environ.get("HF_HOME", cache)).expanduser() / "accelerate" / "default_config.yaml"
    file = default if named is None else cwd / named
    if named is None and not file.exists():
        return {}
    try:
        settings = yaml.safe_load(file.read_text()) or {}
    except (OSError, ValueError, yaml.YAMLError):
        raise UnknownError(f"{file} cannot be read") from None
    if not isinstance(settings, dict):
        raise UnknownError(f"{file} is not a mapping")
    known = {
        *_PLACES,
        "num_processes",
        "num_machines",
        "mixed_precision",
        "use_cpu",
        "debug",
        "distributed_type",
    }
    others = [
        key
        for key, value in settings.items()
        if key not in known and value not in (None, False, {}, [], "no")
    ]
    if settings.get("distributed_type") not in (None, False, *_DISTRIBUTED):
        others.append("distributed_type")
    if others:
        raise UnknownError(
            f"{file} has {', '.join(map(str, others))}, which accelerate passes on as variables"
        )
    return settings
