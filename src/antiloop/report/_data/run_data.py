"""One run as the page draws it: what happened in which order, and the texts of it.

Calls and results that are equal are written once and named by their number, so a run that does the
same thing a thousand times makes a small page. Equal means what it means to the detectors: the
same fingerprint.
"""

from collections import Counter
from typing import Any, Dict, Hashable, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..._amounts import number
from ..._text.canonical import parsed_arguments, readable_json, text_of
from ..._text.masking import SECRETS, Masking
from ..._text.shortening import shortened
from ...health import HealthReport, HealthWarning
from ...loop_detection._internal import CallFeatures, asked_of
from ...traces import RecordedRun
from ...types import ToolCall
from .lanes import SHAPES, TONES, lanes_of, letters, marks_of
from .laps import kept, laps_of, summary_of
from .loops import Loop, Spending, loops_of
from .moments import moments_of

TEXT_LIMITS = (8_000, 2_000, 500)
"""Characters that the page keeps of one text; less in large runs."""
RUN_BUDGET = 2_000_000
"""Characters of a run's different texts above which the next limit is taken."""


class Texts:
    """Texts, numbered as they are added.

    Args:
        budget: characters of all of them above which the next limit is taken.
    """

    def __init__(self, budget: int = RUN_BUDGET) -> None:
        self._whole: List[str] = []
        self._budget = budget

    def add(self, text: str) -> int:
        """Take a text, and return its number."""
        self._whole.append(text)
        return len(self._whole) - 1

    def kept(self) -> List[str]:
        """Return the texts, those that are too long shortened in the middle."""
        limit = self._limit()
        return [shortened(text, limit) for text in self._whole]

    def cut(self) -> Dict[int, int]:
        """Return the whole length of each text that is shortened, by its number."""
        limit = self._limit()
        lengths = map(len, self._whole)
        return {number: length for number, length in enumerate(lengths) if length > limit}

    def _limit(self) -> int:
        """Choose the largest limit that keeps a run within its budget, or the smallest."""
        for limit in TEXT_LIMITS[:-1]:
            if sum(min(len(text), limit) for text in self._whole) <= self._budget:
                return limit
        return TEXT_LIMITS[-1]


class DrawnRun(NamedTuple):
    """A run, ready to be written into the page."""

    data: Dict[str, Any]
    """All but the texts, as plain JSON; each text is a number in it."""
    texts: List[str]
    """The texts, in the order in which the run has them first."""
    loops: List[Loop]


def drawn(
    run: RecordedRun,
    health: HealthReport,
    masking: Masking = SECRETS,
    *,
    budget: int = RUN_BUDGET,
    has_texts: bool = True,
) -> DrawnRun:
    """Draw a run.

    Each step is ``[call, result, lane, is_seen]``: numbers of a call and of a result (-1 where it
    is not known), where its mark stands, and 1 if the same call brought nothing else before.

    Args:
        run: the run.
        health: what is wrong with it.
        masking: what may be shown.
        budget: characters of texts above which they are shortened further.
        has_texts: whether the page keeps its texts; only the run's line is drawn without them.
    """
    features = _Features(run)
    keys = features.calls
    calls = _Numbered(keys)
    results = _Numbered(map(_result_key, features) if has_texts else [None] * len(keys))
    lanes = lanes_of(keys) if has_texts else [0] * len(keys)
    rounds = [start for start, _ in run.rounds()]
    loops, spending = loops_of(run, health.verdicts), Spending(run)
    texts = Texts(budget)
    if has_texts:
        content = _content(run, features, calls, results, texts, masking)
    else:
        content = {"calls": _tools(features, calls, masking)}
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
        "clock": moments_of(run).of_steps if has_texts else [],
        "rules": [_rule(each) for each in health.warnings if not each.name.startswith("loop_")],
        "curve": [[step, round(100 * suspicion)] for step, suspicion in health.suspicion],
    }
    return DrawnRun(data, texts.kept(), loops)


class _Features(Sequence[CallFeatures]):
    """The features of each call, read when they are asked for.

    Most runs of an archive keep their line alone, and of a call that is made once this shows
    nothing of the result.
    """

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._asked = [asked_of(call) for call in run.calls]
        self._read: Dict[int, CallFeatures] = {}
        self.calls = [each.call for each in self._asked]
        """The fingerprints of the calls."""
        self.tools = [each.tool for each in self._asked]
        """Their tools."""

    def __len__(self) -> int:
        return len(self._asked)

    def __getitem__(self, step: Any) -> Any:
        if step not in self._read:
            asked = self._asked[step]
            self._read[step] = CallFeatures.of(asked, self._run.results[step])
        return self._read[step]


def _tools(features: _Features, calls: "_Numbered", masking: Masking) -> List[Dict[str, Any]]:
    """Return the tools of the different calls, and which of these come back."""
    marks, names = marks_of(features.calls), features.tools
    shown = {name: masking.name(name) for name in set(names)}
    return [
        {"tool": shown[names[step]], **_mark(marks.get(features.calls[step]))}
        for step in calls.firsts
    ]


def _content(
    run: RecordedRun,
    features: _Features,
    calls: "_Numbered",
    results: "_Numbered",
    texts: Texts,
    masking: Masking,
) -> Dict[str, Any]:
    """Return the different calls and results, and the messages, with the numbers of their texts."""
    marks = marks_of(features.calls)
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
            result = run.results[step]
            text = texts.add(masking.text("" if result is None else text_of(result.text)))
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


def _seen(features: _Features) -> List[int]:
    """Return 1 for each step whose call had this result before, noise apart, else 0."""
    times = Counter(features.calls)
    before: Set[Tuple[str, Optional[str]]] = set()
    seen: List[int] = []
    for step, call in enumerate(features.calls):
        # The looser key costs time, and is only needed where there is something to compare with.
        answer = (call, features[step].steady if times[call] > 1 else None)
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
    loop: Loop, features: _Features, rounds: List[int], spending: Spending, masking: Masking
) -> Dict[str, Any]:
    """Return what the card of a loop shows."""
    laps, spent = laps_of(loop, features, rounds), spending.on(loop.wasted)
    return {
        "key": loop.key,
        "name": loop.name(masking),
        "label": loop.label(masking),
        "message": masking.text(loop.message),
        "call": masking.text(loop.call),
        "times": loop.times,
        "answer": masking.text(loop.answer),
        "advice": loop.advice,
        "detectors": loop.detectors,
        "steps": list(loop.steps),
        "wasted": len(loop.wasted),
        **spent._asdict(),
        "actions": [list(each) for each in loop.actions],
        "period": loop.period,
        "lap_count": len(laps),
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
    return value if isinstance(value, str) else readable_json(value)


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
