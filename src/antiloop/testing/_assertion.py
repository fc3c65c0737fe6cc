"""Whether an agent got stuck in what a test gives: as an assertion, and as a score."""

import json
import os
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterator, List, NamedTuple, Sequence, Union

from .._checks import check_choice, tool_names
from .._short_repr import counted, held, short_repr
from .._text.canonical import parsed_arguments, plain, readable_json
from .._text.shortening import NAME_LENGTH, visible
from ..exceptions import NoTrace, TraceUnreadable
from ..formats import History
from ..formats._internal import verdicts_of
from ..loop_detection import ClientProfile, LoopDetection, LoopDetector, ToolPolicy
from ..loop_detection.presets import PRESETS
from ..stability import beta
from ..traces import RecordedRun, read_runs
from ..traces._internal import NO_OWN, Doubt, OwnClients, read_lines, replaying

_SHOWN_CALLS = 6
_SHOWN = 100
"""Characters of arguments and of a result."""

Preset = Union[str, LoopDetector]
"""The name of a preset, or a detector of your own."""


@dataclass(frozen=True)
class FoundLoop:
    """One loop, however often it was found."""

    run: RecordedRun
    step: int
    """The step at which it was found first."""
    detection: LoopDetection
    """The last finding, when it was longest."""
    detector: LoopDetector
    """The detector that found it, which says what may be shown."""

    @property
    def message(self) -> str:
        """The summary of the finding, with secrets masked."""
        return self.detector.masking.text(self.detection.summary)

    def lines(self) -> Iterator[str]:
        """Yield the finding, and the last calls of the loop with their results."""
        found = self.detection
        yield f"  step {self.step}, {found.detector_name}: {self.message}"
        indices = found.indices[-_SHOWN_CALLS:]
        if len(found.indices) > len(indices):
            yield f"    ... {counted(len(found.indices) - len(indices), 'call')} before"
        for index in indices:
            yield f"    {index:>3}  {self._call(index)}"

    def _call(self, index: int) -> str:
        call, result = self.run.calls[index], self.run.results[index]
        masking = self.detector.masking
        arguments = readable_json(masking.arguments(parsed_arguments(call.arguments)))
        shown = f"{visible(masking.text(call.tool_name), NAME_LENGTH)} {visible(arguments, _SHOWN)}"
        if result is None:
            return f"{shown} -> (result unknown)"
        answer = visible(masking.text(result.text), _SHOWN)
        return f"{shown} -> {'error: ' * result.is_error}{answer}"


def detector_of(preset: Preset) -> LoopDetector:
    """Return the detector of a preset.

    Raises:
        ValueError: if the preset does not exist.
        TypeError: for what is neither a name nor a detector.
    """
    if isinstance(preset, LoopDetector):
        return preset
    check_choice("preset", preset, PRESETS, ", or pass a LoopDetector")
    return PRESETS[preset]()


def loops_in(run: RecordedRun, preset: Preset, allow: Collection[str] = ()) -> List[FoundLoop]:
    """Find the loops of a run, each once, in the order in which they were found."""
    detector = detector_of(preset)
    exempt = {name: ToolPolicy(exempt=True) for name in tool_names("allow", allow)}
    found: Dict[str, FoundLoop] = {}
    for step, verdict in verdicts_of(replaying(run, detector, exempt), run):
        if verdict.detection is not None:
            earlier = found.get(verdict.detection.identity)
            first = earlier.step if earlier else step
            loop = FoundLoop(run, first, verdict.detection, detector)
            found[verdict.detection.identity] = loop
    return list(found.values())


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
    given = getattr(given, "trace", given)
    if _has_trace(given):
        return own_runs(given.to_jsonl(), clients)
    return _read(given, clients)


def _is_run(value: Any) -> bool:
    return isinstance(value, (RecordedRun, History)) or _has_trace(getattr(value, "trace", value))


def _has_trace(value: Any) -> bool:
    return callable(getattr(value, "to_jsonl", None))


def own_runs(line: str, clients: OwnClients = NO_OWN) -> List[RecordedRun]:
    """Return the runs in a line that antiloop wrote: there is no doubt how it was meant."""
    trouble: List[str] = []
    runs = list(read_lines([(1, line)], _GIVEN, None, trouble.append, clients))
    return _whole(runs, [each for each in trouble if not isinstance(each, Doubt)], _GIVEN)


def _read(given: Any, clients: OwnClients) -> List[RecordedRun]:
    trouble: List[str] = []
    if isinstance(given, (str, os.PathLike)):
        path, own = os.fspath(given), clients.profiles
        runs = list(read_runs(path, on_trouble=trouble.append, profiles=own))
    else:
        text = json.dumps(plain(given))
        runs = list(read_lines([(1, text)], _GIVEN, None, trouble.append, clients))
    return _whole(runs, trouble, given)


def _whole(runs: List[RecordedRun], trouble: Sequence[str], given: Any) -> List[RecordedRun]:
    if trouble:
        raise TraceUnreadable(f"a part of it cannot be judged: {trouble[0]}")
    if not runs:
        raise NoTrace(f"{given}: no recorded runs here")
    return runs


@beta
def assert_no_loops(run: Any, preset: Preset = "default", allow: Collection[str] = ()) -> None:
    """Fail a test if a run got stuck in a tool-call loop, and show the loop.

    Args:
        run: the path of a file of recorded runs; a `RecordedRun`, a `History`, an `AgentResult` or
            its trace; the messages of a conversation, in any format that recorded runs are read
            from, as JSON or as objects of a library; or a list of runs.
        preset: the name of a preset, or a `LoopDetector` of your own.
        allow: names of tools that may be called over and over.

    Raises:
        AssertionError: if there is a loop.
        TraceUnreadable: if it holds no run, or cannot be read completely.
        ValueError: if the preset does not exist.
        TypeError: if `preset` is neither a name nor a detector, or `allow` not a list of names.

    >>> assert_no_loops("docs/examples/runs.jsonl")
    Traceback (most recent call last):
    AssertionError: run 'refund-window' (docs/examples/runs.jsonl:1) got stuck in 2 loops:
    ...
    """
    found = [loop for each in runs_of(run) for loop in loops_in(each, preset, allow)]
    if found:
        raise AssertionError(said_of(found))


def said_of(found: Sequence[FoundLoop]) -> str:
    return "\n".join(_lines(found))


def _lines(found: Sequence[FoundLoop]) -> Iterator[str]:
    before = None
    for loop in found:
        if loop.run is not before:
            count = sum(each.run is loop.run for each in found)
            loops = "a loop" if count == 1 else f"{count} loops"
            source = f" ({loop.run.source})" if loop.run.source != loop.run.run_id else ""
            yield f"run {loop.run.run_id!r}{source} got stuck in {loops}:"
        before = loop.run
        yield from loop.lines()


@beta
class LoopScore(NamedTuple):
    """The result of an evaluator: a score, a label, and an explanation."""

    score: float
    """1 for a run without loops, 0 for one that got stuck: the mean is the share without."""
    label: str
    """``loop_free`` or ``stuck``."""
    explanation: str
    """The findings, one line for each loop."""

    def __repr__(self) -> str:
        said = (f"{name}={held(value)}" for name, value in zip(self._fields, self))
        return short_repr(self, *said)


@beta
def loop_score(run: Any, preset: Preset = "default", allow: Collection[str] = ()) -> LoopScore:
    """Score one run.

    Args:
        run: as for `assert_no_loops`, but one run.
        preset: the name of a preset, or a `LoopDetector` of your own.
        allow: names of tools that may be called over and over.

    Raises:
        TraceUnreadable: if it holds no run, or cannot be read completely.
        ValueError: if there are several runs, or the preset does not exist.
        TypeError: if `preset` is neither a name nor a detector, or `allow` not a list of names.
    """
    runs = runs_of(run)
    if len(runs) > 1:
        raise ValueError(f"expected one run, got {len(runs)}; score each of read_runs(...)")
    found = loops_in(runs[0], preset, allow)
    if not found:
        return LoopScore(1.0, "loop_free", "No tool-call loop.")
    lines = (f"step {each.step}: {each.message}" for each in found)
    return LoopScore(0.0, "stuck", "\n".join(lines))
