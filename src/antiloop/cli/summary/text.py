"""A summary as a page of text."""

from typing import Iterator, Optional

from ...loop_detection.text.shortening import visible
from ..output.fitting import columns
from ..output.terminal import is_verbose, line_of, page_columns, say, tell
from .cells import SHOWN, Table, remarks_of, tables_of
from .period import moment
from .summary import Summary

_NAME = 40
"""Columns of a name at most."""
_LEAST = 7


def tell_summary(summary: Summary) -> None:
    """Print it."""
    since = moment(summary.period.since_s)
    tell(f"Runs since {since}, compared with those of the period before, which is as long.")
    for table in tables_of(summary, None if is_verbose() else SHOWN):
        say("")
        for line in _lines(table, page_columns()):
            say(line)
        if table.left_out:
            tell(f"and {table.left_out:,} more; -v or --format json tells all")
    for remark in remarks_of(summary):
        say("")
        tell(line_of(remark))


def _lines(table: Table, width: Optional[int]) -> Iterator[str]:
    """Yield the table; where it is wider than this, as a list."""
    rows = [(visible(name, _NAME), cells) for name, cells in table.rows]
    title = max(columns(name) for name in (table.title, *(name for name, _ in rows)))
    widths = [
        max(_LEAST, *map(len, cells)) for cells in zip(table.columns, *(each for _, each in rows))
    ]
    if width is not None and title + sum(widths) + 2 * len(widths) > width:
        for name, cells in rows:
            yield name
            for column, cell in zip(table.columns, cells):
                yield f"  {column:<13} {cell:>{_LEAST}}"
        return
    for name, cells in ((table.title, table.columns), *rows):
        padded = (f"  {cell:>{size}}" for cell, size in zip(cells, widths))
        yield name + " " * (title - columns(name)) + "".join(padded)
