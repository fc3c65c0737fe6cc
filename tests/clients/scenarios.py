"""What the scripted model does: a scenario says what comes next, in words that all clients know."""

import re
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Union

from model_forms import Asked, Call, Reply

STUBBORN = "I give up."
OBEDIENT = "I was in a loop. This is all that I know."
DONE = "All is done."
SUMMARY = "<summary>We looked at the files.</summary>"
SUBTASK = "SUBTASK"
BUILD_S = 30
"""How long the silent build takes."""


class Move(NamedTuple):
    """Something to do, whatever the client calls it."""

    kind: str
    what: Any = None


Said = List[Union[str, Move]]


class Turn(NamedTuple):
    """Where a conversation of a model and a client is."""

    number: int
    """How many replies with calls there were since it began or was compacted."""
    asked: Asked
    is_sub: bool
    is_compacted: bool
    heard: str
    """All texts that it was told, also those that it forgot."""

    @property
    def is_stopped(self) -> bool:
        """Whether the model has just been told to answer in words."""
        return "Answer in words now" in self.asked.latest


def shell(command: str) -> Move:
    return Move("shell", command)


def read(path: str) -> Move:
    return Move("read", path)


def same_shell(turn: Turn) -> Said:
    return [shell("grep -rn NOT_THERE src")] if turn.number < 20 else [STUBBORN]


def same_read(turn: Turn) -> Said:
    if turn.is_stopped:
        return [OBEDIENT]
    return [read("a.txt")] if turn.number < 20 else [STUBBORN]


def ping_pong(turn: Turn) -> Said:
    return [read("ab"[turn.number % 2] + ".txt")] if turn.number < 24 else [STUBBORN]


def failing_edits(turn: Turn) -> Said:
    return [Move("edit", ("n.txt", "absent", "x"))] if turn.number < 20 else [STUBBORN]


def parallel(turn: Turn) -> Said:
    calls = [shell("grep -rn NOT_THERE src"), read("a.txt"), shell("cat b.txt")]
    return calls if turn.number < 15 else [STUBBORN]


def subagent(turn: Turn) -> Said:
    if turn.is_sub:
        return same_shell(turn)
    if turn.number == 0:
        return [Move("task", f"{SUBTASK}: look for NOT_THERE")]
    # Codex starts an agent in the background, and waits for it by another call.
    is_waited_for = _WAIT_AGENT not in turn.asked.tools or turn.number > 1
    return [DONE] if is_waited_for else [Move("join", turn.heard)]


def healthy_hour(turn: Turn) -> Said:
    """Look around, then change and test until all is well; some replies hold several calls."""
    steps: List[Said] = [[shell("ls")], [read("a.txt"), read("b.txt"), read("f1.txt")]]
    steps.append([shell("python3 t.py")])
    for number in range(1, 6):
        # Not with sed: Qwen Code takes that for an edit of a file that it has not read.
        write = f"python3 -c \"open('n.txt', 'w').write('{number + 1}')\""
        steps += [[shell(write)], [shell("python3 t.py")]]
    steps += [[read("a.txt")], [shell("git status --short"), shell("git diff --stat")]]
    return steps[turn.number] if turn.number < len(steps) else [DONE]


def poll(turn: Turn) -> Said:
    return [shell("./status.sh")] if turn.number < 15 else [DONE]


def silent_build(turn: Turn) -> Said:
    is_over = any(words in turn.asked.latest for words in ("BUILD OK", "<status>completed"))
    if is_over or turn.number > 40:
        return [DONE]
    return [Move("wait" if turn.number else "build", turn.heard)]


def compaction(turn: Turn) -> Said:
    """Read nine files, forget them, read them again, and work on."""
    if turn.number < 9:
        return [read(f"f{turn.number}.txt")]
    if not turn.is_compacted:
        return (
            [shell(f"echo more {turn.number}")] if turn.number < 14 else ["nothing was forgotten"]
        )
    number = turn.number
    return [shell(f"echo {number} >> log.txt; wc -l log.txt")] if number < 13 else [DONE]


class Scenario(NamedTuple):
    """A scenario.

    Args:
        title: its name in the table.
        says: what the model does next.
        is_loop: whether it should be noticed, refused and ended; otherwise nothing is to be said.
        fills: whether the context of the model is to fill up after nine replies.
    """

    title: str
    says: Callable[[Turn], Said]
    is_loop: bool
    fills: bool = False


SCENARIOS: Dict[str, Scenario] = {
    "shell": Scenario("the same shell command", same_shell, True),
    "reads": Scenario("the same file read", same_read, True),
    "ping-pong": Scenario("two files read in turn", ping_pong, True),
    "edits": Scenario("an edit that fails", failing_edits, True),
    "parallel": Scenario("the same three calls in each reply", parallel, True),
    "subagent": Scenario("a subagent that loops", subagent, True),
    "hour": Scenario("a healthy hour in small", healthy_hour, False),
    "poll": Scenario("a poll with progress", poll, False),
    "build": Scenario("a silent build that is waited for", silent_build, False),
    "compaction": Scenario("files read again after a compaction", compaction, False, fills=True),
}

_SHELLS = ("Bash", "bash", "exec_command", "shell_command", "run_shell_command")
_READERS = ("Read", "read", "read_file", "view")
_EDITORS = ("Edit", "edit", "replace")
_STARTERS = ("Agent", "Task", "task", "agent", "spawn_agent", "invoke_agent")
_STARTERS += ("multi_agent_v1.spawn_agent",)
_PATHS = ("file_path", "filePath", "absolute_path", "path")
_OF_EDIT = {
    "old_string": 1,
    "oldString": 1,
    "old_str": 1,
    "new_string": 2,
    "newString": 2,
    "new_str": 2,
}
_OF_TASK = {
    "description": "look",
    "name": "helper",
    "task_name": "helper",
    "subagent_type": "general",
    "agent_type": "general-purpose",
    "agent_name": "generalist",
    "run_in_background": False,
}
_WAIT_AGENT = "multi_agent_v1.wait_agent"
_AGENT_ID = re.compile(r'"agent_id": ?"([\w-]+)"')
_PID = re.compile(r"\bPID:? (\d+)")
_SESSION = re.compile(r"session ID (\d+)")
_TASK_ID = re.compile(r"running in background with ID: (\w+)")


def as_calls(said: Said, turn: Turn, folder: str) -> Reply:
    """Return a reply with calls of the tools that the client offers."""
    return [part if isinstance(part, str) else _call(part, turn, folder) for part in said]


def _call(move: Move, turn: Turn, folder: str) -> Union[str, Call]:
    tools = turn.asked.tools
    if move.kind == "join":
        agents = [_last(_AGENT_ID, move.what)]
        return Call(_WAIT_AGENT, {"targets": agents, "timeout_ms": 120_000})
    if move.kind in ("build", "wait"):
        return _waiting(move, tools, turn.heard)
    if move.kind == "shell":
        return _shell(move.what, tools)
    if move.kind == "read":
        name = _first(tools, _READERS)
        if name is None:
            return _shell(f"cat {move.what}", tools)
        return Call(name, {_path_of(tools[name]): f"{folder}/{move.what}"})
    if move.kind == "edit":
        return _edit(move.what, tools, folder)
    return _task(move.what, tools)


def _shell(command: str, tools: Dict[str, Any], **more: Any) -> Union[str, Call]:
    name = _first(tools, _SHELLS)
    if name is None:
        return f"no shell among {sorted(tools)}"
    given = {"cmd" if name == "exec_command" else "command": command, **more}
    fields = _fields(tools[name])
    if "description" in fields:
        given["description"] = "a command"
    if "is_background" in fields:
        given.setdefault("is_background", False)
    return Call(name, given)


def _edit(what: Sequence[str], tools: Dict[str, Any], folder: str) -> Union[str, Call]:
    path, old, new = what
    name = _first(tools, _EDITORS)
    if name is None:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"
        return _shell(f"apply_patch <<'E'\n{patch}\nE", tools)
    given = {_path_of(tools[name]): f"{folder}/{path}"}
    for field in _fields(tools[name]):
        if field in _OF_EDIT:
            given[field] = what[_OF_EDIT[field]]
        elif field == "instruction":
            given[field] = "change it"
    return Call(name, given)


def _task(prompt: str, tools: Dict[str, Any]) -> Union[str, Call]:
    name = _first(tools, _STARTERS)
    if name is None:
        return f"no tool that starts an agent among {sorted(tools)}"
    given: Dict[str, Any] = {}
    for field in _fields(tools[name]):
        if field in ("prompt", "objective", "message", "task"):
            given[field] = prompt
        elif field in _OF_TASK:
            given[field] = _OF_TASK[field]
    if name in ("Agent", "Task", "agent"):
        given["subagent_type"] = "general-purpose"
    return Call(name, given)


def _waiting(move: Move, tools: Dict[str, Any], heard: str) -> Union[str, Call]:
    """Start a build, or wait for it, in the client's own way."""
    build, is_start = f"sleep {BUILD_S}; echo BUILD OK", move.kind == "build"
    if "write_stdin" in tools:
        if is_start:
            return _shell(build, tools, yield_time_ms=1_000)
        session = int(_last(_SESSION, heard))
        return Call("write_stdin", {"session_id": session, "chars": "", "yield_time_ms": 5_000})
    if "read_bash" in tools:
        if is_start:
            return _shell(build, tools, mode="async", shellId="build")
        return Call("read_bash", {"shellId": "build", "delay": 3})
    if "read_background_output" in tools:
        if is_start:
            return _shell(build, tools, is_background=True)
        pid = int(_last(_PID, heard))
        return Call("read_background_output", {"pid": pid, "delay_ms": 3_000})
    if "TaskOutput" in tools:
        if is_start:
            return _shell(build, tools, run_in_background=True)
        task = _last(_TASK_ID, heard)
        return Call("TaskOutput", {"task_id": task, "block": True, "timeout": 3_000})
    if is_start:
        return _shell(f"({build}) > build.log 2>&1 &", tools)
    return _shell("sleep 3; cat build.log", tools)


def _first(tools: Dict[str, Any], names: Sequence[str]) -> Any:
    return next((name for name in names if name in tools), None)


def _fields(schema: Dict[str, Any]) -> Dict[str, Any]:
    return schema.get("properties") or {}


def _path_of(schema: Dict[str, Any]) -> str:
    return next((name for name in _PATHS if name in _fields(schema)), "file_path")


def _last(pattern: "re.Pattern[str]", text: str) -> str:
    found = pattern.findall(text)
    return found[-1] if found else "0"
