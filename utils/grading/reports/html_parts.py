"""Fill the HTML templates of the report pages. The templates escape all text that is not marked as HTML."""

from __future__ import annotations

import base64
import functools
import hashlib
import math
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from utils.show import colours, html

_FOLDER = Path(__file__).parent
Interval = tuple[float, float, float]  # a value and the limits of its interval (nan if there is no interval)


def render_page(template: str, title: str, script: str = "", **values: Any) -> str:
    """Return a complete HTML document with a light and a dark theme.

    Args:
        template: the file name of a template in this folder, which extends page.html.
        script: the file name of the only script that may run on the page.
        values: the variables of the template.
    """
    source = (_FOLDER / script).read_text(encoding="utf-8") if script else ""
    script_hash = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    page = _environment().get_template(template)
    return page.render(title=title, script=Markup(source), script_hash=script_hash, **values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {
        "colours": colours,
        "format_count": format_count,
        "format_percent": format_percent,
        "format_share": format_share,
        "format_difference": format_difference,
        "code_block": lambda text: Markup(html.code_block(text)),
        "inline_html": lambda text: Markup(html.inline_html(text)),
    }
    return environment


def format_percent(part: int, whole: int) -> str:
    """Return a share such as "75 %", or a dash if `whole` is 0."""
    return f"{round(100 * part / whole)} %" if whole else "–"


def format_share(share: Interval) -> str:
    """Return a share with its 95 % interval, such as "75 % (62–84)"."""
    value, low, high = share
    return f"{100 * value:.0f} %" + ("" if math.isnan(low) else f" ({100 * low:.0f}–{100 * high:.0f})")


def format_difference(difference: Interval) -> str:
    """Return a difference of shares in percentage points with its 95 % interval, such as "+12 (−3 to +26)"."""
    points = (round(100 * number) for number in difference)
    value, low, high = (f"{number:+d}".replace("-", "−") if number else "0" for number in points)
    return f"{value} ({low} to {high})"


def format_count(count: float, what: str, plural: str = "") -> str:
    """Return a count with its noun, such as "1 student", "3 students" or "2.5 points"."""
    return f"{count:,.10g} {what if count == 1 else plural or what + 's'}"
