"""Recorded runs as one self-contained HTML page, to look at and to hand on.

>>> import io
>>> from antiloop import health, report
>>> from antiloop.traces import read_runs
>>> page = io.StringIO()
>>> runs = read_runs("docs/examples/runs.jsonl")
>>> report.write_page(((run, health.evaluate(run)) for run in runs), page)
{}
>>> page.getvalue()[:15]
'<!doctype html>'
"""

from ._page import DrawnPart, draw_run, write_page

__all__ = ["DrawnPart", "draw_run", "write_page"]
