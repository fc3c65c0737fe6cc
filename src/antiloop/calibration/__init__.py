"""Fit thresholds to runs that went well, so that hardly any such run is stopped.

Pure functions: recorded runs in, a configuration and figures out.

>>> from antiloop import LoopDetector, ToolCall, ToolResult
>>> from antiloop.traces import RecordedRun
>>> patient = RecordedRun("a", (ToolCall("ls"),) * 4, (ToolResult("a.py"),) * 4)
>>> fitted = calibrate([patient], LoopDetector.default(), max_false_stops=0.01)
>>> [(change.detector, change.option, change.before, change.after) for change in fitted.changes]
[('repeat', 'threshold', 3, 5)]
>>> fitted.holds, fitted.runs_needed
(False, 299)
"""

from ._bound import runs_needed, stops_allowed, upper_bound
from ._calibration import Calibration, FalseStop, Tally, calibrate, tally
from ._thresholds import Change

__all__ = [
    "Calibration",
    "Change",
    "FalseStop",
    "Tally",
    "calibrate",
    "runs_needed",
    "stops_allowed",
    "tally",
    "upper_bound",
]
