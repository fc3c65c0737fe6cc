"""Make the parts of the pictures of all objects: a frame, a head, texts and lists."""

from typing import Iterable, Sequence, Union

from ..._text.markup import html
from ..._text.masking import SECRETS
from ..._text.shortening import beginning_of, shortened
from ...health import HealthStatus
from .strip import BAD, TONES, Strip

_LONGEST = 4_000  # characters of a text that are looked at
_LISTED = 5
_FRAME = (
    "max-width:48rem;padding:.25rem 0;font-family:system-ui,sans-serif;font-size:13px;"
    "line-height:1.5;overflow-wrap:anywhere"
)
_QUIET = "opacity:.8"
_LIST = "margin:.25rem 0 0;padding:0;list-style:none"
_STATUS = {
    HealthStatus.HEALTHY.value: ("&#9675;", TONES[6]),
    HealthStatus.WARNING.value: ("&#9650;", TONES[5]),
    HealthStatus.LIKELY_STUCK.value: ("&#9679;", BAD),
    HealthStatus.FAILED.value: ("&#10005;", BAD),
}


def frame(*parts: str) -> str:
    """Put parts, which are HTML, into one element."""
    return f'<div style="{_FRAME}">{"".join(parts)}</div>'


def text(value: object, length: int = 160) -> str:
    """Write a text of a run as HTML: its secrets masked, on one line, and cut."""
    masked = SECRETS.text(str(beginning_of(str(value), _LONGEST)))
    return name(masked, length)


def name(value: str, length: int) -> str:
    """Write a name as HTML, on one line and cut; that of a file may look like a secret."""
    return f"<bdi>{html(shortened(' '.join(value.split()), length))}</bdi>"


def head(title: str, status: str, *figures: Union[str, None]) -> str:
    """Return the first line.

    Args:
        title: what it is, as HTML.
        status: a status of health, or another word.
        figures: further words, as HTML; empty ones and None are left out.
    """
    sign, color = _STATUS.get(status, ("", "currentColor"))
    shown = f'<span style="color:{color}">{sign} {html(status)}</span>' if status else ""
    words = ", ".join(each for each in figures if each)
    return f"<div><b>{title}</b> &#160;{shown} &#160;{quiet(words)}</div>"


def quiet(content: str) -> str:
    """Show HTML less loud than the rest."""
    return f'<span style="{_QUIET}">{content}</span>'


def pictured(strip: Strip) -> str:
    """Draw a strip with the numbers of its first and last step below; nothing without a step."""
    if not strip.size:
        return ""
    ends = f"<span>step 0</span><span>step {strip.size - 1:,}</span>"
    row = f"display:flex;justify-content:space-between;font-size:11px;{_QUIET}"
    frame = f"margin:.375rem 0;min-width:7rem;width:{strip.width}%"
    return f'<div style="{frame}">{strip.svg()}<div style="{row}">{ends}</div></div>'


def listed(lines: Sequence[str], most: int = _LISTED) -> str:
    """List lines of HTML, and count those that are left out."""
    if not lines:
        return ""
    shown = [*lines[:most], *more(len(lines) - most)]
    return f'<ul style="{_LIST}">{"".join(f"<li>{line}</li>" for line in shown)}</ul>'


def more(count: int) -> Iterable[str]:
    """Count the further lines, if any."""
    return [quiet(f"and {count:,} more")] if count > 0 else []
