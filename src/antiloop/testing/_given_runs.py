"""The runs in what a test gives: a file, a conversation, or a run."""

import json
import os
from typing import Any, Collection, List

from .._text.canonical import plain
from ..exceptions import NoTrace, TraceUnreadable
from ..formats import History
from ..loop_detection import ClientProfile
from ..traces import RecordedRun, read_runs
from ..traces._internal import OwnClients, read_lines

_GIVEN = "the value given"
"""Shown instead of a file name."""


def runs_of(given: Any, profiles: Collection[ClientProfile] = ()) -> List[RecordedRun]:
    """Return the runs in a value.

    Args:
        given: the path of a file that `read_runs` reads; a `RecordedRun`, a `History`, an
            `AgentResult` or its trace; the messages of a conversation in one of the formats, as
            JSON or as objects of a library; or a list of runs.
        profiles: the declared clients.

    Raises:
        TraceUnreadable: if there is no run in it, or not all of it can be read: what was not
            looked at may hold a loop.
    """
    if isinstance(given, (list, tuple)) and given and all(map(_is_run, given)):
        return [run for each in given for run in runs_of(each, profiles)]
    clients = OwnClients(profiles)
    if isinstance(given, RecordedRun):
        return [clients.read(given) if clients else given]
    if isinstance(given, History):
        return [clients.read(RecordedRun(_GIVEN, source=_GIVEN, **vars(given)))]
    return _read(getattr(given, "trace", given), clients)


def _is_run(value: Any) -> bool:
    return isinstance(value, (RecordedRun, History)) or _has_trace(getattr(value, "trace", value))


def _has_trace(value: Any) -> bool:
    return callable(getattr(value, "to_jsonl", None))


def _read(given: Any, clients: OwnClients) -> List[RecordedRun]:
    trouble: List[str] = []
    if isinstance(given, (str, os.PathLike)):
        path, own = os.fspath(given), clients.profiles
        runs = list(read_runs(path, on_trouble=trouble.append, profiles=own))
    else:
        text = given.to_jsonl() if _has_trace(given) else json.dumps(plain(given))
        runs = list(read_lines([(1, text)], _GIVEN, None, trouble.append, clients))
    if trouble:
        raise TraceUnreadable(f"a part of it cannot be judged: {trouble[0]}")
    if not runs:
        raise NoTrace(f"{given}: no recorded runs here")
    return runs
