"""What the hooks of coding agents share: an event is read, judged and answered.

An agent starts a new process of the hook for each event. Between two events the state of the
session is kept in a file in the user's cache folder, see `session_state`. Transcripts are not read:
each agent has its own format, or none, and its events differ from what it writes there.
"""

from typing import Any, Dict, Mapping, Tuple

from ...formats.content import arguments_of, optional_text, text_of
from ...stability import beta
from ...types import ToolCall, ToolResult
from ..shared.lookout import Lookout
from .hook_answers import denied, ended, specific
from .hook_session import Decision, HookSession
from .session_state import session_state


@beta
class SessionGuard(Lookout):
    """Answers the events of an agent's hooks; see `Lookout` for its arguments.

    An agent's module makes a subclass and tells where its events differ from those of Claude Code.
    """

    agent = ""
    """The name of the agent, as on the command line."""
    name = "hook_event_name"
    """The field with the name of an event."""
    before = "PreToolUse"
    """The name of the event before a call."""
    after: Tuple[str, ...] = ("PostToolUse", "PostToolUseFailure")
    """The names of the events after a call."""
    user = "UserPromptSubmit"
    """The name of the event when the user has spoken."""
    session: Tuple[str, ...] = ("session_id", "agent_id")
    """The fields that tell which conversation it is."""
    result = "tool_response"
    """The field with the result of a call."""
    tells_before = False
    """Whether a notice can be given before a call; after one where false."""
    can_end = True
    """Whether the run can be ended; else all calls are refused until the user speaks."""

    def answer(self, event: Mapping[str, Any]) -> Dict[str, Any]:
        """Return what the hook answers, as plain JSON; nothing for: go on.

        Raises:
            OSError: if the file of the session cannot be used.
            ValueError: if its folder does not exist.
        """
        kind = text_of(event.get(self.name))
        if kind not in (self.before, *self.after, self.user):
            return {}
        whose = "\0".join(text_of(event.get(field)) for field in self.session)
        with session_state(self.agent, whose) as kept:
            session = HookSession(self.monitor(), kept.value, refuses_all=not self.can_end)
            session.turn(text_of(event.get("turn_id")))
            decision = self._decide(kind, event, session)
            kept.value = session.to_dict()
        if session.verdict is not None:
            self.tell(session.verdict, text_of(event.get("session_id")))
        return self.answered(event, decision)

    def _decide(self, kind: str, event: Mapping[str, Any], session: HookSession) -> Decision:
        if kind == self.user:
            return session.user_message()
        call = self.call_of(event)
        if kind == self.before:
            return session.before(call, takes_notice=self.tells_before)
        result = self.result_of(event)
        return session.after(call, result, takes_notice=not self.tells_before)

    def call_of(self, event: Mapping[str, Any]) -> ToolCall:
        """Return the call of an event."""
        call_id = optional_text(event.get("tool_use_id"))
        arguments = arguments_of(event.get("tool_input"))
        return ToolCall(text_of(event.get("tool_name")), arguments, call_id)

    def result_of(self, event: Mapping[str, Any]) -> ToolResult:
        """Return the result in an event."""
        error = event.get("error")
        if error is not None:
            return ToolResult(text_of(error), is_error=True)
        return ToolResult(text_of(event.get(self.result)))

    def answered(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of the agent."""
        answer: Dict[str, Any] = {}
        if decision.refusal:
            answer = denied(decision.refusal)
        elif decision.notice or (decision.end and not self.can_end):
            words = decision.notice or decision.end
            answer = specific(event[self.name], additionalContext=words)
        if decision.end and self.can_end:
            answer.update(ended(decision.end))
        return answer
