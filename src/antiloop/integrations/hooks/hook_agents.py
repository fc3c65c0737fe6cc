"""The coding agents that call the hook.

Nothing is imported here but what the interpreter has loaded already: a process is started for each
call of a tool.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Tuple


class HookAgent:
    """An agent that calls the hook.

    Args:
        title: its name in messages.
        module: of `antiloop.integrations`, with a class ``LoopGuard``.
        needs: fields that every event of it has, as text.
    """

    def __init__(self, title: str, module: str, needs: "Tuple[str, ...]") -> None:
        self.title = title
        self.module = module
        self.needs = needs


_SESSION = ("hook_event_name", "session_id")

AGENTS: "Dict[str, HookAgent]" = {
    "claude-code": HookAgent("Claude Code", "claude_code", ("hook_event_name", "transcript_path")),
    "codex": HookAgent("Codex", "codex", _SESSION),
    "gemini-cli": HookAgent("Gemini CLI", "gemini_cli", _SESSION),
    "copilot": HookAgent("Copilot", "copilot", _SESSION),
    "openhands": HookAgent("OpenHands", "openhands", ("event_type", "session_id")),
    "opencode": HookAgent("opencode", "opencode", _SESSION),
}
"""By their names on the command line."""
