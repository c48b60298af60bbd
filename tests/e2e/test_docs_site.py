"""The documentation as a site: built without a network, with links that lead somewhere, and searched in Chromium."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.browser import Browser
from tests.e2e.documents import ROOT, copy_of_the_checkout

WITHOUT_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise PermissionError(f"{event} {arguments}")

sys.addaudithook(refuse)
from ci.documents.__main__ import main
main()
"""
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Tags whose address a browser loads without a click."""


def build(checkout: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_NETWORK, "--site", str(folder)]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "built"
    done = build(ROOT, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site on a server of this machine, as on any static host."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Page(HTMLParser):
    """Its links, the addresses that it loads, its anchors, and its text outside code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.text = ""
        self._code = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        if (name := LOADED.get(tag)) and (link := values.get(name)):
            self.loaded.append(link)
        self._code += tag in ("code", "script")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "script")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_leads_to_a_file_and_an_anchor(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and anchor not in pages[target].anchors):
                broken.append(f"{path.name}: {link}")
    assert len(pages) > 40
    assert broken == []


def test_no_page_or_style_loads_anything_from_another_server(site: Path, pages: dict[Path, Page]) -> None:
    loaded = [link for page in pages.values() for link in page.loaded]
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    named = [
        address for text in styles for address in re.findall(r"url\([\"']?([^)\"']+)|@import ([^;]+)", text)
    ]
    assert [link for link in loaded if re.match(r"([a-z]+:)?//", link)] == []
    assert [address for address in named if re.match(r"([a-z]+:)?//", "".join(address))] == []
    assert not list(site.rglob("*.woff*"))


def test_markdown_means_the_same_as_on_github(pages: dict[Path, Page]) -> None:
    """Nested lists, tables and bars in their cells: nothing is left as it was typed."""
    typed = re.compile(r"^\s*(?:- \S.*|\d\. \S.*|\|.*\||.*\\\|.*|```.*)$", re.M)
    assert {path.name: found for path, page in pages.items() if (found := typed.findall(page.text))} == {}


def test_every_page_of_the_documents_is_in_one_of_the_four_parts(site: Path, pages: dict[Path, Page]) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'md-tabs__link">\s*([^<]+?)\s*<', index)
    assert tabs == ["scalebench", "Tutorial", "How-to guides", "Reference", "Explanation"]
    shown = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md")
    }
    assert shown <= {link.partition("#")[0] for link in pages[site / "index.html"].links} | {"index.html"}


def test_a_reader_finds_a_page_by_a_word(browser: Browser, address: str) -> None:
    browser.screen(1000)
    browser.console(), browser.requests()
    browser.driver.get(f"{address}/index.html")
    browser.wait("return document.readyState === 'complete'")
    field = "document.querySelector('[data-md-component=search-query]')"
    browser.run(f"{field}.focus()")
    browser.driver.switch_to.active_element.send_keys("booktabs")
    browser.wait("return document.querySelector('.md-search-result__link')")
    found = browser.run(
        "return [...document.querySelectorAll('.md-search-result__link')].map(link => link.pathname)"
    )
    assert "/how-to/paper-table.html" in found
    browser.run("document.querySelector(\".md-search-result__link[href*='paper-table']\").click()")
    browser.wait(
        "return location.pathname === '/how-to/paper-table.html' && document.readyState === 'complete'"
    )
    assert (
        browser.run("return document.querySelector('h1').firstChild.textContent") == "Put a table in a paper"
    )
    assert {
        request for request in browser.requests() if not request.startswith((address, "data:", "blob:"))
    } == set()
    assert browser.console() == []


@pytest.mark.parametrize("name", ["index", "commands", "sql", "suites", "how-to/merge-request"])
def test_a_page_fits_a_phone_in_light_and_dark(name: str, browser: Browser, address: str) -> None:
    backgrounds = []
    for dark in (False, True):
        browser.screen(390, dark=dark)
        browser.driver.get(f"{address}/{name}.html")
        browser.wait("return document.readyState === 'complete'")
        assert browser.run("return document.documentElement.scrollWidth") <= 390
        backgrounds.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert backgrounds[0] != backgrounds[1]


def test_a_broken_link_and_a_page_without_a_part_stop_the_build(tmp_path: Path) -> None:
    copy_of_the_checkout(tmp_path / "checkout")
    with (tmp_path / "checkout/docs/files.md").open("a") as page:
        page.write("\n[gone](commands.md#no-such-command)\n[away](nothing.md)\n")
    (tmp_path / "checkout/docs/extra.md").write_text("# Extra\n")
    done = build(tmp_path / "checkout", tmp_path / "site")
    assert done.returncode == 1
    for said in ("no-such-command", "nothing.md", "extra.md", "ci/docs: the site was not built"):
        assert said in done.stderr


def test_a_folder_with_other_files_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    done = build(ROOT, tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        f"ci/docs: {tmp_path} has files that are no earlier site: name another folder\n",
    )
    assert (tmp_path / "mine.txt").read_text() == "kept"
