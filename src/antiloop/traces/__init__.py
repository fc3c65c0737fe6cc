"""Recorded runs: files and streams in several formats, read one run at a time.

>>> from antiloop import LoopDetector
>>> for run in read_runs("docs/examples/runs.jsonl"):
...     verdicts = list(replay(run, LoopDetector.default()))
...     print(run.run_id, len(run), "stuck" if verdicts else "fine")
refund-window 18 stuck
sales-report 8 fine
"""

from .reading import read_runs
from .recorded_run import RecordedRun
from .recorder import RunRecorder
from .registry import FORMATS, TraceFormat
from .replay import replay
from .run_event import RunEvent

__all__ = [
    "FORMATS",
    "RecordedRun",
    "RunEvent",
    "RunRecorder",
    "TraceFormat",
    "read_runs",
    "replay",
]
