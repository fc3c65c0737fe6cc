"""Claude Code: the events of its hooks, and the answers to them."""

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from ..formats import History, from_claude_transcript
from ..formats.content import text_of
from ..loop_detection import LoopAction, LoopVerdict
from ..loop_detection.evidence.compared import asked_of
from ..loop_detection.evidence.tool_policy import NO_POLICY
from ..stability import beta
from ..types import ToolCall
from .guard import Guard, stopped
from .hooks.claude_events import Answers, answers_of, call_of
from .hooks.hook_answers import denied, ended, specific
from .hooks.transcript_tail import PLANNING, holds_blocks, tail_of, transcript_of


@beta
class LoopGuard(Guard):
    """Answers the events of Claude Code's hooks; see `Guard` for its arguments.

    Tools with which Claude Code plans, asks and answers are ignored beside those of ``ignore``.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolBatch``, from Claude Code 2.1.119 on) the round is judged: a notice
    is given as additional context, or the run ends. Who has no such event can have ``PostToolUse``
    and ``PostToolUseFailure`` judge each call alone.

    All is read off the transcript, so nothing is kept between two events, and events of parallel
    calls cannot disturb one another. ``raise`` ends the run like ``stop``.
    """

    own_tools = PLANNING

    def answer(self, event: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the answer of the hook as plain JSON; empty to go on."""
        history = self._history(event)
        if not isinstance(history, History):
            return history
        return self._after(event, self.judge(history, text_of(event.get("session_id"))))

    async def aanswer(self, event: Mapping[str, Any]) -> Dict[str, Any]:
        """Do the same as `answer` without blocking the event loop."""
        history = self._history(event)
        if not isinstance(history, History):
            return history
        return self._after(event, await self.ajudge(history, text_of(event.get("session_id"))))

    def _history(self, event: Mapping[str, Any]) -> Union[History, Dict[str, Any]]:
        """Return the history whose last round is to be judged, else the answer itself."""
        kind = event.get("hook_event_name")
        lines = self._lines(event)
        history = from_claude_transcript(lines, text_of(event.get("agent_id")))
        if kind == "PreToolUse":
            return self._before_tool(event, history)
        answers = answers_of(event, lines)
        return _with(answers, history) if answers else {}

    def _lines(self, event: Mapping[str, Any]) -> List[Any]:
        tail = tail_of(transcript_of(dict(event)), self._kept)
        return list(_parsed(tail.split(b"\n")))

    def _before_tool(self, event: Mapping[str, Any], history: History) -> Dict[str, Any]:
        monitor = self.monitor()
        call = call_of(event)
        verdict = self.replay(monitor, _settled(history))
        # The run should have ended after the round, if Claude Code had asked then.
        if verdict.action.ends_run and self._is_of_loop(call, verdict):
            return {**denied(stopped(verdict)), **self._end(event, verdict)}
        verdict = monitor.before(call)
        return denied(verdict.message) if verdict.action is LoopAction.BLOCK else {}

    def _is_of_loop(self, call: ToolCall, verdict: LoopVerdict) -> bool:
        policy = self.detector.tools.get(call.tool_name, NO_POLICY)
        found = verdict.detection
        return found is not None and asked_of(call, policy).call in found.members

    def _after(self, event: Mapping[str, Any], verdict: LoopVerdict) -> Dict[str, Any]:
        if verdict.action is LoopAction.NOTIFY:
            return specific(event["hook_event_name"], additionalContext=verdict.message)
        return self._end(event, verdict) if verdict.action.ends_run else {}

    def _end(self, event: Mapping[str, Any], verdict: LoopVerdict) -> Dict[str, Any]:
        return ended(stopped(verdict))


def _parsed(lines: Iterable[bytes]) -> Iterable[Any]:
    """Yield the JSON values of the lines that bear on calls, or are words of the user."""
    for line in lines:
        if holds_blocks(line) or b'"user"' in line:
            try:
                # An undecodable byte must not spoil a line.
                yield json.loads(line.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError):
                continue  # half written, or of a version that is not known yet


def _with(answers: Answers, history: History) -> History:
    """Return the history with the round that has just run at its end, once."""
    calls, results = zip(*answers)
    ids = {call.id for call in calls}
    past = _settled(_without(ids, history))
    return History((*past.calls, *calls), (*past.results, *results), past.turn_starts)


def _without(ids: Iterable[Optional[str]], history: History) -> History:
    kept = [index for index, call in enumerate(history.calls) if call.id not in ids]
    starts = tuple(sum(index < start for index in kept) for start in history.turn_starts)
    return History(
        tuple(history.calls[index] for index in kept),
        tuple(history.results[index] for index in kept),
        starts,
    )


def _settled(history: History) -> History:
    """Leave out the last calls, as long as their results are not written yet.

    The transcript is written a moment late. To judge without the result that is missing could take
    progress for a loop.
    """
    count = len(history)
    while count and history.results[count - 1] is None:
        count -= 1
    return history.until(count)
