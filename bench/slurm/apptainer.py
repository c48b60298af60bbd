"""The Apptainer side of a command line."""

from __future__ import annotations

from pathlib import Path

from bench.container import apptainer_image
from bench.errors import InputError


def check_image(image: str) -> str:
    """The image's path as it is. Raises InputError for what every node would have to fetch."""
    if "://" in image:
        raise InputError(
            f"--image {image}: every node would fetch and unpack it: `apptainer pull bench.sif {image}` first, "
            "then --image bench.sif"
        )
    return image


def is_here(image: str) -> bool:
    """Whether the file is there; inside a container of that image it is, though it is not seen."""
    own = apptainer_image()
    path = Path(image)
    return path.exists() or str(path.absolute()) == own


def check_folder(option: str, folder: str) -> str:
    """A folder that the container is to see. Raises InputError for a path that --bind takes apart."""
    if "," in folder or ":" in folder:
        raise InputError(
            f"{option} {folder}: Apptainer's --bind splits paths at ',' and ':': choose another folder"
        )
    return folder


def execute(image: str, *, gpus: bool, folders: tuple[str, ...]) -> list[str]:
    """What stands before a command to run it inside the image.

    `folders` are absolute, and inside have the same paths."""
    binds = [word for folder in dict.fromkeys(folders) for word in ("--bind", folder)]
    return ["apptainer", "exec", *(["--nv"] if gpus else []), *binds, image]
