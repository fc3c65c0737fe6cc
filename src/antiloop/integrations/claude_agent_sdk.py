"""The Claude Agent SDK: what guards Claude Code, as callbacks in your own process."""

import logging
from typing import Any, AsyncIterable, AsyncIterator, Dict, List, Mapping, TypeVar

from ._needed import needed

with needed("claude-agent-sdk", "claude-agent-sdk", __name__):
    from claude_agent_sdk import HookMatcher

from .._latest import Latest
from ..exceptions import LoopDetectedError
from ..loop_detection import LoopAction, LoopVerdict
from ..stability import stable
from .claude_code import LoopGuard as _ClaudeCodeGuard

__all__ = ["LoopGuard"]

_T = TypeVar("_T")

_logger = logging.getLogger("antiloop")
_ERRORS_REMEMBERED = 1_000  # of sessions whose messages never reach `raising`


@stable
class LoopGuard(_ClaudeCodeGuard):
    """Hooks for `ClaudeAgentOptions`; see `Guard` for its arguments.

    At ``conclude`` the model is asked for a report, and all calls are refused, so that it answers
    in words. An exception of a hook does not reach the caller. If the policy is to raise, the run
    ends as with ``stop``; `raising` then raises `LoopDetectedError` after its last message.
    """

    reports = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._errors: Latest[str, LoopDetectedError] = Latest(_ERRORS_REMEMBERED)

    @property
    def hooks(self) -> Any:
        """Return what `ClaudeAgentOptions` takes as ``hooks``."""
        matchers: List[Any] = [HookMatcher(hooks=[self._answer])]
        return dict.fromkeys(("PreToolUse", "PostToolBatch", "UserPromptSubmit"), matchers)

    async def raising(self, messages: AsyncIterable[_T]) -> AsyncIterator[_T]:
        """Return the messages of a run; after the last one, raise if the policy said so.

        Args:
            messages: what `query` or `receive_response` gives.

        Raises:
            LoopDetectedError: for a run that was ended because of a loop.
        """
        session = None
        async for message in messages:
            session = getattr(message, "session_id", session)
            yield message
        error = self._errors.pop(session or "", None)
        if error is not None:
            raise error

    async def _answer(self, event: Any, tool_use_id: Any, context: Any) -> Any:
        try:
            answer = await self.aanswer(event)
        except Exception:
            _logger.exception("a hook of Claude Code could not be answered; the run goes on")
            return {}
        # The SDK writes what is a keyword of Python with an underscore.
        return {{"continue": "continue_"}.get(key, key): value for key, value in answer.items()}

    def _end(self, event: Mapping[str, Any], verdict: LoopVerdict) -> Dict[str, Any]:
        if verdict.action is LoopAction.RAISE:
            self._errors[event.get("session_id", "")] = verdict.as_error()
        return super()._end(event, verdict)
