"""docs/report.png: the first screen of a session's page."""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.e2e.browser import Browser

WIDTH = 1280
"""CSS pixels."""
MOST_BYTES = 200_000


def take(page: Path, picture: Path) -> None:
    """Draw the page in Chromium and write its first screen as PNG. Exits with 2 if there is no Chromium."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        print(
            "ci/docs: install chromium and chromium-driver first, or let `ci/test e2e` do it", file=sys.stderr
        )
        sys.exit(2)
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(chromium, driver, Path(profile))
        try:
            browser.screen(WIDTH)
            browser.open(page.resolve())
            _few_colours(_picture(browser)).save(picture, optimize=True)
        finally:
            browser.close()
    size = picture.stat().st_size
    print(f"{picture}: {size:,} bytes")
    if size > MOST_BYTES:
        print(f"ci/docs: that is more than {MOST_BYTES:,} bytes: show less of the page", file=sys.stderr)
        sys.exit(1)


def _few_colours(png: bytes) -> Image.Image:
    """The picture with 256 colours, which a page does not exceed by much: a third of the bytes."""
    return (
        Image.open(io.BytesIO(png))
        .convert("RGB")
        .quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )


def _picture(browser: Browser) -> bytes:
    """The first screen as a PNG."""
    height = browser.run("return document.querySelector('header.page').getBoundingClientRect().bottom + 24")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)
    return base64.b64decode(taken["data"])
