"""The runs in what a test gives: a file, a conversation, or a run."""

import json
import os
from typing import Any, List

from .._text.canonical import plain
from ..exceptions import NoTrace, TraceUnreadable
from ..formats import History
from ..traces import RecordedRun, read_runs
from ..traces._internal import read_lines

_GIVEN = "the value given"
"""Shown instead of a file name."""


def runs_of(given: Any) -> List[RecordedRun]:
    """Return the runs in a value.

    Args:
        given: the path of a file that `read_runs` reads; a `RecordedRun`, a `History`, an
            `AgentResult` or its trace; the messages of a conversation in one of the formats, as
            JSON or as objects of a library; or a list of runs.

    Raises:
        TraceUnreadable: if there is no run in it, or not all of it can be read: what was not
            looked at may hold a loop.
    """
    if isinstance(given, (list, tuple)) and given and all(map(_is_run, given)):
        return [run for each in given for run in runs_of(each)]
    if isinstance(given, RecordedRun):
        return [given]
    if isinstance(given, History):
        return [RecordedRun(_GIVEN, source=_GIVEN, **vars(given))]
    return _read(getattr(given, "trace", given))


def _is_run(value: Any) -> bool:
    return isinstance(value, (RecordedRun, History)) or _has_trace(getattr(value, "trace", value))


def _has_trace(value: Any) -> bool:
    return callable(getattr(value, "to_jsonl", None))


def _read(given: Any) -> List[RecordedRun]:
    trouble: List[str] = []
    if isinstance(given, (str, os.PathLike)):
        runs = list(read_runs(os.fspath(given), on_trouble=trouble.append))
    else:
        text = given.to_jsonl() if _has_trace(given) else json.dumps(plain(given))
        runs = list(read_lines([(1, text)], _GIVEN, None, trouble.append))
    if trouble:
        raise TraceUnreadable(f"a part of it cannot be judged: {trouble[0]}")
    if not runs:
        raise NoTrace(f"{given}: no recorded runs here")
    return runs
