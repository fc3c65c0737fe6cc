"""Objects as small pictures in a notebook: what their ``_repr_html_`` gives.

A picture is one piece of HTML that needs nothing else: no script, no style sheet, no request. Its
colors are readable on a light and on a dark page, and its size is bounded however long a run is.
All texts of a run are masked, shortened and escaped.

>>> from antiloop.traces import read_runs
>>> run = next(read_runs("docs/examples/runs.jsonl"))
>>> run_html(run)[:11]
'<div style='
"""

from .explanation import explanation_html as explanation_html
from .health import health_html as health_html
from .result import result_html as result_html
from .run import run_html as run_html
