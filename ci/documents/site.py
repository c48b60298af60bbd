"""The documentation as a site, built by MkDocs with the theme Material."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

os.environ["NO_MKDOCS_2_WARNING"] = "1"  # before the theme is imported, which otherwise prints a notice

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException


def build_site(configuration: Path, folder: Path) -> None:
    """Write the site into `folder` in place of an earlier one. Exits with 1 after the warnings if there are any, and
    with 2 if the folder has other files, which MkDocs would delete."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "search/search_index.json").exists():
        print(f"ci/docs: {folder} has files that are no earlier site: name another folder", file=sys.stderr)
        sys.exit(2)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        build(load_config(str(configuration), site_dir=str(folder.resolve())))
    except (Abort, MkDocsException) as problem:
        print(f"ci/docs: the site was not built: {problem}", file=sys.stderr)
        sys.exit(1)
    print(folder / "index.html")
