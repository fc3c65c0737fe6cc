"""Check a program against the vectors.

    python tests/vectors/check.py python tests/vectors/program.py

The program reads one JSON object a line and answers each with one line, see the page about vectors.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def questions():
    """Yield each question with its answer."""
    for file in sorted(FOLDER.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            given = json.loads(line)
            if "fingerprint" in given:
                asked = {name: given[name] for name in ("tool_name", "arguments")}
                yield asked, {"fingerprint": given["fingerprint"]}
                continue
            for preset, verdicts in given["verdicts"].items():
                asked = {"id": given["id"], "preset": preset, "events": given["events"]}
                yield asked, {"verdicts": verdicts}


def differences(command):
    """Yield what the program answers otherwise."""
    asked = list(questions())
    text = "".join(json.dumps(question) + "\n" for question, _ in asked)
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8")
    answers = done.stdout.splitlines()
    if len(answers) != len(asked):
        yield f"{len(asked)} questions, {len(answers)} answers; {done.stderr[-500:]}"
    for (question, expected), line in zip(asked, answers):
        answer = json.loads(line)
        if answer != expected:
            named = question.get("id") or question["tool_name"]
            yield f"{named} {question.get('preset', '')}: expected {expected}, got {answer}"


if __name__ == "__main__":
    found = list(differences(sys.argv[1:]))
    print(*found[:20], f"{len(found)} differences", sep="\n")
    sys.exit(bool(found))
