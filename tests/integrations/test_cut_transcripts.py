"""A transcript that is cut or damaged: the hook judges what it can read."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from claude_transcripts import Session, rounds

SCRIPT = Path(__file__).with_name("cut_transcript.py")
CALLS = 5
NEEDED = 4
"""Calls after which the escalating preset refuses the next one."""


def answers(folder):
    """Cut a transcript in all ways; give the event, the whole lines, and what the hook writes."""
    session = Session(folder).write(*rounds(CALLS, "none", command="git status"))
    left = {"transcript_path": str(folder / "cut.jsonl")}
    events = [{**session.before(command=words), **left} for words in ("git status", "git")]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(session.path), *map(json.dumps, events)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for line in done.stdout.splitlines():
        number, whole, said = line.split("\t")
        yield int(number), int(whole), said


def test_a_transcript_cut_at_any_byte_is_judged_by_what_can_be_read(tmp_path):
    seen = Counter()
    for number, whole, said in answers(tmp_path):
        is_denied = '"permissionDecision":"deny"' in said.replace(": ", ":")
        if number:  # another call is refused only after the end
            assert not is_denied or "Stopped: the agent was stuck in a loop." in said
        else:
            assert is_denied == (whole // 2 >= NEEDED), (whole, said)
        assert is_denied or said == ""
        seen[number, is_denied] += 1
    assert {(0, True), (0, False)} <= seen.keys()
    assert min(seen[0, True], seen[0, False]) > 200
