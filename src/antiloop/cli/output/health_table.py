"""The sum of a scan: how many runs are how healthy, and what their loops took."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from ...health import HealthStatus
from ...traces.shared.totals import total
from .terminal import painted

if TYPE_CHECKING:
    from ..judged_run import JudgedRun


@dataclass
class _Row:
    runs: int = 0
    calls: int = 0
    wasted_calls: int = 0
    wasted_tokens: Optional[int] = None
    cost: Optional[float] = None
    wasted_cost: Optional[float] = None

    def add(self, other: "_Row") -> None:
        self.runs += other.runs
        self.calls += other.calls
        self.wasted_calls += other.wasted_calls
        self.wasted_tokens = total([self.wasted_tokens, other.wasted_tokens])
        self.cost = total([self.cost, other.cost])
        self.wasted_cost = total([self.wasted_cost, other.wasted_cost])


class HealthTable:
    """Counts runs by their health. Tokens and cost are shown if any run reports them."""

    def __init__(self) -> None:
        self._rows: Dict[HealthStatus, _Row] = {status: _Row() for status in HealthStatus}

    def add(self, judged: "JudgedRun") -> None:
        """Count a run."""
        health = judged.health
        wasted = health.wasted_calls, health.wasted_tokens
        self._rows[health.status].add(
            _Row(1, health.calls, *wasted, health.cost, health.wasted_cost)
        )

    def lines(self, width: Optional[int] = None) -> Iterator[str]:
        """Yield the table, with a dash for a figure that no run of a row has.

        Args:
            width: the longest line; a wider table becomes a list.
        """
        rows = {status.value: row for status, row in self._rows.items() if row.runs}
        everything = _Row()
        for row in rows.values():
            everything.add(row)
        if len(rows) > 1:
            rows["all"] = everything
        shown = [name for name in _SHOWN if getattr(everything, name) is not None]
        cells = {
            title: [(name, _SHOWN[name](getattr(row, name))) for name in shown]
            for title, row in rows.items()
        }
        head = _line("", [(name, name.replace("_", " ")) for name in shown])
        if width is not None and len(head) > width:
            yield from _list(cells)
            return
        yield head
        for title, row_cells in cells.items():
            yield _painted(_line(title, row_cells), title)


def _line(title: str, cells: Sequence[Tuple[str, str]]) -> str:
    columns = (f"  {text:>{max(len(name), _LEAST)}}" for name, text in cells)
    return f"{title:<{_TITLE}}{''.join(columns)}".rstrip()


def _list(rows: "Mapping[str, Sequence[Tuple[str, str]]]") -> Iterator[str]:
    """Yield the figures one below the other."""
    for title, cells in rows.items():
        yield _painted(title, title)
        for name, figure in cells:
            yield f"  {name.replace('_', ' '):<13} {figure:>{_LEAST}}"


def _painted(line: str, title: str) -> str:
    style = _STYLES.get(title)
    return line if style is None else painted(title, style) + line[len(title) :]


def _whole(number: Optional[int]) -> str:
    return "-" if number is None else f"{number:,}"


def _money(number: Optional[float]) -> str:
    return "-" if number is None else f"{number:,.2f}"


_TITLE, _LEAST = 12, 7  # characters of the columns: "Likely stuck", "123,456"
_STYLES = {"Healthy": "green", "Warning": "yellow", "Likely stuck": "red", "Failed": "red"}
_SHOWN: Dict[str, Callable[[Any], str]] = {
    "runs": _whole,
    "calls": _whole,
    "wasted_calls": _whole,
    "wasted_tokens": _whole,
    "cost": _money,
    "wasted_cost": _money,
}
