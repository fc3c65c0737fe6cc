"""The sums of a period and of the one before, in equal parts of time, for a chart."""

import math
from typing import List, Tuple

from .figures import Figures
from .period import Period, moment

PARTS = 30
"""Parts of a period at most; days where it has at most as many, otherwise hours or longer."""
_LENGTHS_S = (3_600, 86_400)
_HEIGHT, _WIDTH, _GAP = 120, 20, 4


class Timeline:
    """Adds up runs by the time at which they began.

    Args:
        period: the period, and the one before.
    """

    def __init__(self, period: Period) -> None:
        length_s = period.until_s - period.since_s
        usual = (each for each in _LENGTHS_S if length_s / each <= PARTS)
        self._part_s = next(usual, length_s / PARTS)
        self._since_s = period.since_s
        self.before = self._count(period.since_s - period.before_s)
        """Parts of the period before."""
        self.parts: List[Figures] = [Figures()] * (self.before + self._count(length_s))

    def _count(self, length_s: float) -> int:
        # A thirtieth of a length, thirty times, may be a hair less than the length.
        return math.ceil(length_s / self._part_s - 1e-6)

    def add(self, began_s: float, figures: Figures) -> None:
        """Take in a run; one of the future belongs to the last part."""
        at = int(self.before + (began_s - self._since_s) // self._part_s)
        at = min(max(at, 0), len(self.parts) - 1)
        self.parts[at] += figures

    def bars(self) -> List[Tuple[float, Figures]]:
        """Return when each part begins, in seconds since 1970, and its sums."""
        start = self._since_s - self.before * self._part_s
        return [(start + at * self._part_s, each) for at, each in enumerate(self.parts)]


def chart(timeline: Timeline) -> str:
    """Draw calls and wasted calls over time as SVG; empty where no run has a time."""
    bars, before = timeline.bars(), timeline.before
    if not any(each.runs for _, each in bars[:before]):
        bars, before = bars[before:], 0
    most = max(each.calls for _, each in bars)
    if not most:
        return ""
    width, between = len(bars) * _WIDTH, before * _WIDTH
    drawn = "".join(_bar(at, *each, most) for at, each in enumerate(bars))
    first, last = moment(bars[0][0])[:10], moment(bars[-1][0])[:10]
    wasted = sum(each.wasted_calls for _, each in bars)
    about = (
        f"Calls from {first} to {last}, at most {most:,} in a bar; {wasted:,} of all are wasted."
    )
    left = " <span>left of the line: the period before</span>" if between else ""
    line = f'<path class="between" d="M{between} 0V{_HEIGHT + 4}"/>' if between else ""
    return (
        '<figure class="wide"><figcaption>Calls over time <span><i class="calls"></i>all calls'
        f'</span> <span><i class="wasted"></i>wasted calls</span>{left}</figcaption>\n'
        f'<svg role="img" aria-label="{about}" viewBox="0 0 {width} {_HEIGHT + 4}"'
        f' preserveAspectRatio="none">{drawn}{line}</svg>\n'
        f'<p class="ends"><span>{first}</span><span>{last}</span></p></figure>\n'
    )


def _bar(at: int, began_s: float, figures: Figures, most: int) -> str:
    x, width = at * _WIDTH + _GAP / 2, _WIDTH - _GAP
    title = f"{moment(began_s)[:16]}: {figures.calls:,} calls, {figures.wasted_calls:,} wasted"
    heights = [_HEIGHT * each / most for each in (figures.calls, figures.wasted_calls)]
    bars = "".join(
        f'<rect class="{name}" x="{x:g}" y="{_HEIGHT - height:.1f}" width="{width}"'
        f' height="{height:.1f}"/>'
        for name, height in zip(("calls", "wasted"), heights)
        if height
    )
    return f"<g><title>{title}</title>{bars}</g>" if bars else ""
