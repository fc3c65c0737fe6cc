"""One run as the plain data that the page draws.

Calls and results that are equal are written once and named by their number, so a run that does the
same thing a thousand times makes a small page. Equal means what it means to the detectors: the
same fingerprint.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, Hashable, Iterable, List, Optional, Set, Tuple

from ..formats.amounts import number
from ..loop_detection.evidence.call_features import CallFeatures
from ..loop_detection.text.canonical import canonical_json, parsed_arguments, text_of
from ..loop_detection.text.masking import SECRETS, Masking
from ..loop_detection.text.shortening import NAME_LENGTH, shortened
from ..traces import RecordedRun
from ..types import ToolCall, ToolResult
from .lanes import SHAPES, TONES, lanes_of, letters, marks_of

if TYPE_CHECKING:
    from ..health import HealthReport, HealthWarning

TEXT_LIMITS = (8_000, 2_000, 500)
"""Characters that the page keeps of one call's arguments or of one result; less in large runs."""
RUN_BUDGET = 2_000_000
"""Characters of a run's different arguments and results above which the next limit is taken."""


def summary(run: RecordedRun, health: "HealthReport", position: int) -> Dict[str, Any]:
    """Give what the list of runs and the head of a run show."""
    return {
        "number": position,
        "id": run.run_id,
        "source": run.source,
        "agent": run.agent,
        "model": run.model,
        "status": health.status.value,
        "score": health.score,
        "calls": health.calls,
        "warnings": len(health.warnings),
        "wasted_calls": health.wasted_calls,
        "wasted_tokens": health.wasted_tokens,
        "cost": number(health.cost),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
    }


def run_data(
    run: RecordedRun, health: "HealthReport", masking: Masking = SECRETS
) -> Dict[str, Any]:
    """Give the steps and warnings of a run.

    Each step is ``[call, result, lane, is_seen]``: numbers of a call and of a result (-1 where it
    is not known), where its mark stands, and 1 if the same call brought nothing else before.
    """
    features = [CallFeatures.of(call, result) for call, result in zip(run.calls, run.results)]
    keys = [fact.call for fact in features]
    calls, results = _Numbered(keys), _Numbered(map(_result_key, features))
    lanes = lanes_of(keys)
    steps = zip(calls.numbers, results.numbers, lanes, _seen(features))
    return {
        "steps": [list(step) for step in steps],
        **_texts(run, features, calls.firsts, results.firsts, masking),
        "lanes": max(lanes, default=0) + 1,
        "rounds": [start for start, _ in run.rounds()],
        "turns": list(run.turn_starts),
        "laps": _laps(health, keys),
        "warnings": [_warning(each) for each in sorted(health.warnings, key=_place)],
        "messages": _messages(run, masking),
    }


def _messages(run: RecordedRun, masking: Masking) -> List[Dict[str, Any]]:
    """Give what was said, masked, each with its place among the calls."""
    texts = [masking.text(each.text) for each in run.messages]
    limit = _limit(texts)
    return [
        {"position": each.position, "role": each.role.value, **_text(text, limit)}
        for each, text in zip(run.messages, texts)
    ]


def _texts(
    run: RecordedRun,
    features: List[CallFeatures],
    called: List[int],
    answered: List[int],
    masking: Masking,
) -> Dict[str, Any]:
    """Give each different call and result, as found at these steps, masked."""
    arguments = [_arguments(run.calls[step], masking) for step in called]
    results = [masking.text(_words(run.results[step])) for step in answered]
    limit = _limit([*arguments, *results])
    marks = marks_of([fact.call for fact in features])
    return {
        "calls": [
            {
                "tool": shortened(features[step].tool, NAME_LENGTH),
                **_text(text, limit),
                **_mark(marks.get(features[step].call)),
            }
            for step, text in zip(called, arguments)
        ],
        "results": [
            {**_text(text, limit), "is_failure": features[step].outcome.is_failure}
            for step, text in zip(answered, results)
        ],
    }


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


def _result_key(fact: CallFeatures) -> Optional[Tuple[str, bool]]:
    return None if fact.result is None else (fact.result, fact.outcome.is_failure)


def _seen(features: List[CallFeatures]) -> List[int]:
    """Tell of each step whether the same call brought nothing else before, noise apart."""
    times = Counter(fact.call for fact in features)
    before: Set[Tuple[str, Optional[str]]] = set()
    seen: List[int] = []
    for fact in features:
        # The looser form costs time, and is only needed where there is something to compare with.
        answer = (fact.call, fact.steady if times[fact.call] > 1 else None)
        seen.append(int(answer in before))
        before.add(answer)
    return seen


def _mark(number: Optional[int]) -> Dict[str, Any]:
    if number is None:
        return {"mark": "", "tone": 0, "shape": 0}
    shape = number // TONES % SHAPES
    return {"mark": letters(number), "tone": number % TONES, "shape": shape}


def _laps(health: "HealthReport", keys: List[str]) -> List[Tuple[int, int]]:
    """Give the step with which each lap of a cycle begins, and the number of the lap."""
    cycles: Dict[str, Set[int]] = {}
    for _, verdict in health.verdicts:
        found = verdict.detection
        if found is not None and found.period > 1:
            cycles.setdefault(found.identity, set()).update(found.indices)
    laps: Dict[int, int] = {}
    for steps in map(sorted, cycles.values()):
        starts = [step for step in steps if keys[step] == keys[steps[0]]]
        laps.update({step: lap for lap, step in enumerate(starts, 1)})
    return sorted(laps.items())


def _place(warning: "HealthWarning") -> Tuple[bool, int]:
    """Put the loops that were found before what the rules make of them."""
    return not warning.name.startswith("loop_"), warning.step


def _warning(warning: "HealthWarning") -> Dict[str, Any]:
    return {
        "name": warning.name,
        "message": warning.message,
        "why": warning.why,
        "suggestion": warning.suggestion,
        "penalty": number(warning.penalty),
        "step": warning.step,
        "steps": list(warning.steps),
        "is_open": warning.is_open,
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


def _limit(texts: List[str]) -> int:
    """Choose the largest limit that keeps a run within its budget, or the smallest."""
    for limit in TEXT_LIMITS[:-1]:
        if sum(min(len(text), limit) for text in texts) <= RUN_BUDGET:
            return limit
    return TEXT_LIMITS[-1]


def _text(text: str, limit: int) -> Dict[str, Any]:
    """Shorten a text, and say how long it was."""
    return {"text": shortened(text, limit), "length": len(text)}
