"""Claude Code: the events of its hooks, and the answers to them."""

import json
import time
from dataclasses import replace
from typing import Any, Dict, Iterable, List, Mapping, Tuple, Union

from .._latest import Latest
from ..formats import History, from_claude_transcript
from ..formats._internal import field_of, items_of, optional_text, read_by, text_of, timed
from ..loop_detection import ClientProfile, LoopAction, LoopVerdict
from ..loop_detection._internal import asked_of
from ..stability import stable
from ..types import ToolCall, ToolResult
from ._guard import Guard, stopped
from ._hooks.compact_json import UNREADABLE
from ._hooks.hook_session import REFUSALS, REPORT, denied, ended, specific, stated_s
from ._hooks.late_rounds import LateRounds, settled, without
from ._hooks.transcript_tail import holds_blocks, is_failure, tail_of, transcript_of

__all__ = ["LoopGuard"]

_Answers = List[Tuple[ToolCall, ToolResult]]
_COMPACTION = b'"compact_boundary"'
_TRANSCRIPTS = 1_000  # of sessions and subagents that one guard knows at a time
_ROUND = -1  # the round that has just run; those of a transcript count from 0


@stable
class LoopGuard(Guard):
    """Answers the events of Claude Code's hooks; see `Guard` for its arguments.

    Tools with which Claude Code plans, asks and answers are ignored beside those of ``ignore``.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolBatch``, from Claude Code 2.1.119 on) the round is judged: a notice
    is given as additional context. Without this event, ``PostToolUse`` and ``PostToolUseFailure``
    can judge each call alone.

    All is read off the transcript, so events of parallel calls cannot disturb one another. A guard
    that answers several events of a session adds what is not written there yet. At ``stop`` and
    ``raise`` the model reads why, and all calls are refused, so that it answers in words; if it
    goes on calling, the run ends.
    """

    profile = ClientProfile.named("claude-code")

    _clock = staticmethod(time.time)
    """Says when an event comes, in seconds since 1970."""

    reports = True
    """Whether the model is asked for a report at ``stop`` and ``raise``; else the run ends at once.

    At ``conclude`` it is always asked.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: Latest[str, LateRounds] = Latest(_TRANSCRIPTS)

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
        late = self._late.setdefault(transcript_of(dict(event)), LateRounds())
        if kind == "UserPromptSubmit":
            if not self.profile.is_of_host(text_of(event.get("prompt"))):
                late.user_message(history)
            return {}
        history = late.completed(history)
        if kind == "PreToolUse":
            answer = self._before_tool(event, read_by(self.profile, settled(history)))
            why = answer.get("hookSpecificOutput", {}).get("permissionDecisionReason")
            if why:
                late.add([(_call_of(event), ToolResult(why, is_error=True))])
            return answer
        answers = _answers_of(event, lines)
        if not answers:
            return {}
        late.add(answers)
        whole = _with(answers, history, self._clock())
        if _refusals_in(history):  # the run has ended; older versions do not end it at a call
            return ended(stopped(LoopVerdict())) if _refusals_in(whole) > REFUSALS else {}
        return read_by(self.profile, whole)

    def _lines(self, event: Mapping[str, Any]) -> List[Any]:
        tail = tail_of(transcript_of(dict(event)), self._kept)
        return list(_parsed(tail.split(b"\n")))

    def _asks_for_report(self, verdict: LoopVerdict) -> bool:
        is_end = verdict.action.ends_run and self.reports
        return is_end or verdict.action is LoopAction.CONCLUDE

    def _before_tool(self, event: Mapping[str, Any], history: History) -> Dict[str, Any]:
        monitor = self.monitor(text_of(event.get("session_id")))
        call = _call_of(event)
        verdict = LoopVerdict()
        for verdict in self.verdicts(monitor, history):
            # What follows a stop stays stopped until a person speaks, whatever wakes the agent.
            if self._asks_for_report(verdict):
                is_over = _refusals_in(history) >= REFUSALS
                refusal = denied(f"{stopped(verdict)} {REPORT}")
                return {**refusal, **(self._end(event, verdict) if is_over else {})}
        # The run should have ended after the round, if Claude Code had asked then.
        if verdict.action.ends_run and self._is_of_loop(call, verdict):
            return {**denied(stopped(verdict)), **self._end(event, verdict)}
        verdict = monitor.before(call)
        return denied(verdict.message) if verdict.action is LoopAction.BLOCK else {}

    def _is_of_loop(self, call: ToolCall, verdict: LoopVerdict) -> bool:
        key, found = asked_of(call, self.detector.tools, self.profile).call, verdict.detection
        return found is not None and key in found.members

    def _after(self, event: Mapping[str, Any], verdict: LoopVerdict) -> Dict[str, Any]:
        if verdict.action is LoopAction.NOTIFY:
            return specific(event["hook_event_name"], additionalContext=verdict.message)
        if not verdict.action.ends_run:
            return {}
        if self._asks_for_report(verdict):
            words = f"{stopped(verdict)} {REPORT}"
            return specific(event["hook_event_name"], additionalContext=words)
        return self._end(event, verdict)

    def _end(self, event: Mapping[str, Any], verdict: LoopVerdict) -> Dict[str, Any]:
        return ended(stopped(verdict))


def _refusals_in(history: History) -> int:
    """Count the calls of a turn that were refused because the run had ended."""
    results = history.last_turn().results
    # At their end: a log or a transcript that is read may quote such a refusal.
    return sum(result is not None and result.text.rstrip().endswith(REPORT) for result in results)


def _parsed(lines: Iterable[bytes]) -> Iterable[Any]:
    """Yield the JSON values of the lines that bear on calls, or are words of the user."""
    for line in lines:
        if holds_blocks(line) or b'"user"' in line or _COMPACTION in line:
            try:
                # An undecodable byte must not spoil a line.
                yield json.loads(line.decode("utf-8", "surrogateescape"))
            except UNREADABLE:
                continue  # half written, or of a version that is not known yet


def _with(answers: _Answers, history: History, now: float) -> History:
    """Return the history with the round that has just run at its end, once.

    Args:
        answers: the calls of the round with their results.
        history: what the transcript tells, of these calls too if they are written already.
        now: when the round has ended, in seconds since 1970.
    """
    calls, results = zip(*answers)
    ids = {call.id for call in calls}
    past = settled(without(ids, history))
    began = {call.id: call.started_at for call in history.calls if call.id in ids}
    calls = tuple(replace(call, started_at=began.get(call.id)) for call in calls)
    results = tuple(timed(each, call, now) for each, call in zip(results, calls))
    return History(
        (*past.calls, *calls), (*past.results, *results), past.turn_starts, past.messages
    )


def _call_of(said: Mapping[str, Any]) -> ToolCall:
    """Return the call of an event, or of a part of one."""
    call_id = optional_text(field_of(said, "tool_use_id"))
    return ToolCall(
        text_of(field_of(said, "tool_name")), field_of(said, "tool_input"), call_id, _ROUND
    )


def _answers_of(event: Mapping[str, Any], lines: List[Any]) -> _Answers:
    """Return the calls that have just run, with their results as the model reads them."""
    kind = event.get("hook_event_name")
    if kind == "PostToolBatch":
        called = [each for each in items_of(event.get("tool_calls")) if isinstance(each, Mapping)]
        texts = [text_of(each.get("tool_response")) for each in called]
        return [
            (_call_of(each), ToolResult(text, is_failure(text)))
            for each, text in zip(called, texts)
        ]
    if kind == "PostToolUse":
        result = _result_like(event.get("tool_response"), lines)
        return [(_call_of(event), replace(result, duration_s=stated_s(event)))]
    if kind == "PostToolUseFailure":
        return [(_call_of(event), ToolResult(text_of(event.get("error")), is_error=True))]
    return []


def _result_like(response: Any, lines: List[Any]) -> ToolResult:
    """Return a tool's answer as text: as in the transcript, if that has the same answer."""
    for line in lines:
        if field_of(line, "toolUseResult") == response is not None:
            blocks = items_of(field_of(field_of(line, "message"), "content"))
            return ToolResult(text_of(field_of(blocks[0], "content") if blocks else response))
    if isinstance(response, Mapping) and "stdout" in response:
        said = (text_of(response.get(stream)) for stream in ("stdout", "stderr"))
        return ToolResult("\n".join(filter(None, said)))
    return ToolResult(text_of(response))
