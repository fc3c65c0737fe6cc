"""The figures of a summary as cells of a table."""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...short_repr import counted
from .figures import Figures
from .summary import Row, Summary

TITLES = {"agents": "agent", "models": "model", "tools": "tool"}
SHOWN = 20
"""Rows of a table for a person; JSON has all."""


class Table(NamedTuple):
    """One table: its columns, and a name with cells for each row."""

    title: str
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[str, Tuple[str, ...]], ...]
    left_out: int = 0
    """Rows that are not shown."""


def tables_of(summary: Summary, shown: Optional[int] = SHOWN) -> Iterator[Table]:
    """Yield the sum of all, and a table for each group that has rows.

    Columns that no run tells anything of are left out.

    Args:
        summary: what to show.
        shown: how many rows of each table at most; None for all.
    """
    yield _whole(summary)
    for group, title in TITLES.items():
        rows = summary.rows(group)
        if rows:
            kept = [(_named(name), row) for name, row in rows[:shown]]
            yield _table(title, kept, len(rows) - len(kept))


def _whole(summary: Summary) -> Table:
    rows = [("this period", summary.whole.now), ("period before", summary.whole.before)]
    if summary.untimed.runs:
        rows.append(("without time", summary.untimed))
    columns = [name for name in _FIGURES if any(_value(each, name) is not None for _, each in rows)]
    cells = ((title, tuple(_cell(each, name) for name in columns)) for title, each in rows)
    return Table("period", _titles(columns), tuple(cells))


def _table(title: str, rows: Sequence[Tuple[str, Row]], left_out: int) -> Table:
    columns = [
        name for name in _FIGURES if any(_value(row.now, name) is not None for _, row in rows)
    ]
    cells = (
        (name, (*(_cell(row.now, column) for column in columns), _trend(row))) for name, row in rows
    )
    return Table(title, (*_titles(columns), "trend"), tuple(cells), left_out)


def _titles(columns: Sequence[str]) -> Tuple[str, ...]:
    return tuple(name.replace("wasted_share", "share").replace("_", " ") for name in columns)


def _named(name: Optional[str]) -> str:
    return "(unknown)" if name is None else name


def _trend(row: Row) -> str:
    """Write by how many percentage points the wasted share changed."""
    if row.trend is None:
        return "new" if row.now.calls and not row.before.runs else "-"
    return f"{100 * row.trend:+.1f}"


def _cell(figures: Figures, name: str) -> str:
    value = _value(figures, name)
    return "-" if value is None else _FIGURES[name](value)


def _value(figures: Figures, name: str) -> Any:
    return getattr(figures, name)


def _whole_number(value: int) -> str:
    return f"{value:,}"


def _money(value: float) -> str:
    return f"{value:,.2f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


_FIGURES: Dict[str, Callable[[Any], str]] = {
    "runs": _whole_number,
    "loops": _whole_number,
    "calls": _whole_number,
    "wasted_calls": _whole_number,
    "wasted_share": _share,
    "wasted_tokens": _whole_number,
    "cost": _money,
    "wasted_cost": _money,
}


def remarks_of(summary: Summary) -> List[str]:
    """Return a note on what the tables by agent, model and tool leave out."""
    remarks = []
    if summary.untimed.runs:
        ids, count = ", ".join(summary.untimed_ids), summary.untimed.runs
        more = f" and {count - len(summary.untimed_ids):,} more" * (
            count > len(summary.untimed_ids)
        )
        remarks.append(f"Runs without any time are counted apart: {ids}{more}.")
    if summary.earlier:
        remarks.append(
            f"Not counted, as they began before both periods: {counted(summary.earlier, 'run')}."
        )
    return remarks
