"""A summary of runs: by agent, model and tool, now and in the period before.

It is counted in one pass, and holds no more of the runs than their sums.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ...health import HealthProfile
from ...loop_detection.text.masking import Masking
from ...traces import RecordedRun
from ..judged_run import JudgedRun, judge
from .figures import Figures, figures_of
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
    return replace(judged, figures=figures_of(run, judged.health, profile.prices))


@dataclass
class Row:
    """Sums of one agent, model or tool, or of all."""

    now: Figures = field(default_factory=Figures)
    before: Figures = field(default_factory=Figures)

    def add(self, place: str, figures: Figures) -> None:
        """Take in more."""
        if place == "now":
            self.now += figures
        else:
            self.before += figures

    @property
    def trend(self) -> Optional[float]:
        """How much the wasted share of the calls grew, from -1 to 1; None without a comparison."""
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
        self.untimed = Figures()
        """Runs without any time, which are in no other sum."""
        self.untimed_ids: List[str] = []
        """The first of them."""
        self.seen = 0
        """All runs, whenever they began."""
        self.earlier = 0
        """Runs from before both periods."""
        self._masking = masking
        self._rows: Dict[str, Dict[Optional[str], Row]] = {group: {} for group in GROUPS}

    def add(self, judged: JudgedRun) -> None:
        """Take in a run that `judge_and_count` gave."""
        figures = judged.figures
        if figures is None:
            raise ValueError("this run was not counted; judge it with judge_and_count")
        self.seen += 1
        if figures.began_s is None:
            self._add_untimed(judged.run_id, figures.whole)
            return
        place = self.period.place(figures.began_s)
        if place is None:
            self.earlier += 1
            return
        self.whole.add(place, figures.whole)
        self._row("agents", figures.agent).add(place, figures.whole)
        self._row("models", figures.model).add(place, figures.whole)
        for tool, of_tool in figures.by_tool.items():
            self._row("tools", tool).add(place, of_tool)

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
        }

    def _add_untimed(self, run_id: str, figures: Figures) -> None:
        self.untimed += figures
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
    return -row.now.wasted_calls, -row.now.runs, -row.before.wasted_calls, name or ""


def _row_as_json(row: Row) -> Mapping[str, Any]:
    return {"now": _as_json(row.now), "before": _as_json(row.before), "trend": row.trend}


def _as_json(figures: Figures) -> Dict[str, Any]:
    return {**vars(figures), "wasted_share": figures.wasted_share}
