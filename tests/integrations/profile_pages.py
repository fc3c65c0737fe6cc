"""The profile of a client as its page shows it.

python tests/integrations/profile_pages.py   # writes the tables into the pages again
"""

from pathlib import Path

from antiloop.loop_detection import CallPattern, ClientProfile

PAGES = {
    "claude-code": "guard-claude-code.md",
    "codex": "guard-codex.md",
    "copilot": "guard-copilot.md",
    "gemini-cli": "guard-gemini-cli.md",
    "opencode": "guard-opencode.md",
    "openhands": "guard-openhands.md",
}
FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
HEAD, END = "### What antiloop knows of", "## Versions tested"
ROWS = {
    "wraps": "around results, left out where they are compared",
    "host_texts": "texts that the program writes in your place",
    "compaction": "texts that stand for earlier messages",
    "compaction_events": "events of a compaction",
    "plans": "tools that plan and ask, never counted",
    "waits": "calls that wait",
    "looks": "tools that only look",
    "finishes": "tools that end a task",
    "agents": "tools that start agents",
    "comments": "arguments that say what a call is for, left out where calls are compared",
}


def section(name: str) -> str:
    """Return the section of a page."""
    profile = ClientProfile.named(name)
    lines = [f"{HEAD} {profile.title}", "", INTRODUCTION, "", "| what | which |", "| --- | --- |"]
    for field, words in ROWS.items():
        values = getattr(profile, field)
        if values:
            lines.append(f"| {words} | {', '.join(map(_shown, values))} |")
    return "\n".join([*lines, "", ""])


INTRODUCTION = """\
This profile holds for the hook, the [gateway](guard-gateway.md) and recorded sessions. Patterns are
regular expressions."""


def _shown(value: "str | CallPattern") -> str:
    if isinstance(value, str):
        return f"`{_escaped(value)}`"
    where = ", ".join(
        f"{name or 'arguments'}: {text or 'nothing'}" for name, text in value.where.items()
    )
    handle = f" on `{value.handle}`" if value.handle else ""
    return f"`{_escaped(value.tool)}`{f' with `{_escaped(where)}`' if where else ''}{handle}"


def _escaped(text: str) -> str:
    return text.replace("\n", r"\n").replace("|", "\\|")


def with_section(text: str, name: str) -> str:
    """Return a page with the section in it, before the versions."""
    before, _, _ = text.partition(HEAD)
    before = before if before != text else text.partition(END)[0]
    return before + section(name) + END + text.partition(END)[2]


if __name__ == "__main__":
    for name, page in PAGES.items():
        path = FOLDER / page
        path.write_text(with_section(path.read_text("utf-8"), name), "utf-8")
