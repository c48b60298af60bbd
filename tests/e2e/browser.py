"""A headless Chromium that keeps its console, its requests and its screenshots."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium's own sandbox refuses root; the pages are ours
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """One Chromium; `open` goes to a page and waits until its charts are drawn or have failed."""

    def __init__(self, chromium: str, driver: str, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))

    def close(self) -> None:
        self.driver.quit()

    def screen(self, width: int, *, dark: bool = False, media: str = "screen") -> None:
        """Set the window's size in CSS pixels; below 500 it acts as a phone. It applies at once and to pages opened
        later."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def open(self, page: Path) -> None:
        self.driver.get(page.as_uri())
        self.wait(
            "return document.readyState === 'complete' && (!document.querySelector('figure.chart') "
            "|| document.documentElement.dataset.state === 'drawn')"
        )

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def wait(self, condition: str, timeout_s: float = 60) -> None:
        """Wait until the script returns something true."""
        poll(lambda: bool(self.run(condition)), condition, timeout_s)

    def console(self) -> list[str]:
        """Messages written to the console since the last call, including warnings and refused loads."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses requested since the last call, including the page's own."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        kinds = ("Network.requestWillBeSent", "Network.webSocketCreated")
        found = [event["params"] for event in events if event["method"] in kinds]
        return [params["request"]["url"] if "request" in params else params["url"] for params in found]

    def screenshot(self, path: Path) -> None:
        """The whole page, however long, as PNG."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        options = {"captureBeyondViewport": True, "clip": clip}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        path.write_bytes(base64.b64decode(taken["data"]))


def poll(condition: Callable[[], bool], what: str, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)
