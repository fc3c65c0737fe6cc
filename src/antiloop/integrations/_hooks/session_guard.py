"""The base of the hooks of coding agents: an event is read, judged and answered.

An agent starts a new process of the hook for each event. Between two events the state of the
session is kept in a file in the user's cache folder, see `session_state`. Transcripts are not read:
each agent has its own format, or none, and its events differ from what it writes there.
"""

import time
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Tuple

from ...exceptions import SnapshotError
from ...formats._internal import arguments_of, optional_text, text_of
from ...loop_detection import ClientProfile
from ...stability import beta
from ...types import ToolCall, ToolResult
from .._lookout import Lookout
from .agents import AGENTS, session_of
from .first_look import SeenCalls
from .hook_session import Decision, HookSession, denied, ended, specific, stated_s
from .session_state import CAME_AT, SessionFile, begun_with


@beta
class SessionGuard(Lookout):
    """Answers the events of an agent's hooks; see `Lookout` for its other arguments.

    An agent's module makes a subclass and tells where its answers differ from those of Claude Code.

    Args:
        profile: what is known of the agent's program; that of its name by default.
    """

    _agent = ""
    """The name of the agent, as on the command line, and of its profile."""
    _untold: Tuple[str, ...] = ()
    """The events after a call whose answers the model does not see."""
    _can_end = True
    """Whether the run can be ended; else all calls are refused until the user speaks."""
    _clock = staticmethod(time.time)
    """Says when an event comes, in seconds since 1970."""
    _shares_session = False
    """Whether the agents that an agent starts have its session, so that they look like one."""

    def __init__(self, *args: Any, profile: Optional[ClientProfile] = None, **options: Any) -> None:
        self.profile = ClientProfile.named(self._agent) if profile is None else profile
        self._events = AGENTS[self._agent]
        super().__init__(*args, **options)

    def answer(
        self, event: Mapping[str, Any], file: Optional[SessionFile] = None
    ) -> Dict[str, Any]:
        """Return what the hook answers, as plain JSON; nothing for: go on.

        Args:
            event: what the agent has sent.
            file: the file of its session, which is held; by default it is opened. Its `trouble` and
                the reason of a refusal say what goes wrong with it.
        """
        if not self._is_heard(event):
            return {}
        if file is None:
            with SessionFile(self._agent, session_of(self._events, event)) as own:
                return self.answer(event, own)
        run_id = text_of(event.get("session_id"))
        session = self._session(file, run_id)
        seen = SeenCalls(self._agent, file, self._ignored)
        for earlier in file.later:
            # The first look has let them pass, and the engine must not miss them.
            self._decide(earlier, session, is_past=True)
        session.verdict = None
        decision = self._decide(event, session)
        seen.note(seen.sums_of(event))
        kept = {"session": session.to_dict(), "seen": seen.to_dict(), "calm": session.is_calm}
        file.write({**file.value, **kept})
        if session.verdict is not None:
            self.tell(session.verdict, run_id, session.monitor)
        else:
            self.tell_reply(session.monitor, run_id)
        if decision.refusal and file.trouble:
            # The next event may not know of this one, so the user should.
            trouble = f"{decision.refusal}\n(antiloop cannot keep its state: {file.trouble})"
            decision = decision._replace(refusal=trouble)
        return self._in_own_words(event, decision)

    def _is_heard(self, event: Mapping[str, Any]) -> bool:
        events, kind = self._events, event.get(self._events.needs[0])
        known = (events.before, *events.after, events.user, *self.profile.compaction_events)
        return kind in known

    def _session(self, file: SessionFile, run_id: str) -> HookSession:
        """Take up the session where the event before left it."""
        starts_agent = self.profile.starts_agent if self._shares_session else None
        try:
            return HookSession(self.monitor(run_id), file.value.get("session", {}), starts_agent)
        # A state that was damaged, or kept by another version, must not break the session.
        except (SnapshotError, AttributeError):
            begun = begun_with(file.value)
            file.set_aside()
            file.value = begun
            return HookSession(self.monitor(run_id), {}, starts_agent)

    def _decide(
        self, event: Mapping[str, Any], session: HookSession, *, is_past: bool = False
    ) -> Decision:
        events, kind = self._events, event.get(self._events.needs[0])
        # Some agents send no event for the user's words, but name the turn in each event.
        session.turn(text_of(event.get("turn_id")))
        if kind in self.profile.compaction_events:
            return session.forgot()
        if kind == events.user:
            # Programs wake an agent in the user's place when something in the background ends.
            is_person = not self.profile.is_of_host(text_of(event.get("prompt")))
            return session.user_message(text_of(event.get("prompt"))) if is_person else Decision()
        call = replace(self.call_of(event), started_at=self._came_at(event))
        if kind == events.before:
            return session.before(call)
        result = self.result_of(event)
        result = replace(result, text=self.profile.unwrapped(result.text))
        takes_notice = not is_past and kind not in self._untold
        return session.after(call, result, takes_notice=takes_notice)

    def _came_at(self, event: Mapping[str, Any]) -> float:
        at = event.get(CAME_AT)
        return float(at) if isinstance(at, (int, float)) else round(self._clock(), 3)

    def call_of(self, event: Mapping[str, Any]) -> ToolCall:
        """Return the call of an event."""
        call_id = optional_text(event.get("tool_use_id"))
        arguments = arguments_of(event.get("tool_input"))
        return ToolCall(text_of(event.get("tool_name")), arguments, call_id)

    def result_of(self, event: Mapping[str, Any]) -> ToolResult:
        """Return the result in an event, as the model reads it."""
        content, is_error = self._events.given(event)
        return ToolResult(text_of(content), is_error, stated_s(event))

    def _in_own_words(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of the agent."""
        answer: Dict[str, Any] = {}
        if decision.refusal:
            answer = denied(decision.refusal)
        elif decision.notice:
            answer = specific(event[self._events.needs[0]], additionalContext=decision.notice)
        if decision.end and self._can_end:
            answer.update(ended(decision.end))
        return answer
