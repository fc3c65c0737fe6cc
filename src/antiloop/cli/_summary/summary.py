"""A summary of runs: by agent, model and tool, now and in the period before.

It is counted in one pass, and holds no more of the runs than their sums.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..._text.masking import Masking, masking_of
from ...health import HealthProfile
from ...traces import RecordedRun
from .._judged_run import JudgedRun, judge
from .figures import Figures, figures_of
from .period import Period, moment
from .timeline import Timeline

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
class Row:
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
    """Adds up runs.

    Args:
        period: which runs count, and which are those before.
        masking: what may be shown of names.
    """

    def __init__(self, period: Period, masking: Masking) -> None:
        self.period = period
        self.whole = Row()
        self.untimed_ids: List[str] = []
        """The first of them."""
        self.seen = 0
        """All runs, whenever they began."""
        self.earlier = 0
        """Runs from before both periods."""
        self._masking = masking
        self.timeline = Timeline(period)
        self._rows: Dict[str, Dict[Optional[str], Row]] = {group: {} for group in GROUPS}
        self._loops: Dict[str, Tuple[str, Row]] = {}

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
                self._loops.setdefault(key, (name, Row()))[1].add(place, of_loop)

    @property
    def untimed(self) -> Figures:
        """Runs without any time."""
        return self.whole.untimed

    def loops(self) -> List[Tuple[str, str, Row]]:
        """Return key, name and sums of loops that several runs have, most frequent first."""
        found = [(key, name, row) for key, (name, row) in self._loops.items()]
        several = [each for each in found if (each[2].counted + each[2].before).runs > 1]
        return sorted(several, key=lambda each: (-each[2].counted.runs, *_by_waste(each[1:])))

    def rows(self, group: str) -> List[Tuple[Optional[str], Row]]:
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

    def _row(self, group: str, name: Optional[str]) -> Row:
        rows = self._rows[group]
        if name not in rows and len(rows) >= NAMES:
            name = OTHERS
        return rows.setdefault(name, Row())

    def _shown(self, name: Optional[str]) -> Optional[str]:
        return None if name is None else self._masking.name(name)


def _by_waste(named: Tuple[Optional[str], Row]) -> Tuple[Any, ...]:
    name, row = named
    counted = row.counted
    return -counted.wasted_calls, -counted.runs, -row.before.wasted_calls, name or ""


def _row_as_json(row: Row) -> Mapping[str, Any]:
    sums = {name: _as_json(getattr(row, name)) for name in ("now", "before", "untimed")}
    return {**sums, "trend": row.trend}


def _as_json(figures: Figures) -> Dict[str, Any]:
    return {**vars(figures), "wasted_share": figures.wasted_share}
