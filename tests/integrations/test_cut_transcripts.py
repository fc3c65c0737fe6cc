"""A transcript that is cut or damaged: the hook judges what it can read."""

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from claude_transcripts import Session, rounds

from antiloop.integrations.hooks import hook_process

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
        is_refused = number == 0 and whole // 2 >= NEEDED
        assert ('"permissionDecision": "deny"' in said) == is_refused, (whole, said)
        assert is_refused or said == ""
        seen[number, is_refused] += 1
    assert seen.keys() == {(0, True), (0, False), (1, False)}
    assert min(seen.values()) > 200


# --- what reads JSON without the module for it


TEXT = '{"a": ["x\\u00e4\\n", 1.5e3, -7, true, false, null, {"b": {}}, []], "c": "\\"d"}'


@pytest.fixture
def loads(monkeypatch):
    """Return the reader of a process in which `json` was not imported yet, at each use."""
    reader = hook_process._reader()

    def read(text):
        for name in ("json", "json.decoder", "json.scanner"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return reader(text)

    return read


def test_what_is_json_is_read(loads):
    assert loads(f" \n{TEXT}\r\n") == json.loads(TEXT)


def test_what_is_cut_at_any_place_is_a_value_error_that_names_the_place(loads):
    for end in range(len(TEXT)):
        with pytest.raises(ValueError, match=r"line 1 column \d+"):
            loads(TEXT[:end])


def test_what_is_damaged_at_any_place_is_read_or_a_value_error(loads):
    read = 0
    for place, damage in product(range(len(TEXT)), '\0\udcffx}"\\\n'):
        with contextlib.suppress(ValueError):
            loads(TEXT[:place] + damage + TEXT[place + 1 :])
            read += 1
    assert 0 < read < len(TEXT)


def test_what_follows_a_value_is_an_error(loads):
    with pytest.raises(ValueError, match="Extra data"):
        loads("{} {}")
