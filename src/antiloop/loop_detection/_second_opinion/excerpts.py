"""The texts of the last rounds of a run, and the case file that they make for a judge.

A text is masked when it comes: what is kept may be shown, in a case and in a snapshot. A call that
resembles an earlier one shows only the difference.
"""

from collections import Counter
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..._short_repr import counted
from ..._text.canonical import parsed_arguments, plain, text_of
from ..._text.difference import (
    changed_part,
    new_lines,
    opened,
    steady_lines,
    telling_part,
    tells,
)
from ..._text.masking import Masking
from ..._text.shortening import ends_of, visible
from ...types import ToolCall, ToolResult
from .._detection import LoopDetection
from .._evidence.answered import Result
from .._evidence.window import Window
from .case_file import CaseCall, CaseFile, CaseRound

MAX_ROUNDS, MAX_CALLS = 20, 100
"""The rounds that are kept, and the calls that they may have together."""
_KEPT_TEXT, _SAVED_TEXT = 16_000, 240
"""Characters of one text that are kept, of both its ends, and that a snapshot keeps."""
_SHOWN, _SHOWN_AGAIN = 1_000, 80
"""Characters of one text that a case holds, and of one that is the same as an earlier one."""
_SHORT, _USUAL = 200, 4
"""A longer answer is shown without the lines that so many different answers hold."""
_WORDS = 600
"""Characters of what the model or the user said last that are shown."""
_TOOLS, _SIBLINGS = 20, 6
"""Tools that are counted by name, and calls of one round that are shown."""
_Difference = Callable[[str, str], Optional[str]]
"""Returns how a text differs from an earlier one; None if it is another text."""


class Excerpts:
    """The texts of the last calls of one run, and its last words.

    Args:
        masking: what of them may be shown.
    """

    def __init__(self, masking: Masking) -> None:
        self.calls: List[Tuple[int, bool, CaseCall]] = []
        """The number of each call's round, whether the user spoke before it, and the call."""
        self._masking = masking
        self._counts: Counter[str] = Counter()
        self._after_user = False
        self._words = self._user = ""

    def add(self, window: Window, calls: Sequence[Tuple[ToolCall, Result]]) -> None:
        """Keep the last calls of a window, each with its result."""
        number, last = window.round_count, window.rounds[-1].evidence if window.rounds else []
        # A tool may report a failure as a success; unmarked, readers took it for one.
        failed = {item.index for item in last if item.outcome.is_failure}
        for index, (call, result) in enumerate(calls, window.call_count - len(calls)):
            tool = self._masking.name(text_of(call.tool_name))
            # A model can make up names without end.
            if tool in self._counts or len(self._counts) < _TOOLS:
                self._counts = self._counts + Counter([tool])
            given = plain(self._masking.arguments(parsed_arguments(call.arguments)))
            is_known, is_error = result is not None, index in failed
            if isinstance(result, ToolResult):
                is_error, result = is_error or bool(result.is_error), result.text
            answer = self._opened(text_of(result)) if is_known else ""
            # Both are masked before they are cut: half a secret looks like none.
            asked, answer = ends_of(_written(given), _KEPT_TEXT), ends_of(answer, _KEPT_TEXT)
            kept = CaseCall(index, tool, asked, answer, is_error=is_error, is_known=is_known)
            self.calls = [*self.calls, (number, self._after_user, kept)]
        self._after_user = False
        recent = [each for each in self.calls if each[0] > number - MAX_ROUNDS]
        self.calls = recent[-MAX_CALLS:]

    def user_message(self, text: str = "") -> None:
        """Take note of what the user has said, as far as it is known."""
        self._after_user, self._user = True, self._shown_words(text)

    def said(self, text: str) -> None:
        """Take note of what the model has said last."""
        self._words = self._shown_words(text) or self._words

    def case(
        self, run_id: str, suspicion: float, found: Optional[LoopDetection], window: Window
    ) -> CaseFile:
        """Build the case file of a judge, also from an uncertain finding, if there is one."""
        calls = _without_usual_lines([call for _, _, call in self.calls])
        # The same test after an edit is normal work, so a judge must see the edits in between.
        changes = [item.index for item in window if item.is_change]
        # Each answer is read once for the case, and not once for each answer after it.
        differ = partial(new_lines, steady=lru_cache(maxsize=None)(steady_lines))
        compared = [_compared(each, calls[:at], changes, differ) for at, each in enumerate(calls)]
        rounds = groupby(zip(self.calls, compared), key=lambda pair: pair[0][0])
        return CaseFile(
            run_id,
            window.call_count - 1,
            round(suspicion, 3),
            tuple(_case_round(list(pairs)) for _, pairs in rounds),
            "" if found is None else _counted(found),
            self._summary(window, len(changes)),
            self._user,
            self._words,
        )

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON, shortened."""
        saved = partial(ends_of, length=_SAVED_TEXT)
        calls = []
        for at, after_user, each in self.calls:
            texts = [saved(each.arguments), saved(each.result) if each.is_known else None]
            calls.append([each.number, at, each.tool, *texts, each.is_error, after_user])
        said = [saved(self._words), saved(self._user)]
        return {"calls": calls, "counts": dict(self._counts), "said": said}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self._words, self._user = map(str, state["said"])
        self._counts.update({str(name): int(count) for name, count in state["counts"].items()})
        for number, at, tool, arguments, result, is_error, after_user in state["calls"]:
            texts = (str(tool), str(arguments), str(result or ""))
            is_known = result is not None
            call = CaseCall(int(number), *texts, is_error=bool(is_error), is_known=is_known)
            self.calls.append((int(at), bool(after_user), call))

    def _summary(self, window: Window, changes: int) -> str:
        """Sum up the run in one line: the calls by tool, the changes, and when the user spoke."""
        tools = self._counts.most_common(8)
        named = ", ".join(f"{visible(name, 40)} {count}" for name, count in tools)
        # "0 new changes" was read as a sign of a loop, and an agent that only reads makes none.
        recent = f"; {counted(changes, 'new change')} among the last {len(list(window))}"
        user = f"; the user spoke before #{window.turn_start}" if window.turn_start else ""
        calls = f"{counted(window.call_count, 'call')} so far ({named})"
        return f"{calls}{recent if changes else ''}{user}"

    def _shown_words(self, text: str) -> str:
        return text and ends_of(self._masking.text(text), _WORDS)

    def _opened(self, text: str) -> str:
        """Return a masked text, JSON as lines; these are masked, too, as they escape nothing.

        JSON is opened before it is cut: of half an object, only its wrapping could be read.
        """
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


def _without_usual_lines(calls: List[CaseCall]) -> List[CaseCall]:
    """Leave out the lines that several answers have in common: banners, prompts, notes on a page.

    They would fill a long answer once it is cut.
    """
    answers = {each.result for each in calls}
    counts = Counter(line for answer in answers for line in set(answer.splitlines()))
    usual = {line for line, count in counts.items() if count >= _USUAL and not tells(line)}

    def without(text: str) -> str:
        rest = "\n".join(line for line in text.splitlines() if line not in usual)
        return rest if rest and len(text) > _SHORT else text

    return [replace(each, result=without(each.result)) for each in calls]


def _case_round(calls: List[Tuple[Tuple[int, bool, CaseCall], CaseCall]]) -> CaseRound:
    # One reply of thirty calls would leave no room for the rounds before it.
    shown = tuple(call for _, call in calls[-_SIBLINGS:])
    return CaseRound(shown, calls[0][0][1], len(calls) - len(shown))


def _compared(
    call: CaseCall, earlier: List[CaseCall], changes: List[int], differ: _Difference
) -> CaseCall:
    """Return a call as it compares to those before it; `differ` tells answers apart."""
    alike = [each for each in earlier if each.tool == call.tool]
    asked = [(each.number, each.arguments) for each in alike]
    same, near, arguments = _text_compared(call.arguments, asked, asked, changed_part)
    # Two answers that hold nothing are not the same.
    known = [(each.number, each.result) for each in earlier if each.result]
    answers = [(each.number, each.result) for each in alike]
    same_result, near_result, result = _text_compared(call.result, known, answers, differ)
    return replace(
        call,
        arguments=arguments,
        result=result,
        same=same,
        near=near,
        same_result=same_result,
        near_result=near_result,
        changes_between=sum(same[-1] < at < call.number for at in changes) if same else 0,
    )


def _text_compared(
    text: str,
    equal: List[Tuple[int, str]],
    similar: List[Tuple[int, str]],
    difference: _Difference,
) -> Tuple[Tuple[int, ...], Optional[int], str]:
    """Return the calls with an equal text, or the one with the most similar text, and what to show.

    Of an equal text, a few words are a reminder; of a similar one, the difference is shown.
    """
    same = tuple(number for number, other in equal if other == text)
    if same:
        return same, None, telling_part(text, _SHOWN_AGAIN)
    near, shown = None, text
    # Of equally short differences, the one to the latest call counts: it was read last.
    for number, other in reversed(similar):
        changed = difference(other, text)
        if changed is not None and len(changed) < len(shown):
            near, shown = number, changed
    return (), near, telling_part(shown, _SHOWN)
