"""The coding agents that call the hook, and how their events are read.

Nothing heavy is imported here: a process is started for each call of a tool.
"""

from ...loop_detection._internal import contains_any
from .compact_json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Tuple

_FINISHING = ("complete", "completion", "done", "finish", "submit")


class HookAgent:
    """An agent that calls the hook.

    Args:
        title: its name in messages.
        module: of `antiloop.integrations`, with a class ``LoopGuard``.
        given: reads the answer of a call out of an event after it, as text or content, and whether
            it is an error.
        needs: fields that every event of it has, as text; the first holds the event's name.
        before: the name of the event before a call.
        after: the names of the events after a call.
        user: the name of the event of a text in the user's place.
    """

    def __init__(
        self,
        title: str,
        module: str,
        given: "Callable[[Mapping[str, Any]], Tuple[Any, bool]]",
        needs: "Tuple[str, ...]" = ("hook_event_name", "session_id"),
        before: str = "PreToolUse",
        after: "Tuple[str, ...]" = ("PostToolUse", "PostToolUseFailure"),
        user: str = "UserPromptSubmit",
    ) -> None:
        self.title = title
        self.module = module
        self.given = given
        self.needs = needs
        self.before = before
        self.after = after
        self.user = user


def has_transcript(agent: HookAgent) -> bool:
    """Whether the agent writes what came before into a file, and names it."""
    return "transcript_path" in agent.needs


def session_of(agent: HookAgent, event: "Mapping[str, Any]") -> str:
    """Return what tells a session from others: each agent that another one starts has its own.

    If the agent writes a transcript, only the settings of the whole session are kept.
    """
    if has_transcript(agent):
        return str(event["transcript_path"])
    fields = (event.get("session_id"), event.get("agent_id"))
    return "\0".join(each if isinstance(each, str) else dumps(each) for each in fields if each)


def may_finish(tool: "Any") -> bool:
    """Whether an agent may declare itself done with a tool: again and again, in other words."""
    return contains_any(str(tool).lower(), _FINISHING)


def field(thing: "Any", name: str) -> "Any":
    """Read a field of a JSON object; None of anything else."""
    return thing.get(name) if isinstance(thing, dict) else None


def _plainly(event: "Mapping[str, Any]") -> "Tuple[Any, bool]":
    error = event.get("error")
    return (event.get("tool_response"), False) if error is None else (error, True)


def _by_gemini(event: "Mapping[str, Any]") -> "Tuple[Any, bool]":
    response = event.get("tool_response")
    # `returnDisplay` beside it is for the user, and the model does not see it.
    return field(response, "llmContent"), field(response, "error") is not None


def _by_copilot(event: "Mapping[str, Any]") -> "Tuple[Any, bool]":
    error, result = event.get("error"), event.get("tool_result")
    if error is not None:
        return error, True
    # The other values say that the call failed, or that the user denied it.
    is_error = field(result, "result_type") not in (None, "success")
    return field(result, "text_result_for_llm"), is_error


def _by_openhands(event: "Mapping[str, Any]") -> "Tuple[Any, bool]":
    response = event.get("tool_response")
    content, code = field(response, "content"), field(response, "exit_code")
    given = response if content is None else content
    given = "" if given is None else given
    # The exit code is not part of the content, which alone may look like a success.
    if code not in (None, 0):
        listed = f"[exit code {code}]"
        if isinstance(given, str):
            given = f"{given}\n{listed}"
        elif isinstance(given, list):
            given = [*given, {"type": "text", "text": listed}]
    return given, bool(field(response, "is_error"))


AGENTS: "Dict[str, HookAgent]" = {
    "claude-code": HookAgent(
        "Claude Code", "claude_code", _plainly, ("hook_event_name", "transcript_path")
    ),
    "codex": HookAgent("Codex", "codex", _plainly),
    "gemini-cli": HookAgent(
        "Gemini CLI",
        "gemini_cli",
        _by_gemini,
        before="BeforeTool",
        after=("AfterTool",),
        user="BeforeAgent",
    ),
    "copilot": HookAgent("Copilot", "copilot", _by_copilot),
    "openhands": HookAgent("OpenHands", "openhands", _by_openhands, ("event_type", "session_id")),
    "opencode": HookAgent("opencode", "opencode", _plainly),
}
"""By their names on the command line."""
