"""The texts of the last rounds of a run, and the case file that they make for a judge.

A text is masked when it is shown, because masking takes long and most calls leave before a judge is
asked. A call that resembles an earlier one shows only the difference.
"""

from collections import Counter, deque
from itertools import groupby
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..._short_repr import counted
from ..._text.canonical import copied, parsed_arguments, plain, text_of
from ..._text.difference import changed_part, new_lines, opened, telling_part, tells
from ..._text.masking import Masking
from ..._text.shortening import NAME_LENGTH, ends_of, visible
from ...types import ToolCall, ToolResult
from .._detection import LoopDetection
from .._evidence.compared import Result
from .._evidence.window import Window
from .case_file import CaseCall, CaseFile, CaseRound

MAX_ROUNDS = 20
"""The number of rounds that are kept."""
MAX_CALLS = 100
"""The number of calls that they may have together."""
_KEPT_TEXT = 16_000
"""Characters of one text that are kept: both of its ends."""
_WORDS = 600
"""Characters of what the model or the user said last that are shown."""
_TOOLS = 20
"""The number of tools that are counted by name."""
_SAVED_TEXT = 240
"""Characters of one text that a snapshot keeps."""
_SIBLINGS = 6
"""Calls of one round that are shown."""
_SHOWN = 1_000
"""Characters of each text that a case holds at most."""
_SHORT = 200
"""Characters of an answer that is shown as it is."""
_USUAL = 4
"""The number of different answers that hold a usual line."""
_SHOWN_AGAIN = 80
"""Characters of a text that is the same as an earlier one."""


class Excerpt(NamedTuple):
    """One call; its texts may be shown once they are masked."""

    number: int
    """The number of the call, counted from 0 over the run."""
    round: int
    """The number of its round; equal for the calls of one reply."""
    tool: str
    arguments: Any
    """A text once it is masked."""
    result: Optional[str]
    """None where it is not known."""
    is_error: bool = False
    after_user: bool = False
    """Whether the user has spoken just before this round."""


class Excerpts:
    """The texts of the last calls of one run, and its last words.

    Args:
        masking: what of them may be shown. What a snapshot holds is masked already, and is masked
            once more when it is shown.
    """

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._kept: Deque[Excerpt] = deque(maxlen=MAX_CALLS)
        self._after_user = False
        self._counts: Dict[str, int] = {}
        self._words = self._user = ""

    def add(self, window: Window, calls: Sequence[Tuple[ToolCall, Result]]) -> None:
        """Keep the last calls of a window, each with its result."""
        number, last = window.round_count, window.rounds[-1].evidence if window.rounds else []
        # A tool may report a failure as a success; unmarked, readers took it for one.
        failed = {item.index for item in last if item.features.outcome.is_failure}
        for index, (call, result) in enumerate(calls, window.call_count - len(calls)):
            name, text, is_error = text_of(call.tool_name), result, index in failed
            if len(name) > NAME_LENGTH:
                name = self._masking.name(name)
            # A model can make up names without end.
            if name in self._counts or len(self._counts) < _TOOLS:
                self._counts[name] = self._counts.get(name, 0) + 1
            if isinstance(result, ToolResult):
                text, is_error = result.text, is_error or bool(result.is_error)
            given = self._kept_part(parsed_arguments(call.arguments), self._shown_arguments)
            said = None if text is None else self._kept_part(text_of(text), self._opened)
            self._kept.append(
                Excerpt(index, number, name, copied(given), said, is_error, self._after_user)
            )
        self._after_user = False
        while self._kept and self._kept[0].round <= number - MAX_ROUNDS:
            self._kept.popleft()

    def user_message(self, text: str = "") -> None:
        """Take note of what the user has said, as far as it is known."""
        self._after_user, self._user = True, text

    def said(self, text: str) -> None:
        """Take note of what the model has said last."""
        self._words = text or self._words

    def case(
        self, run_id: str, suspicion: float, found: Optional[LoopDetection], window: Window
    ) -> CaseFile:
        """Build the case file of a judge.

        Args:
            run_id: the run's id.
            suspicion: of the last round.
            found: an uncertain finding, if there is one.
            window: what the detectors know of the run.
        """
        calls = self.shown()
        _drop_usual_lines(calls)
        # The same test after an edit is normal work, so a judge must see the edits in between.
        changes = [item.index for item in window if item.is_change]
        compared = [_compared(each, calls[:at], changes) for at, each in enumerate(calls)]
        rounds = groupby(zip(calls, compared), key=lambda pair: pair[0].round)
        return CaseFile(
            run_id,
            window.call_count - 1,
            round(suspicion, 3),
            tuple(_case_round(list(pairs)) for _, pairs in rounds),
            "" if found is None else _counted(found),
            self._summary(window, len(changes)),
            self._shown_words(self._user),
            self._shown_words(self._words),
        )

    def shown(self) -> List[Excerpt]:
        """Return the calls, oldest first, as they may be shown."""
        return [
            each._replace(
                tool=self._masking.name(each.tool),
                arguments=self._shown_arguments(each.arguments),
                result=each.result and self._opened(each.result),
            )
            for each in self._kept
        ]

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON, masked and shortened."""
        calls = [
            [
                *each[:3],
                ends_of(each.arguments, _SAVED_TEXT),
                each.result and ends_of(each.result, _SAVED_TEXT),
                *each[5:],
            ]
            for each in self.shown()
        ]
        said = [ends_of(self._shown_words(text), _SAVED_TEXT) for text in (self._words, self._user)]
        return {"calls": calls, "counts": dict(self._tools()), "said": said}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self._words, self._user = map(str, state["said"])
        self._counts = {str(name): int(count) for name, count in state["counts"].items()}
        for index, number, tool, arguments, result, is_error, after_user in state["calls"]:
            text = None if result is None else str(result)
            shown = (str(tool), str(arguments), text, bool(is_error), bool(after_user))
            self._kept.append(Excerpt(int(index), int(number), *shown))

    def _tools(self) -> "Counter[str]":
        """Count the calls of each tool in the whole run, by masked name; the first tools only."""
        tools: Counter[str] = Counter()
        for name, count in self._counts.items():
            # Two names may be the same once they are masked.
            tools[self._masking.name(name)] += count
        return tools

    def _summary(self, window: Window, changes: int) -> str:
        """Sum up the run in one line: the calls by tool, the changes, and when the user spoke."""
        tools = self._tools().most_common(8)
        named = ", ".join(f"{visible(name, 40)} {count}" for name, count in tools)
        # "0 new changes" was read as a sign of a loop, and an agent that only reads makes none.
        recent = f"; {counted(changes, 'new change')} among the last {len(list(window))}"
        user = f"; the user spoke before #{window.turn_start}" if window.turn_start else ""
        calls = f"{counted(window.call_count, 'call')} so far ({named})"
        return f"{calls}{recent if changes else ''}{user}"

    def _kept_part(self, raw: Any, shown: Callable[[Any], str]) -> Any:
        """Return both ends of a long value, masked first: half a secret looks like none.

        JSON is opened before it is cut: of half an object, only its wrapping could be read.
        """
        return raw if len(_written(raw)) <= _KEPT_TEXT else ends_of(shown(raw), _KEPT_TEXT)

    def _shown_arguments(self, arguments: Any) -> str:
        return _written(plain(self._masking.arguments(arguments)))

    def _shown_words(self, text: str) -> str:
        return text and ends_of(self._masking.text(text), _WORDS)

    def _opened(self, text: str) -> str:
        """Return a masked text, JSON as lines; these are masked, too, as they escape nothing."""
        masked = self._masking.text(text)
        lines = opened(masked)
        return masked if lines == masked else self._masking.text(lines)


def _written(arguments: Any) -> str:
    """Write arguments for a reader: a field a line, texts as they are."""
    if not isinstance(arguments, Mapping):
        return text_of(arguments)
    return "\n".join(f"{name}: {text_of(value)}" for name, value in sorted(arguments.items()))


def _counted(found: LoopDetection) -> str:
    """State what a detector counted but not what it means, which the judge is to find out."""
    # Hints such as "nothing new" made readers call honest work stuck.
    numbers = ", ".join(f"#{index}" for index in found.indices[-8:])
    of = f", the last ones {numbers}" if numbers else ""
    return f"the rule {found.detector_name} counted {counted(found.repetitions, 'time')}{of}"


def _drop_usual_lines(calls: List[Excerpt]) -> None:
    """Leave out the lines that several answers have in common: banners, prompts, notes on a page.

    They would fill a long answer once it is cut.
    """
    answers = {each.result for each in calls if each.result}
    counts = Counter(line for answer in answers for line in set(answer.splitlines()))
    usual = {line for line, count in counts.items() if count >= _USUAL and not tells(line)}
    for at, each in enumerate(calls):
        if each.result and len(each.result) > _SHORT:
            rest = "\n".join(line for line in each.result.splitlines() if line not in usual)
            calls[at] = each._replace(result=rest or each.result)


def _case_round(calls: List[Tuple[Excerpt, CaseCall]]) -> CaseRound:
    # One reply of thirty calls would leave no room for the rounds before it.
    shown = tuple(call for _, call in calls[-_SIBLINGS:])
    return CaseRound(shown, calls[0][0].after_user, len(calls) - len(shown))


def _compared(call: Excerpt, earlier: List[Excerpt], changes: List[int]) -> CaseCall:
    """Return a call as it compares to those before it."""
    said = call.result or ""
    alike = [each for each in earlier if each.tool == call.tool]
    same = [each.number for each in alike if each.arguments == call.arguments]
    same_result = [each.number for each in earlier if said and each.result == said]
    # An equal text needs no difference: it is named, and a few words remind of it.
    near, arguments = None, call.arguments
    if not same:
        asked = [(each.number, each.arguments) for each in alike]
        near, arguments = _nearest(asked, arguments, changed_part)
    near_result, result = None, said
    if not same_result:
        answers = [(each.number, each.result or "") for each in alike]
        near_result, result = _nearest(answers, said, new_lines)
    return CaseCall(
        call.number,
        call.tool,
        telling_part(arguments, _SHOWN_AGAIN if same else _SHOWN),
        telling_part(result, _SHOWN_AGAIN if same_result else _SHOWN),
        tuple(same),
        near,
        tuple(same_result),
        near_result,
        sum(same[-1] < index < call.number for index in changes) if same else 0,
        call.is_error,
        call.result is not None,
    )


def _nearest(
    earlier: List[Tuple[int, str]], text: str, difference: Callable[[str, str], Optional[str]]
) -> Tuple[Optional[int], str]:
    """Return the number of the call with the most similar text, and the difference to it.

    Without a similar one, return the text itself.
    """
    best: Tuple[Optional[int], str] = (None, text)
    # Of equally short differences, the one to the latest call counts: it was read last.
    for index, other in reversed(earlier):
        changed = difference(other, text) if text else None
        if changed is not None and len(changed) < len(best[1]):
            best = (index, changed)
    return best
