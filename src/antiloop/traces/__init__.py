"""Recorded runs: files and streams in several formats, read one run at a time.

>>> for run in read_runs("docs/examples/stuck-run.jsonl"):
...     for step, verdict in replay(run, LoopDetector.default()):
...         print(run.run_id, step, verdict.message)  # doctest: +SKIP
"""

from .reading import read_runs
from .recorded_run import RecordedRun
from .registry import FORMATS, TraceFormat
from .replay import replay

__all__ = ["FORMATS", "RecordedRun", "TraceFormat", "read_runs", "replay"]
