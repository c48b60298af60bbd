"""Renders the templates of analysis/report/templates; every value is escaped unless it is Markup."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from analysis.report.html import markup

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parents[1] / "templates"


def render(template: str, **values: Any) -> Markup:
    """The HTML of templates/TEMPLATE.html."""
    return markup.trusted(_environment().get_template(f"{template}.html").render(values).strip())


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "isolated": markup.text,
        "prose": markup.prose,
        "short": markup.short,
        "cut": markup.cut,
        "label": markup.label,
        "thousands": lambda count: f"{count:,}",
    }
    environment.globals |= {"first_rows": markup.first_rows, "longest": markup.LONGEST}
    return environment
