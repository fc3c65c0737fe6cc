"""Every file that a command touches, refused by the system, one touch after the other.

The refusal comes from the interpreter's own events, because permissions do not bind everyone who
runs tests, and because a file may be open to the first touch and closed to the next.
"""

import errno
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiloop.cli import main
from antiloop.integrations._hooks import hook_process
from antiloop.integrations._hooks.hook_process import HookOptions

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TOUCHES = {
    "open", "os.chmod", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.scandir", "os.truncate", "os.utime", "tempfile.mkstemp", "tempfile.mkdtemp",
}  # fmt: skip
ERRORS = [errno.EACCES, errno.ENOSPC]


class Refusals:
    """Refuses the touch with a number, of those below a folder; an audit hook stays for ever."""

    def __init__(self):
        self.folder, self.number, self.error, self.touched = "", -1, 0, 0
        sys.addaudithook(self.hook)

    @contextmanager
    def within(self, folder, number, error):
        """Refuse the touch with this number in a block, of those below the folder."""
        self.number, self.error, self.touched, self.path = number, error, 0, ""
        self.folder = str(folder)
        try:
            yield
        finally:
            self.folder = ""

    def hook(self, event, arguments):
        if not self.folder or event not in TOUCHES or not isinstance(arguments[0], (str, bytes)):
            return
        path = os.fsdecode(arguments[0])
        if not os.path.abspath(path).startswith(self.folder):
            return
        self.touched += 1
        if self.touched - 1 == self.number:
            self.path = path
            raise OSError(self.error, os.strerror(self.error), path)


@pytest.fixture(scope="module")
def refusals():
    return Refusals()


COMMANDS = {
    "scan a file": ["scan", "runs.jsonl"],
    "scan a folder": ["scan", "."],
    "write a baseline": ["scan", "runs.jsonl", "--write-baseline", "out"],
    "read a baseline": ["scan", "runs.jsonl", "--baseline", "base"],
    "report": ["report", "runs.jsonl", "--against", "good-runs.jsonl", "-o", "out"],
    "explain": ["explain", "runs.jsonl", "--run", "refund-window", "--step", "10"],
    "label": ["label", "right", "runs.jsonl", "--run", "refund-window", "-o", "out"],
    "redact": ["redact", "runs.jsonl", "-o", "out"],
    "calibrate": ["calibrate", "good-runs.jsonl", "-o", "out"],
    "config": ["config"],
    "summary": ["summary", "--since", "2025-01-01", "runs.jsonl"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("runs.jsonl", "good-runs.jsonl", "antiloop.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "out").write_bytes(b'{"id": "older"}\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert main(["scan", "runs.jsonl", "--write-baseline", "base"]) == 0
    return tmp_path


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_file_that_is_refused_is_named_and_nothing_is_half_done(
    command, error, folder, refusals, capsys
):
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()

    def ran(number):
        """Run the command from the same start, with one touch refused; return what came of it."""
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()
        for name, held in files.items():
            (folder / name).write_bytes(held)
        with refusals.within(folder, number, error):
            try:
                status = main(command)
            except SystemExit as stopped:  # of the parser, which reads a baseline
                status = stopped.code
        left = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        return status, *capsys.readouterr(), left

    expected = ran(-1)
    whole = {name: {len(held)} for name, held in files.items()}
    for name, held in expected[3].items():  # by length, as each redaction has other letters
        whole.setdefault(name, set()).add(len(held))
    for number in range(200):
        status, out, err, left = ran(number)
        if refusals.touched <= number:
            break
        assert status in (0, 1, 2), err
        if (status, out) != expected[:2]:  # else it can do without this file
            assert os.strerror(error) in err, refusals.path
        assert {name: len(held) in whole.get(name, ()) for name, held in left.items()} == (
            dict.fromkeys(files.keys() | left.keys(), True)
        )
    assert number >= 3


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_a_refused_state_of_a_hook_leaves_the_block_or_is_said(error, folder, refusals, capsys):
    def answer(kind, number):
        call = {"tool_name": "search", "tool_input": {"q": "cats"}, "tool_use_id": f"c{number}"}
        told = {"hook_event_name": kind, "session_id": "s", "tool_response": "nothing", **call}
        return hook_process._answer("codex", told, HookOptions([]))

    (folder / "antiloop.toml").unlink()
    for number in range(5):
        answer("PreToolUse", number)
        answer("PostToolUse", number)
    cache = folder / "cache"
    kept = shutil.copytree(cache, folder / "kept")
    for number in range(50):
        shutil.rmtree(cache)
        shutil.copytree(kept, cache)
        capsys.readouterr()
        with refusals.within(cache, number, error):
            given = answer("PreToolUse", 5)
        if refusals.touched <= number:
            break
        # What cannot be read is not known; all else leaves the block.
        if not refusals.path.endswith(".json"):
            assert given["hookSpecificOutput"]["permissionDecision"] == "deny", refusals.path
        if os.path.splitext(refusals.path)[1]:  # of the folder only old files are listed, to remove
            assert f"{refusals.path}: {os.strerror(error)}" in capsys.readouterr().err
    assert number >= 4
