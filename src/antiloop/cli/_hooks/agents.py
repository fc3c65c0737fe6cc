"""The agents that can call the hook, and where they keep their settings."""

import os
import re
from typing import Dict, Optional

from ..._regular_file import opener
from .agent_settings import (
    LOCAL,
    PROJECT,
    USER,
    AgentSettings,
    PluginFile,
    flat_entry,
    forgiving,
    nested_entry,
)

_CLAUDE_EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit")

_TRUSTED = re.compile(
    r'^[ \t]*\[projects\."((?:[^"\\]|\\.)*)"\]\s*\n((?:[^\[\n].*\n|\n)*)', re.MULTILINE
)
_LEVEL = re.compile(r'^[ \t]*trust_level\s*=\s*"trusted"', re.MULTILINE)


def untrusted_by_codex(home: str) -> Optional[str]:
    """Return why Codex calls no hook of this project; None if it trusts the project.

    Codex asks once for each project, and skips the hooks of others without a word.
    """
    path = os.path.join(home, "config.toml")
    try:
        with open(path, encoding="utf-8", opener=opener) as file:
            text = file.read() + "\n"
    except (OSError, ValueError):
        text = ""
    trusted = {name for name, rest in _TRUSTED.findall(text) if _LEVEL.search(rest)}
    here = os.path.realpath(os.curdir)
    if any(here == each or here.startswith(os.path.join(each, "")) for each in trusted):
        return None
    return (
        f"Codex does not trust this project, so it calls no hook of it: start Codex here and trust"
        f' the folder, or set trust_level = "trusted" in {path}'
    )


SETTINGS: Dict[str, AgentSettings] = {
    each.name: each
    for each in (
        AgentSettings(
            "claude-code",
            ("PreToolUse", "PostToolBatch"),
            {
                USER: "settings.json",
                PROJECT: ".claude/settings.json",
                LOCAL: ".claude/settings.local.json",
            },
            ".claude",
            "CLAUDE_CONFIG_DIR",
            # Copilot CLI calls these hooks, too, and takes a failure for a refusal.
            entry=lambda command: nested_entry(forgiving(command)),
        ),
        AgentSettings(
            "codex",
            (*_CLAUDE_EVENTS, "PreCompact"),
            {USER: "hooks.json", PROJECT: ".codex/hooks.json"},
            ".codex",
            "CODEX_HOME",
            distrust=untrusted_by_codex,
            note="Codex calls a hook only after you trust it: type /hooks in a session.",
        ),
        AgentSettings(
            "gemini-cli",
            ("BeforeTool", "AfterTool", "BeforeAgent"),
            {USER: "settings.json", PROJECT: ".gemini/settings.json"},
            ".gemini",
            entry=lambda command: nested_entry(forgiving(command), timeout=30_000),  # milliseconds
            no_events=("enabled", "disabled", "notifications"),
        ),
        AgentSettings(
            "copilot",
            ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact"),
            {USER: "hooks/antiloop.json", PROJECT: ".github/hooks/antiloop.json"},
            ".copilot",
            "COPILOT_HOME",
            entry=lambda command: flat_entry(forgiving(command)),
            frame={"version": 1},
        ),
        AgentSettings(
            "openhands",
            _CLAUDE_EVENTS,
            {USER: "hooks.json", PROJECT: ".openhands/hooks.json"},
            ".openhands",
            note="OpenHands reads either the hooks of the project or yours, never both.",
        ),
        PluginFile(
            "opencode",
            ("tool.execute.before", "tool.execute.after", "chat.message"),
            {USER: "plugins/antiloop.js", PROJECT: ".opencode/plugins/antiloop.js"},
            os.path.join(".config", "opencode"),
            "OPENCODE_CONFIG_DIR",
        ),
    )
}
"""By the agents' names."""
