"""Explain why there was a verdict at a step of a run, or why there was none.

>>> from antiloop import LoopDetector
>>> from antiloop.traces import read_runs
>>> run = next(read_runs("docs/examples/runs.jsonl"))
>>> explanation = explain(run, LoopDetector.default(), step=13)
>>> [(each.detector, each.count, each.needed) for each in explanation.counts]
[('repeat', 2, 3), ('stall', 2, 5), ('ping_pong', None, 3)]
"""

from ._counting import Count
from ._explanation import Explanation, Rung, explain
from ._matching import Match, Seen

__all__ = ["Count", "Explanation", "Match", "Rung", "Seen", "explain"]
