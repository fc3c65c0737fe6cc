"""What one event of ``antiloop hook claude-code`` costs, beside starting a bare interpreter.

    python tests/benchmarks/hook_time.py             # of this interpreter
    python tests/benchmarks/hook_time.py --times 50  # more of each

The transcript has 5 MB. The package is compiled and called as pip installs it. Times are noise on a
shared machine, so every figure is a ratio of medians, and all kinds of events take turns.
"""

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

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
HOOK = ["hook", "claude-code"]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=30)
    with tempfile.TemporaryDirectory() as folder:
        package, transcript = Path(folder, "package"), Path(folder, "session.jsonl")
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        compileall.compile_dir(str(package), quiet=1)
        Path(package, "script.py").write_text(SCRIPT_TEXT, encoding="utf-8")
        SCRIPT[1] = str(package / "script.py")
        last = write_session(transcript)
        report(events(str(transcript), last), str(package), options.parse_args().times)


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


def events(path: str, last: int) -> Dict[str, Dict[str, Any]]:
    """Return the events that are measured, by what they are."""
    session = {"session_id": "s", "transcript_path": path, "cwd": "/", "permission_mode": "default"}
    before = {**session, "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_use_id": "x"}
    after = {**session, "hook_event_name": "PostToolBatch"}
    called = {"tool_name": "Read", "tool_use_id": "x"}
    new = {**called, "tool_input": read(0), "tool_response": answer(0)}
    failed = {**new, "tool_response": "File does not exist."}
    return {
        "before a new call": {**before, "tool_input": read(0)},
        "after a round with something new": {**after, "tool_calls": [new]},
        "before a call that was made before": {**before, "tool_input": read(last)},
        "after a round that failed": {**after, "tool_calls": [failed]},
    }


def report(asked: Dict[str, Dict[str, Any]], package: str, times: int) -> None:
    """Measure all kinds of events in turn, and print the ratios."""
    starts = {"as --user writes it": START, "as antiloop": SCRIPT}
    spent: Dict[Tuple[str, str], List[float]] = {(n, s): [] for n in asked for s in starts}
    bare: List[float] = []
    for _ in range(times):
        bare.append(seconds(BARE, "", package))
        for name, started in spent:
            command = [*starts[started], *HOOK]
            spent[name, started].append(seconds(command, json.dumps(asked[name]), package))
    print(f"{'':36}" + "".join(f"{started:>22}" for started in starts))
    for name in asked:
        ratios = [statistics.median(spent[name, s]) / statistics.median(bare) for s in starts]
        print(f"{name:<36}" + "".join(f"{ratio:22.2f}" for ratio in ratios))


def seconds(command: List[str], text: str, package: str) -> float:
    """Return what a process takes from start to end."""
    environment = {**os.environ, "PYTHONPATH": package}
    started = time.perf_counter()
    done = subprocess.run(command, input=text.encode(), env=environment, capture_output=True)
    spent = time.perf_counter() - started
    if done.stderr:
        sys.exit(done.stderr.decode())
    return spent


if __name__ == "__main__":
    main()
