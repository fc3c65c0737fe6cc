"""A summary of runs: by agent, model and tool, now and in the period before.

It is counted in one pass, and holds no more of the runs than their sums.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..._text.masking import Masking, masking_of
from ...health import HealthProfile
from ...traces import RecordedRun
from .._judged_run import JudgedRun, judge
from .._output.figures import Figures
from .figures import figures_of
from .period import Period, moment

NAMES = 1_000
"""Agents, models or tools that are listed separately; further ones are counted together."""
UNTIMED_IDS = 10
"""Runs without a time that are named."""
OTHERS = "(others)"
GROUPS = ("agents", "models", "tools")


def judge_and_count(run: RecordedRun, profile: HealthProfile) -> JudgedRun:
    """Judge a run as a scan does, and count it."""
    judged = judge(run, profile)
    masking = masking_of(profile.detector.mask)
    return replace(judged, figures=figures_of(run, judged.health, profile.prices, masking))


@dataclass
class SummaryRow:
    """Sums of one agent, model or tool, or of all."""

    now: Figures = field(default_factory=Figures)
    before: Figures = field(default_factory=Figures)
    untimed: Figures = field(default_factory=Figures)
    """Runs without any time; they take no part in the comparison."""

    @property
    def counted(self) -> Figures:
        """Return what a table shows: the runs of this period, and those without any time."""
        return self.now + self.untimed

    @property
    def is_calm(self) -> bool:
        """Whether no run of it has a loop."""
        return not self.counted.loops and not self.counted.wasted_calls

    def add(self, place: str, figures: Figures) -> None:
        """Take in more."""
        setattr(self, place, getattr(self, place) + figures)

    @property
    def trend(self) -> Optional[float]:
        """The growth of the wasted share of the calls, from -1 to 1; None without a comparison."""
        now, before = self.now.wasted_share, self.before.wasted_share
        return None if now is None or before is None else now - before


class Summary:
    """Adds up runs."""

    def __init__(self, period: Period, masking: Masking) -> None:
        self.period = period
        self.whole = SummaryRow()
        self.untimed_ids: List[str] = []
        """The first of them."""
        self.seen = 0
        """All runs, whenever they began."""
        self.earlier = 0
        """Runs from before both periods."""
        self._masking = masking
        self.timeline = Timeline(period)
        self._rows: Dict[str, Dict[Optional[str], SummaryRow]] = {group: {} for group in GROUPS}
        self._loops: Dict[str, Tuple[str, SummaryRow]] = {}

    def add(self, judged: JudgedRun) -> None:
        """Take in a run that `judge_and_count` gave."""
        figures = judged.figures
        if figures is None:
            raise ValueError("this run was not counted; judge it with judge_and_count")
        self.seen += 1
        began_s = figures.began_s
        place = "untimed" if began_s is None else self.period.place(began_s)
        if place is None:
            self.earlier += 1
            return
        if began_s is None:
            self._name_untimed(judged.run_id)
        else:
            self.timeline.add(began_s, figures.whole)
        self.whole.add(place, figures.whole)
        self._row("agents", figures.agent).add(place, figures.whole)
        self._row("models", figures.model).add(place, figures.whole)
        for tool, of_tool in figures.by_tool.items():
            self._row("tools", tool).add(place, of_tool)
        for key, (name, of_loop) in figures.by_loop.items():
            if key in self._loops or len(self._loops) < NAMES:
                self._loops.setdefault(key, (name, SummaryRow()))[1].add(place, of_loop)

    @property
    def untimed(self) -> Figures:
        return self.whole.untimed

    def loops(self) -> List[Tuple[str, str, SummaryRow]]:
        """Return key, name and sums of loops that several runs have, most frequent first."""
        found = [(key, name, row) for key, (name, row) in self._loops.items()]
        several = [each for each in found if (each[2].counted + each[2].before).runs > 1]
        return sorted(several, key=lambda each: (-each[2].counted.runs, *_by_waste(each[1:])))

    def rows(self, group: str) -> List[Tuple[Optional[str], SummaryRow]]:
        """Return the name and sums of each member of a group, the one that wastes most first.

        Args:
            group: ``agents``, ``models`` or ``tools``. None is the name of what is not known.
        """
        rows = [(self._shown(name), row) for name, row in self._rows[group].items()]
        return sorted(rows, key=_by_waste)

    def to_dict(self) -> Dict[str, Any]:
        """Return all of it as plain JSON data."""
        before, since, until = map(moment, self.period)
        return {
            "since": since,
            "until": until,
            "before_since": before,
            "total": _row_as_json(self.whole),
            "untimed": {**_as_json(self.untimed), "run_ids": self.untimed_ids},
            "earlier_runs": self.earlier,
            **{
                group: [{"name": name, **_row_as_json(row)} for name, row in self.rows(group)]
                for group in GROUPS
            },
            "loops": [
                {"key": key, "name": name, **_row_as_json(row)} for key, name, row in self.loops()
            ],
        }

    def _name_untimed(self, run_id: str) -> None:
        if len(self.untimed_ids) < UNTIMED_IDS:
            self.untimed_ids.append(self._shown(run_id) or "")

    def _row(self, group: str, name: Optional[str]) -> SummaryRow:
        rows = self._rows[group]
        if name not in rows and len(rows) >= NAMES:
            name = OTHERS
        return rows.setdefault(name, SummaryRow())

    def _shown(self, name: Optional[str]) -> Optional[str]:
        return None if name is None else self._masking.name(name)


def _by_waste(named: Tuple[Optional[str], SummaryRow]) -> Tuple[Any, ...]:
    name, row = named
    counted = row.counted
    return -counted.wasted_calls, -counted.runs, -row.before.wasted_calls, name or ""


def _row_as_json(row: SummaryRow) -> Mapping[str, Any]:
    sums = {name: _as_json(getattr(row, name)) for name in ("now", "before", "untimed")}
    return {**sums, "trend": row.trend}


def _as_json(figures: Figures) -> Dict[str, Any]:
    return {**vars(figures), "wasted_share": figures.wasted_share}


PARTS = 30
"""Parts of a period at most; days where it has at most as many, otherwise hours or longer."""
_LENGTHS_S = (3_600, 86_400)
_HEIGHT, _WIDTH, _GAP = 120, 20, 4


class Timeline:
    """Adds up runs by the time at which they began."""

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
