"""Transcripts as Claude Code writes them, and the events of its hooks."""

import json


def called(number, name="Bash", message=None, **arguments):
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    said = {"id": message or f"m{number}", "role": "assistant", "content": [block]}
    return {"type": "assistant", "uuid": f"a{number}", "message": said}


def answered(number, text="nothing", **beside):
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    said = {"role": "user", "content": [block]}
    return {"type": "user", "uuid": f"u{number}", "message": said, **beside}


def said(text):
    return {"type": "user", "message": {"role": "user", "content": text}}


def rounds(count, text="nothing", first=0, **arguments):
    """Return the lines of equal calls."""
    arguments = arguments or {"command": "ls"}
    numbers = range(first, first + count)
    return [line for n in numbers for line in (called(n, **arguments), answered(n, text))]


class Session:
    """A transcript on disk, and the events of what comes next."""

    def __init__(self, folder):
        self.path = folder / "session.jsonl"
        self.path.write_text("", "utf-8")

    def write(self, *lines, agent=None):
        path = self.path
        if agent:
            path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        return self

    def event(self, kind, **beside):
        own = {"hook_event_name": kind, "session_id": "s", "transcript_path": str(self.path)}
        return {**own, **beside}

    def before(self, number=99, name="Bash", agent_id=None, **arguments):
        call = {"tool_name": name, "tool_input": arguments or {"command": "ls"}}
        beside = {"agent_id": agent_id} if agent_id else {}
        return self.event("PreToolUse", tool_use_id=f"t{number}", **call, **beside)

    def after(self, *texts, number=99, name="Bash", **arguments):
        call = {"tool_name": name, "tool_input": arguments or {"command": "ls"}}
        calls = [
            {**call, "tool_use_id": f"t{number + place}", "tool_response": text}
            for place, text in enumerate(texts or ("nothing",))
        ]
        return self.event("PostToolBatch", tool_calls=calls)
