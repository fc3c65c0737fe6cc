"""Runs without what they were about, for people who hand them to others."""

from typing import Optional, Tuple

from .._text.canonical import plain
from .._text.masking import SECRETS
from .._text.pseudonyms import Pseudonyms
from ..formats import TextMessage
from ..loop_detection import Opinion
from ..loop_detection._internal import PROFILES, rule_words
from ..traces import RecordedRun
from ..types import ToolCall, ToolResult


class Redactor:
    """Replaces names and texts of runs, each by the same other one for as long as it exists.

    Calls and results stay equal, different and as long as they were, in their order, and the words
    stay by which the rules know a kind of tool or how a call ended: so nearly every run gets the
    verdicts that it had. Secrets are masked first. Events, models, tokens and costs are left out.
    """

    def __init__(self) -> None:
        self._other = Pseudonyms(rule_words())

    def redacted(self, run: RecordedRun) -> RecordedRun:
        """Return a run with the same course and other words."""
        starts = [call.started_at for call in run.calls if call.started_at is not None]
        begun = min(starts, default=0.0)
        return RecordedRun(
            self._text(run.run_id),
            tuple(self._call(call, begun) for call in run.calls),
            tuple(map(self._result, run.results)),
            run.turn_starts,
            opinions=tuple(map(self._opinion, run.opinions)),
            messages=tuple(map(self._message, run.messages)),
            client=_known_client(run),
        )

    def _call(self, call: ToolCall, begun: float) -> ToolCall:
        began = call.started_at
        return ToolCall(
            self._text(call.tool_name),
            self._other.value(SECRETS.value(plain(call.arguments))),
            None if call.id is None else self._text(call.id),
            call.round,
            None if began is None else began - begun,
        )

    def _result(self, result: Optional[ToolResult]) -> Optional[ToolResult]:
        if result is None:
            return None
        return ToolResult(self._text(result.text), result.is_error, result.duration_s)

    def _opinion(self, asked: Tuple[int, Opinion]) -> Tuple[int, Opinion]:
        step, said = asked
        return step, Opinion(said.stuck, said.confidence, self._text(said.reason))

    def _message(self, said: TextMessage) -> TextMessage:
        text = self._text(said.text)
        return TextMessage(said.role, text, said.position, said.is_thought, said.is_summary)

    def _text(self, text: str) -> str:
        return self._other.text(SECRETS.text(text))


def _known_client(run: RecordedRun) -> Optional[str]:
    """Return the name of a known client; the name that a user gave to another one is private."""
    name = getattr(run.client, "name", run.client)
    return name if name in PROFILES else None
