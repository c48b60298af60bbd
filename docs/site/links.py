"""Pages link to files of the repository as on GitHub. In the site, such a file is a page that shows its text, and a
folder is a page that lists its files."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.S | re.M)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)")
_LANGUAGES = {".py": "python", ".sh": "bash", ".yml": "yaml", ".yaml": "yaml", ".sql": "sql"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to, and those that the added pages link to."""
    waiting = [f"docs/{page.src_uri}" for page in files.documentation_pages()]
    while waiting:
        for target in _linked(waiting.pop()):
            place = _place(target)
            if files.get_file_from_path(place) is not None or not (ROOT / target).exists():
                continue
            if target.endswith(".md"):
                files.append(File.generated(config, place, abs_src_path=str(ROOT / target)))
                waiting.append(target)
            else:
                files.append(File.generated(config, place, content=_shown(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point each link to the place of its file in the site."""
    source = page.file.abs_src_path
    if source is None:  # a page that shows a file
        return markdown
    name = Path(source).resolve().relative_to(ROOT).as_posix()

    def pointed(link: re.Match[str]) -> str:
        return f"]({relpath(_place(_target(name, link[1])), str(Path(page.file.src_uri).parent))}"

    return "".join(
        part if number % 2 else _LINK.sub(pointed, part) for number, part in enumerate(_CODE.split(markdown))
    )


def _linked(name: str) -> list[str]:
    text = _CODE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    return [_target(name, link) for link in _LINK.findall(text)]


def _target(name: str, link: str) -> str:
    """The path, from the repository's root, that a link of the file `name` leads to."""
    return normpath(f"{Path(name).parent.as_posix()}/{link}")


def _place(target: str) -> str:
    """The path in the site of a file of the repository."""
    page = target.endswith((".md", ".png"))
    if page and target.startswith("docs/"):
        return target.removeprefix("docs/")
    return f"repository/{target}" if page else f"repository/{target}.md"


def _shown(target: str) -> str:
    path = ROOT / target
    if path.is_dir():
        inside = (file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file())
        text = "".join(f"{file.as_posix()}\n" for file in inside if "__pycache__" not in file.parts)
    else:
        text = path.read_text(encoding="utf-8")
    return f"---\nsearch: {{exclude: true}}\n---\n# {target}\n\n````{_LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"
