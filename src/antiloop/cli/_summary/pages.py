"""A summary as text for a terminal, and as one HTML page without script, other file or network."""

from importlib import resources
from string import Template
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import urlencode

from ..._short_repr import counted
from ..._text.markup import html
from ..._text.shortening import visible
from .._output.figures import known_figures, table_lines, titles
from .._output.terminal import is_verbose, line_of, page_columns, say, tell
from .period import moment
from .summary import OTHERS, Summary, SummaryRow, chart

TITLES = {"agents": "agent", "models": "model", "tools": "tool"}
SHOWN = 20
"""Rows of a table for a person; JSON has all."""


class SummaryTable(NamedTuple):
    """One table: its columns, and a name with cells for each row."""

    title: str
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[str, Tuple[str, ...]], ...]
    left_out: int = 0
    """Rows that are not shown, although their runs have loops."""
    calm: int = 0
    """Rows that are not shown since their runs have no loops."""
    links: Tuple[str, ...] = ()
    """For each row: what to choose in a report; empty where it has no name."""


def tables_of(summary: Summary, shown: Optional[int] = SHOWN) -> Iterator[SummaryTable]:
    """Yield the sum of all, and a table for each group that has rows.

    Columns that no run tells anything of are left out, and so are rows without loops, unless all
    rows are asked for.

    Args:
        summary: what to show.
        shown: how many rows of each table at most; None for all.
    """
    yield _whole(summary)
    for group, title in TITLES.items():
        rows = [(name, _named(name), row) for name, row in summary.rows(group)]
        if rows:
            yield _table(title, rows, shown)
    loops = list(summary.loops())
    if loops:
        yield _table("loop", loops, shown)


def _whole(summary: Summary) -> SummaryTable:
    rows = [("this period", summary.whole.now)]
    for title, sums in (("period before", summary.whole.before), ("without time", summary.untimed)):
        if sums.runs:
            rows.append((title, sums))
    names = known_figures(each for _, each in rows)
    cells = ((title, tuple(each.cells(names))) for title, each in rows)
    return SummaryTable("period", titles(names), tuple(cells))


def _table(
    title: str, rows: Sequence[Tuple[Optional[str], str, SummaryRow]], shown: Optional[int]
) -> SummaryTable:
    """Make the table of a group; each row has what a report knows it by, its name and its sums."""
    telling = [each for each in rows if shown is None or not each[2].is_calm]
    kept = telling[:shown]
    names = known_figures(row.counted for *_, row in kept)
    cells = ((name, (*row.counted.cells(names), _trend(row))) for _, name, row in kept)
    # Half a surrogate pair in the name of one tool must not cost the whole page.
    links = tuple(
        "" if key in (None, OTHERS) else urlencode({title: key}, errors="replace")
        for key, *_ in kept
    )
    left_out, calm = len(telling) - len(kept), len(rows) - len(telling)
    return SummaryTable(title, (*titles(names), "trend"), tuple(cells), left_out, calm, links)


def _named(name: Optional[str]) -> str:
    return "(unknown)" if name is None else name


def _trend(row: SummaryRow) -> str:
    """Write by how many percentage points the wasted share changed."""
    if row.trend is None:
        return "new" if row.now.runs and not row.before.runs else "-"
    return f"{100 * row.trend:+.1f}"


def remarks_of(summary: Summary) -> List[str]:
    """Return notes on the runs that count otherwise, or not at all."""
    remarks = []
    if summary.untimed.runs:
        ids, count = ", ".join(summary.untimed_ids), summary.untimed.runs
        more = f" and {count - len(summary.untimed_ids):,} more" * (
            count > len(summary.untimed_ids)
        )
        remarks.append(f"Runs without any time count, but in no trend: {ids}{more}.")
    if summary.earlier:
        remarks.append(
            f"Not counted, as they began before both periods: {counted(summary.earlier, 'run')}."
        )
    return remarks


_NAME = 40
"""Columns of a name at most."""


def tell_summary(summary: Summary) -> None:
    since = moment(summary.period.since_s)
    tell(f"Runs since {since}, compared with those of the period before, which is as long.")
    for table in tables_of(summary, None if is_verbose() else SHOWN):
        say("")
        rows = [(visible(name, _NAME), cells) for name, cells in table.rows]
        head = (table.title, *table.columns)
        for line in table_lines(head, rows, page_columns()) if rows else ():
            say(line)
        if table.left_out:
            tell(f"and {table.left_out:,} more; -v or --format json tells all")
        if table.calm:
            tell(_calm(table))
    for remark in remarks_of(summary):
        say("")
        tell(line_of(remark))


def _calm(table: SummaryTable) -> str:
    """Count the rows that are not shown, as they have no loops."""
    noun = table.title if table.calm == 1 else f"{table.title}s"
    return f"and {table.calm:,}{' more' if table.rows else ''} {noun} without loops"


_SHOWN = 100
_CAPTIONS = {
    "period": "All runs",
    "agent": "By agent",
    "model": "By model",
    "tool": "By tool",
    "loop": "The same loop in several runs",
}


def summary_page(summary: Summary, report: str = "") -> str:
    """Return the page, in ASCII."""
    before, since, until = (moment(each)[:16].replace("T", " ") for each in summary.period)
    about = f"Runs from {since} to {until} (UTC), compared with the period before, from {before}."
    trend = "The share is wasted calls divided by all calls; the trend is its change in points."
    whole, *tables = (_html_table(each, report) for each in tables_of(summary, _SHOWN))
    body = "".join([whole, chart(summary.timeline), *tables])
    remarks = "".join(f"<p>{html(each)}</p>\n" for each in remarks_of(summary))
    head = f"<h1>antiloop summary</h1>\n<p>{html(about)} {html(trend)}</p>\n"
    page = (resources.files(__package__) / "page.html").read_text("utf-8")
    return Template(page).substitute(body=f"{head}{body}{remarks}")


def _html_table(table: SummaryTable, report: str) -> str:
    titles = "".join(f'<th scope="col">{html(each)}</th>' for each in (table.title, *table.columns))
    links = table.links or ("",) * len(table.rows)
    rows = "".join(
        f'<tr><th scope="row">{_linked(name, report, link)}</th>{_cells(cells)}</tr>\n'
        for (name, cells), link in zip(table.rows, links)
    )
    caption = html(_CAPTIONS[table.title])
    more = f"<p>and {table.left_out:,} more</p>\n" if table.left_out else ""
    more += f"<p>{_calm(table)}</p>\n" if table.calm else ""
    head = f"<thead><tr>{titles}</tr></thead>\n" if rows else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">'
        f"<table>\n<caption>{caption}</caption>\n{head}"
        f"<tbody>\n{rows}</tbody>\n</table>\n{more}</div>\n"
    )


def _linked(name: str, report: str, link: str) -> str:
    if not (report and link):
        return html(name)
    return f'<a href="{html(report)}#list?{html(link)}">{html(name)}</a>'


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"<td>{html(each)}</td>" for each in cells)
