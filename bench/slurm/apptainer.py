"""Command lines of Apptainer, and checks of paths in them."""

from __future__ import annotations

from pathlib import Path

from bench.common.errors import InputError
from bench.machine.container import apptainer_image


def check_image(image: str) -> str:
    """`image` unchanged. Raises InputError for a URL, which every node would have to download."""
    if "://" in image:
        raise InputError(
            f"--image {image}: every node would fetch and unpack it: `apptainer pull bench.sif {image}` first, "
            "then --image bench.sif"
        )
    return image


def is_here(image: str) -> bool:
    """Whether the file exists. Inside a container the own image counts as existing, though it is not visible."""
    own = apptainer_image()
    path = Path(image)
    return path.exists() or str(path.absolute()) == own


def check_folder(option: str, folder: str) -> str:
    """`folder` unchanged, to bind into a container. Raises InputError for a path that --bind would split."""
    if "," in folder or ":" in folder:
        raise InputError(
            f"{option} {folder}: Apptainer's --bind splits paths at ',' and ':': choose another folder"
        )
    return folder


def execute(image: str, *, gpus: bool, folders: tuple[str, ...]) -> list[str]:
    """The command line that runs a command inside the image, without that command.

    `folders` are absolute paths, and have the same paths inside."""
    binds = [word for folder in dict.fromkeys(folders) for word in ("--bind", folder)]
    return ["apptainer", "exec", *(["--nv"] if gpus else []), *binds, image]
