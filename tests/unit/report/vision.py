"""Colours of the page as people with each kind of colour vision see them."""

from __future__ import annotations

import re

from analysis.report.pages.frame import asset

LIGHT, DARK = "light", "dark"
# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
# Transactions on Visualization and Computer Graphics 15(6): the matrices of severity 1, on linear RGB.
EYES = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def page_colours() -> dict[str, dict[str, str]]:
    """The page's variables, light and dark: name -> colour."""
    light, _, dark = asset("base.css").partition("@media screen and (prefers-color-scheme: dark)")
    read = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in (light, dark)]
    return dict(zip((LIGHT, DARK), read, strict=True))


def linear(colour: str) -> list[float]:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(colour: str, eye: str) -> tuple[float, float, float]:
    """CIELAB of the colour that an eye perceives."""
    red, green, blue = (sum(row[i] * part for i, part in enumerate(linear(colour))) for row in EYES[eye])
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (max(x, 0), max(y, 0), max(z, 0))
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
