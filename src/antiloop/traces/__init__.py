"""Recorded runs: files and streams in several formats, read one run at a time.

>>> from antiloop import LoopDetector
>>> for run in read_runs("docs/examples/runs.jsonl"):
...     verdicts = list(replay(run, LoopDetector.default()))
...     print(run.run_id, len(run), "stuck" if verdicts else "fine")
refund-window 18 stuck
sales-report 8 fine
"""

from typing import TYPE_CHECKING

from .._lazy import lazily
from ._reading import read_runs
from ._recorded_run import RecordedRun, RunEvent
from ._registry import FORMATS, TraceFormat
from ._replay import replay

if TYPE_CHECKING:
    from ._recorder import RunRecorder

__all__ = [
    "FORMATS",
    "RecordedRun",
    "RunEvent",
    "RunRecorder",
    "TraceFormat",
    "read_runs",
    "replay",
]

if not TYPE_CHECKING:
    # It is an agent's observer, too, and reading recordings needs no agent.
    __getattr__ = lazily(__name__, {"RunRecorder": "_recorder"})
