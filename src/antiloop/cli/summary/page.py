"""A summary as one HTML page that needs no script, no other file and no network."""

from typing import Sequence

from ...report.markup import html
from .cells import Table, remarks_of, tables_of
from .period import moment
from .summary import Summary

_SHOWN = 100
_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>antiloop summary</title>
<style>
:root { --ink: #1d2127; --quiet: #5b6470; --paper: #fbfaf7; --card: #fff; --line: #dedbd3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e3df; --quiet: #9ba3ae; --paper: #16181c; --card: #1d2026; --line: #343941; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem 1.25rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 Inter, "Segoe UI", system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .25rem; }
p, caption { color: var(--quiet); margin: 0 0 1rem; }
.wide { overflow-x: auto; margin: 1.5rem 0; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: .75rem 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; margin: 0; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
thead th, td { white-space: nowrap; }
tbody tr:last-child > * { border-bottom: 0; }
th { font-weight: 500; }
thead th { color: var(--quiet); font-size: .875rem; }
th:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; min-width: 8rem;
  unicode-bidi: isolate; }
@media print { body { max-width: none; padding: 0; } .wide { overflow: visible; } }
</style>
</head>
<body>
<main>
"""
_CAPTIONS = {
    "period": "All runs",
    "agent": "By agent",
    "model": "By model",
    "tool": "By tool",
}


def summary_page(summary: Summary) -> str:
    """Return the page, in ASCII."""
    before, since, until = map(moment, summary.period)
    about = f"Runs from {since} to {until}, compared with the period before, from {before}."
    trend = "The share is wasted calls divided by all calls; the trend is its change in points."
    body = "".join(_table(each) for each in tables_of(summary, _SHOWN))
    remarks = "".join(f"<p>{html(each)}</p>\n" for each in remarks_of(summary))
    head = f"<h1>antiloop summary</h1>\n<p>{html(about)} {html(trend)}</p>\n"
    return f"{_HEAD}{head}{body}{remarks}</main>\n</body>\n</html>\n"


def _table(table: Table) -> str:
    titles = "".join(f'<th scope="col">{html(each)}</th>' for each in (table.title, *table.columns))
    rows = "".join(
        f'<tr><th scope="row">{html(name)}</th>{_cells(cells)}</tr>\n' for name, cells in table.rows
    )
    caption = html(_CAPTIONS[table.title])
    more = f"<p>and {table.left_out:,} more</p>\n" if table.left_out else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">'
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{titles}</tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n{more}</div>\n"
    )


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"<td>{html(each)}</td>" for each in cells)
