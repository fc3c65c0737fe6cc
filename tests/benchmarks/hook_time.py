"""How long one event of ``antiloop hook AGENT`` takes, beside starting a bare interpreter.

    python tests/benchmarks/hook_time.py             # of this interpreter
    python tests/benchmarks/hook_time.py --times 50  # more of each

The transcript of Claude Code has 5 MB; the other agents have a session of new calls behind them.
The package is compiled and called as pip installs it. All kinds of events take turns, and each
figure is a median of processor time: in milliseconds, and as a ratio to a bare interpreter's.
"""

import argparse
import compileall
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Dict, List, Tuple

from antiloop.integrations._hooks.agents import AGENTS

SOURCE = Path(__file__).parents[2] / "src"
SIZE = 5_000_000
BARE = [sys.executable, "-c", "pass"]
START = [sys.executable, "-c", "import antiloop.__main__ as antiloop; antiloop.main()"]
"""As ``--install --user`` writes it, but for ``-I``: the package is not installed here."""
SCRIPT = [sys.executable, "SCRIPT"]
"""The program ``antiloop``, which pip writes."""
SCRIPT_TEXT = """\
import re
import sys
from antiloop.__main__ import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
TRANSCRIBED = "claude-code"
OTHERS = ("codex", "gemini-cli", "copilot", "opencode", "openhands")
EARLIER = 20
"""How many calls an agent without a transcript has made before."""
KINDS = ("before a new call", "after a new result", "before a known call", "after a failure")
"""Of the first two nothing can come; for the others the engine is asked."""
SHELL = "after a new result of a shell"
"""The same as a new result, but with something of the agent's around it."""
SHELLS = {
    "codex": "Chunk ID: {0:06x}\nWall time: 1.5 seconds\nOutput:\n{1}",
    "gemini-cli": "Output: {1}\nProcess Group PGID: {0}",
    "copilot": "{1}\n<shellId: {0} completed with exit code 0>",
    "openhands": "{1}\n[Current working directory: /home/me]\n"
    "[The command completed with exit code 0.]",
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=30)
    with tempfile.TemporaryDirectory() as folder:
        package, transcript = Path(folder, "package"), Path(folder, "session.jsonl")
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        compileall.compile_dir(str(package), quiet=1)
        Path(package, "script.py").write_text(SCRIPT_TEXT, encoding="utf-8")
        SCRIPT[1] = str(package / "script.py")
        os.environ["XDG_CACHE_HOME"] = folder
        last = write_session(transcript)
        sources: Dict[str, Source] = {TRANSCRIBED: Transcribed(str(transcript), last)}
        sources.update((agent, Told(agent, str(package))) for agent in OTHERS)
        report(sources, str(package), options.parse_args().times)


def write_session(path: Path) -> int:
    """Write a healthy session of so many bytes; give the number of its last call."""
    number = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "message": {"role": "user", "content": "Go"}}))
        while file.tell() < SIZE:
            number += 1
            for line in step(number):
                file.write("\n" + json.dumps(line, separators=(",", ":")))
        file.write("\n")
    return number


def step(number: int) -> List[Dict[str, Any]]:
    """Return the lines of one call and its result."""
    call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": read(number)}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": answer(number)}
    said = {"id": f"m{number}", "role": "assistant", "content": [call], "stop_reason": "tool_use"}
    told = {"role": "user", "content": [result]}
    return [
        {"type": "assistant", "uuid": f"a{number}", "sessionId": "s", "message": said},
        {"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": told},
    ]


def read(number: int) -> Dict[str, Any]:
    return {"file_path": f"/home/me/project/src/module_{number}.py"}


def answer(number: int) -> str:
    return f"def function_{number}():\n    return {number}\n" * 60


def page(number: int) -> str:
    """Return a text that differs from all others in more than numbers."""
    words = Random(number)
    lines = ("".join(words.choices("abcdefgh ", k=60)) for _ in range(60))
    return "\n".join(lines)


class Source:
    """Makes the events of an agent."""

    def event(self, kind: str) -> Dict[str, Any]:
        """Return an event of one of the kinds."""
        raise NotImplementedError


class Transcribed(Source):
    """Claude Code: what came before is in the transcript."""

    def __init__(self, path: str, last: int) -> None:
        self._last = last
        self._session = {"session_id": "s", "transcript_path": path, "cwd": "/"}

    def event(self, kind: str) -> Dict[str, Any]:
        called = {"tool_name": "Read", "tool_use_id": "x"}
        if kind.startswith("before"):
            asked = read(self._last if kind == "before a known call" else 0)
            return {
                **self._session,
                **called,
                "hook_event_name": "PreToolUse",
                "tool_input": asked,
            }
        gave = "File does not exist." if kind == "after a failure" else answer(0)
        calls = [{**called, "tool_input": read(0), "tool_response": gave}]
        return {**self._session, "hook_event_name": "PostToolBatch", "tool_calls": calls}


class Told(Source):
    """An agent whose hook keeps what came before: each event brings a call further."""

    def __init__(self, agent: str, package: str) -> None:
        self._agent = AGENTS[agent]
        self._shell = SHELLS.get(agent, "{1}")
        self._begun = self._ended = self._run = 0
        for _ in range(EARLIER):
            for kind in KINDS[:2]:
                command = [*START, "hook", agent]
                seconds(command, json.dumps(self.event(kind)), package)

    def event(self, kind: str) -> Dict[str, Any]:
        agent = self._agent
        self._begun += kind == "before a new call"
        self._ended += kind == "after a new result"
        self._run += kind == SHELL
        numbers = {"before a new call": self._begun, "after a new result": self._ended}
        number = {**numbers, SHELL: 1_000_000 + self._run}.get(kind, 1)
        is_before = kind.startswith("before")
        # Once something was found in a session, the engine is asked until the user speaks.
        session = "calm" if kind in (*KINDS[:2], SHELL) else "other"
        told = {
            agent.needs[0]: agent.before if is_before else agent.after[0],
            "session_id": session,
            "tool_name": "Read",
            "tool_input": read(number),
            "tool_use_id": f"{session}{number}",
        }
        return told if is_before else {**told, **self._result(kind, number)}

    def _result(self, kind: str, number: int) -> Dict[str, Any]:
        text = "Error: no such file" if kind == "after a failure" else page(number)
        text = self._shell.format(number, text) if kind == SHELL else text
        if self._agent.title == "Gemini CLI":
            return {"tool_response": {"llmContent": text}}
        if self._agent.title == "Copilot":
            return {"tool_result": {"text_result_for_llm": text, "result_type": "success"}}
        if self._agent.title == "OpenHands":
            return {"tool_response": {"content": text, "exit_code": 0}}
        return {"tool_response": text}


def report(sources: Dict[str, Source], package: str, times: int) -> None:
    """Measure all kinds of events in turn, and print medians."""
    starts = {"as --user writes it": START, "as antiloop": SCRIPT}
    kinds = {agent: [*KINDS, SHELL][: 5 if agent in SHELLS else 4] for agent in sources}
    spent: Dict[Tuple[str, str, str], List[float]] = {
        (agent, kind, start): [] for agent in sources for kind in kinds[agent] for start in starts
    }
    bare: List[float] = []
    for _ in range(times):
        bare.append(seconds(BARE, "", package))
        for agent, kind, start in spent:
            text = json.dumps(sources[agent].event(kind))
            command = [*starts[start], "hook", agent]
            spent[agent, kind, start].append(seconds(command, text, package))
    alone = statistics.median(bare)
    print(f"{'Python alone':44}{1000 * alone:10.1f} ms")
    print(f"{'':44}" + "".join(f"{start:>26}" for start in starts))
    for agent in sources:
        for kind in kinds[agent]:
            medians = [statistics.median(spent[agent, kind, start]) for start in starts]
            shown = (f"{1000 * each:14.1f} ms {each / alone:7.2f}" for each in medians)
            print(f"{agent + ', ' + kind:44}" + " ".join(shown))


def seconds(command: List[str], text: str, package: str) -> float:
    """Return the processor time of a process from start to end: others may wait for the machine."""
    environment = {**os.environ, "PYTHONPATH": package}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=text.encode(), env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.stderr:
        sys.exit(done.stderr.decode())
    return spent


if __name__ == "__main__":
    main()
