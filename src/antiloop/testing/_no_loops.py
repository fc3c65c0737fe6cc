"""Collect the runs of a test, as its fixture ``no_loops``."""

import os
from dataclasses import replace
from typing import Any, Collection, Dict, List, Optional, Sequence, TypeVar

from .._checks import tool_names
from .._short_repr import counted, short_repr
from .._text.masking import SECRETS
from .._text.shortening import visible
from ..agent import AgentObserver, AgentResult
from ..integrations._internal import Lookout
from ..loop_detection import ClientProfile, LoopDetection, LoopVerdict
from ..loop_detection._internal import ProjectSettings, find_settings
from ..stability import beta
from ..traces import RecordedRun
from ..types import ToolCall, ToolResult
from ._assertion import Preset, loops_in, runs_of, said_of

_Guard = TypeVar("_Guard", bound=Lookout)


@beta
class NoLoops(AgentObserver):
    """Fail a test at its end if an agent got stuck in it.

    It is an observer: a guard reports loops to it, and an `Agent` its whole run, which is judged
    when the test ends. For other recordings, call it like `assert_no_loops`.

    Attributes:
        preset: what looks for loops in runs.
        allow: names of tools that may be called over and over.
        runs: the runs that it received.
    """

    def __init__(self) -> None:
        self.preset: Preset = "default"
        self.allow: Collection[str] = ()
        self.runs: List[RecordedRun] = []
        self._profiles: Collection[ClientProfile] = ()
        self._observed: List[RecordedRun] = []
        self._under_way: Dict[str, RecordedRun] = {}
        self._heard: Dict[str, Dict[str, LoopDetection]] = {}

    @classmethod
    def _of_project(cls, folder: str) -> "NoLoops":
        """Make one that knows the clients that the settings of a project declare."""
        watch, path = cls(), find_settings(folder)
        if path is not None:
            settings = ProjectSettings.read(os.path.join(folder, path))
            watch._profiles = tuple(settings.profiles.values())
        return watch

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.runs), "run"))

    def __call__(
        self, run: Any, preset: Optional[Preset] = None, allow: Optional[Collection[str]] = None
    ) -> None:
        """Fail at once if a run got stuck; see `assert_no_loops`."""
        runs = runs_of(run, self._profiles)
        self.runs += runs
        said = self._said_of(
            runs, self.preset if preset is None else preset, self.allow if allow is None else allow
        )
        if said:
            raise AssertionError(said)

    def watch(self, guard: _Guard) -> _Guard:
        """Listen to an existing guard, and return it."""
        guard.observers = (*guard.observers, self)
        return guard

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Note what a guard or an agent has found."""
        found = verdict.detection
        if found is not None and not self._is_allowed(found):
            self._heard.setdefault(run_id, {})[found.identity] = found

    def on_run_start(self, run_id: str) -> None:
        """Note a run of an `Agent`: if it is abandoned, its end is not told."""
        self._under_way[run_id] = RecordedRun(run_id, source=run_id)

    def on_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None:
        """Note a round of an `Agent`; guards judge theirs themselves."""
        run = self._under_way.get(run_id)
        if run is not None:
            calls, results = (*run.calls, *calls), (*run.results, *results)
            self._under_way[run_id] = replace(run, calls=calls, results=results)

    def on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Take the run of an `Agent`."""
        self._under_way.pop(run_id, None)
        self._observe(run_id, result)

    def _observe(self, run_id: str, given: Any) -> None:
        runs = [
            replace(run, run_id=run_id, source=run_id) for run in runs_of(given, self._profiles)
        ]
        self._observed += runs
        self.runs += runs

    def end(self) -> None:
        """Fail if there was a loop in what was observed."""
        tool_names("allow", self.allow)
        abandoned, self._under_way = self._under_way, {}
        for each in abandoned.items():
            self._observe(*each)
        said = self._said_of(self._observed, self.preset, self.allow)
        heard = [line for run_id in self._heard for line in self._lines(run_id, said)]
        if said or heard:
            raise AssertionError("\n".join(filter(None, [said, *heard])))

    def _is_allowed(self, found: LoopDetection) -> bool:
        """Whether all tools of a loop may be called over and over."""
        tools = [tool for tool, _ in found.calls] or [str(found.details.get("tool"))]
        return all(tool in self.allow for tool in tools)

    def _said_of(self, runs: List[RecordedRun], preset: Preset, allow: Collection[str]) -> str:
        return said_of([loop for run in runs for loop in loops_in(run, preset, allow)])

    def _lines(self, run_id: str, said: str) -> List[str]:
        """Report what a guard found in a run, unless that was reported already."""
        found = [
            (each.detector_name, SECRETS.text(each.summary))
            for each in self._heard[run_id].values()
        ]
        new = [f"  {name}: {message}" for name, message in found if message not in said]
        whose = f"run {visible(run_id)!r}" if run_id else "a run"
        return [f"{whose} got stuck, as its guard found:", *new] if new else []
