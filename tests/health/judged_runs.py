"""Small builders of recorded runs, so that a test shows only what it is about."""

from antiloop import ToolCall, ToolResult
from antiloop.traces import RecordedRun, RunEvent


def run_of(*steps, **fields):
    """A run of steps ``(tool, arguments, result)``, each a round of its own."""
    calls = tuple(ToolCall(step[0], step[1], round=at) for at, step in enumerate(steps))
    results = tuple(ToolResult(s[2]) if isinstance(s[2], str) else s[2] for s in steps)
    return RecordedRun("r", calls, results, **fields)


def told(*parts, **fields):
    """A run of steps and events, ``{"type": ...}``, in the order in which they happened."""
    steps, events = [], []
    for part in parts:
        if isinstance(part, tuple):
            steps.append(part)
        else:
            step = len(steps) - part["type"].startswith("tool_call")
            events.append(RunEvent(**{"step": step, **part}))
    return run_of(*steps, events=tuple(events), **fields)


def read(name, text=None):
    return ("read_file", {"path": name}, f"the text of {name}" if text is None else text)


def edit(number):
    return ("edit", {"path": "a.py", "new": f"line {number} " * number}, f"edited {number} lines")


def error(text):
    return ToolResult(text, is_error=True)


def names_of(report):
    return [each.name for each in report.warnings]


def warning(report, name):
    return next(each for each in report.warnings if each.name == name)


LOOK = ("look", {"at": "door"}, "The door is closed.")
RETRY = {"type": "retry_triggered"}
STATE = {"type": "state_updated"}


def took(milliseconds, kind="tool_call_completed"):
    return {"type": kind, "latency_ms": milliseconds}


def cost(amount):
    return {"type": "llm_call_completed", "cost": amount}


def handoff(agent, to_agent):
    return {"type": "handoff_started", "agent": agent, "to_agent": to_agent}
