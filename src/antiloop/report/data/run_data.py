"""One run as the page draws it: what happened in which order, and the texts of it.

Calls and results that are equal are written once and named by their number, so a run that does the
same thing a thousand times makes a small page. Equal means what it means to the detectors: the
same fingerprint.
"""

from collections import Counter
from typing import (
    Any,
    Dict,
    Hashable,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)

from ...formats.amounts import number
from ...health import HealthReport, HealthWarning
from ...loop_detection.evidence.call_features import CallFeatures
from ...loop_detection.text.canonical import canonical_json, parsed_arguments, text_of
from ...loop_detection.text.masking import SECRETS, Masking
from ...traces import RecordedRun
from ...types import ToolCall, ToolResult
from .lanes import SHAPES, TONES, lanes_of, letters, marks_of
from .laps import kept, laps_of, summary_of
from .loops import Loop, loops_of
from .spending import Spending
from .texts import Texts


class DrawnRun(NamedTuple):
    """A run, ready to be written into the page."""

    data: Dict[str, Any]
    """All but the texts, as plain JSON; each text is a number in it."""
    texts: List[str]
    """The texts, in the order in which the run has them first."""
    loops: List[Loop]
    """What was found in it."""


def drawn(run: RecordedRun, health: HealthReport, masking: Masking = SECRETS) -> DrawnRun:
    """Draw a run.

    Each step is ``[call, result, lane, is_seen]``: numbers of a call and of a result (-1 where it
    is not known), where its mark stands, and 1 if the same call brought nothing else before.
    """
    features = [CallFeatures.of(call, result) for call, result in zip(run.calls, run.results)]
    keys = [each.call for each in features]
    calls, results = _Numbered(keys), _Numbered(map(_result_key, features))
    lanes = lanes_of(keys)
    rounds = [start for start, _ in run.rounds()]
    loops, spending = loops_of(run, health.verdicts), Spending(run)
    texts = Texts()
    content = _content(run, features, calls, results, texts, masking)
    data = {
        "steps": [
            list(each) for each in zip(calls.numbers, results.numbers, lanes, _seen(features))
        ],
        **content,
        "cut": {str(number): length for number, length in texts.cut().items()},
        "lanes": max(lanes, default=0) + 1,
        "siblings": sorted(set(range(len(keys))) - set(rounds)),
        "turns": list(run.turn_starts),
        "loops": [_loop(each, features, rounds, spending, masking) for each in loops],
        "rules": [_rule(each) for each in health.warnings if not each.name.startswith("loop_")],
        "curve": [[step, round(100 * suspicion)] for step, suspicion in health.suspicion],
    }
    return DrawnRun(data, texts.kept(), loops)


def _content(
    run: RecordedRun,
    features: List[CallFeatures],
    calls: "_Numbered",
    results: "_Numbered",
    texts: Texts,
    masking: Masking,
) -> Dict[str, Any]:
    """Return the different calls and results, and the messages, with the numbers of their texts."""
    marks = marks_of([each.call for each in features])
    new_calls, new_results = set(calls.firsts), set(results.firsts)
    waiting = list(reversed(run.messages))
    said: List[Dict[str, Any]] = []
    called: List[Dict[str, Any]] = []
    answered: List[Dict[str, Any]] = []
    for step, each in enumerate(features):
        while waiting and waiting[-1].position <= step:
            said.append(_message(waiting.pop(), texts, masking))
        if step in new_calls:
            text = texts.add(_arguments(run.calls[step], masking))
            tool = masking.name(each.tool)
            called.append({"tool": tool, "text": text, **_mark(marks.get(each.call))})
        if step in new_results:
            text = texts.add(masking.text(_words(run.results[step])))
            failure = {"is_failure": True} if each.outcome.is_failure else {}
            answered.append({"text": text, **failure})
    said.extend(_message(each, texts, masking) for each in reversed(waiting))
    return {"calls": called, "results": answered, "messages": said}


def _message(message: Any, texts: Texts, masking: Masking) -> Dict[str, Any]:
    text = texts.add(masking.text(message.text))
    thought = {"is_thought": True} if message.is_thought else {}
    return {"position": message.position, "role": message.role.value, "text": text, **thought}


class _Numbered:
    """Equal things under one number; None has the number -1."""

    def __init__(self, keys: Iterable[Optional[Hashable]]) -> None:
        self.firsts: List[int] = []
        """For each number: the step that has it first."""
        known: Dict[Optional[Hashable], int] = {None: -1}
        self.numbers: List[int] = []
        for step, key in enumerate(keys):
            if key not in known:
                known[key] = len(self.firsts)
                self.firsts.append(step)
            self.numbers.append(known[key])


def _result_key(each: CallFeatures) -> Optional[Tuple[str, bool]]:
    return None if each.result is None else (each.result, each.outcome.is_failure)


def _seen(features: List[CallFeatures]) -> List[int]:
    """Return 1 for each step whose call had this result before, noise apart, else 0."""
    times = Counter(each.call for each in features)
    before: Set[Tuple[str, Optional[str]]] = set()
    seen: List[int] = []
    for each in features:
        # The looser key costs time, and is only needed where there is something to compare with.
        answer = (each.call, each.steady if times[each.call] > 1 else None)
        seen.append(int(answer in before))
        before.add(answer)
    return seen


def _mark(number: Optional[int]) -> Dict[str, Any]:
    """Return the looks of a call that comes back."""
    if number is None:
        return {}
    shape = number // TONES % SHAPES
    return {"mark": letters(number), "tone": number % TONES, "shape": shape}


def _loop(
    loop: Loop,
    features: List[CallFeatures],
    rounds: List[int],
    spending: Spending,
    masking: Masking,
) -> Dict[str, Any]:
    """Return what the card of a loop shows."""
    laps, spent = laps_of(loop, features, rounds), spending.on(loop.wasted)
    return {
        "label": loop.label(masking),
        "message": masking.text(loop.message),
        "detectors": loop.detectors,
        "steps": list(loop.steps),
        "wasted": len(loop.wasted),
        **spent._asdict(),
        "actions": [list(each) for each in loop.actions],
        "period": loop.period,
        "laps": [[each.number, each.steps, each.calls, each.results] for each in kept(laps)],
        "summary": summary_of(laps),
    }


def _arguments(call: ToolCall, masking: Masking) -> str:
    """Write arguments for a person: one line a field, text as it is."""
    arguments = masking.arguments(parsed_arguments(call.arguments))
    if isinstance(arguments, dict):
        return "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    return _value(arguments)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _words(result: Optional[ToolResult]) -> str:
    return text_of(result.text) if result is not None else ""


def _rule(warning: HealthWarning) -> Dict[str, Any]:
    return {
        "name": warning.name,
        "message": warning.message,
        "why": warning.why,
        "suggestion": warning.suggestion,
        "penalty": number(warning.penalty),
        "step": warning.step,
        "is_open": warning.is_open,
    }
