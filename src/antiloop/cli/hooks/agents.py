"""The agents that can call the hook, and where they keep their settings."""

import os
from typing import Dict

from .agent_settings import LOCAL, PROJECT, USER, AgentSettings, flat_entry, nested_entry
from .plugin_file import PluginFile

_CLAUDE_EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit")

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
        ),
        AgentSettings(
            "codex",
            _CLAUDE_EVENTS,
            {USER: "hooks.json", PROJECT: ".codex/hooks.json"},
            ".codex",
            "CODEX_HOME",
            note="Codex calls a hook only after you trust it: type /hooks in a session.",
        ),
        AgentSettings(
            "gemini-cli",
            ("BeforeTool", "AfterTool", "BeforeAgent"),
            {USER: "settings.json", PROJECT: ".gemini/settings.json"},
            ".gemini",
            entry=lambda command: nested_entry(command, timeout=30_000),  # milliseconds
            no_events=("enabled", "disabled", "notifications"),
        ),
        AgentSettings(
            "copilot",
            ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"),
            {USER: "hooks/antiloop.json", PROJECT: ".github/hooks/antiloop.json"},
            ".copilot",
            "COPILOT_HOME",
            entry=flat_entry,
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
