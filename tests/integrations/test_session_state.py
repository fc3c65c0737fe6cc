"""The file of a session: locked, bounded, private, and never in the way."""

import errno
import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.exceptions import SnapshotError
from antiloop.integrations._hooks import session_state as module
from antiloop.integrations._hooks.hook_session import LONG, HookSession
from antiloop.integrations._hooks.session_state import CAME_AT, SessionFile, cache_folder
from antiloop.integrations.codex import LoopGuard
from antiloop.types import ToolCall, ToolResult


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "antiloop" / "hooks"


def kept(session="s"):
    with SessionFile("codex", session) as file:
        return file.value


def keep(value, session="s"):
    with SessionFile("codex", session) as file:
        file.write(value)
        return file.trouble


def told_in(file):
    """Return the events that a file keeps, each of which says when it came."""
    assert all(isinstance(each[CAME_AT], float) for each in file.later)
    return [{key: each[key] for key in each if key != CAME_AT} for each in file.later]


def file_of(folder):
    (file,) = folder.glob("*.json")
    return file


def test_what_is_kept_is_there_the_next_time():
    assert kept() == {}
    assert keep({"a": 1}) == ""
    assert (kept(), kept("another")) == ({"a": 1}, {})
    keep({})
    assert kept() == {}


def test_events_are_added_and_gone_with_the_next_state():
    keep({"a": 1})
    for number in range(3):
        with SessionFile("codex", "s") as file:
            assert told_in(file) == [{"n": each} for each in range(number)]
            file.append({"n": number})
            assert file.trouble == ""
    keep({"a": 2})
    with SessionFile("codex", "s") as file:
        assert (file.value, file.later) == ({"a": 2}, [])


def test_an_event_that_was_cut_off_is_left_out_and_spoils_no_other(folder):
    keep({"a": 1})
    with SessionFile("codex", "s") as file:
        file.append({"n": 1})
    path = file_of(folder)
    path.write_bytes(path.read_bytes()[:-3])
    with SessionFile("codex", "s") as file:
        file.append({"n": 2})
    with SessionFile("codex", "s") as file:
        assert told_in(file) == [{"n": 2}]


def test_nobody_else_can_read_it(folder):
    keep({"a": 1})
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_processes_of_one_session_wait_for_one_another():
    def add(number):
        with SessionFile("codex", "s") as file:
            file.write({"n": [*file.value.get("n", []), number]})

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(add, range(64)))
    assert sorted(kept()["n"]) == list(range(64))


def test_a_file_that_is_held_all_the_time_is_not_waited_for(monkeypatch):
    keep({"a": 1})
    monkeypatch.setattr(module, "LOCK_S", 0)
    with SessionFile("codex", "s"), SessionFile("codex", "s") as other:
        assert "held by another hook" in other.trouble
        assert other.value == {"a": 1}


@pytest.mark.parametrize("text", ["", "{", "[1]", "\udc80", "[" * 100_000, '{"a": 1} {}'])
def test_a_file_that_is_not_understood_is_told_once_and_set_aside(text, folder):
    keep({"a": 1})
    data = text.encode("utf-8", "surrogateescape")
    file_of(folder).write_bytes(data)
    with SessionFile("codex", "s") as file:
        assert file.value == {}
        assert "the state was damaged" in file.trouble
    (aside,) = folder.glob("*.damaged")
    assert aside.read_bytes() == data
    with SessionFile("codex", "s") as file:
        assert (file.value, file.trouble) == ({}, "")


def test_a_file_that_grows_too_long_is_forgotten_but_for_how_it_began(monkeypatch):
    monkeypatch.setattr(module, "BYTES", 100)
    keep({"a": "x" * 200, "options": ["--shadow"]})
    assert kept() == {"options": ["--shadow"]}


def test_a_link_or_a_pipe_in_its_place_is_not_followed(folder, tmp_path):
    keep({"a": 1})
    file = file_of(folder)
    file.unlink()
    target = tmp_path / "mine.json"
    target.write_text('{"b": 1}', "utf-8")
    file.symlink_to(target)
    with SessionFile("codex", "s") as state:
        assert "symbolic links" in state.trouble
        assert state.value == {}
    keep({"a": 2})
    assert target.read_text("utf-8") == '{"b": 1}'
    file.unlink()
    os.mkfifo(file)
    with SessionFile("codex", "s") as state:
        assert "a named pipe" in state.trouble


def test_a_state_that_cannot_be_written_leaves_the_old_one(monkeypatch, folder):
    keep({"a": 1})

    def full(file, data, write=os.write):
        write(file, data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert keep({"a": 2}) == "No space left on device"
    assert kept() == {"a": 1}
    monkeypatch.setattr(os, "write", lambda file, data: 3)
    assert "No space left" in keep({"a": 2})
    with SessionFile("codex", "s") as file:
        file.append({"n": 1})
        assert "No space left" in file.trouble
    assert kept() == {"a": 1}
    assert {path.suffix for path in folder.iterdir()} == {".json", ".lock"}


def test_files_of_sessions_that_are_over_are_removed(folder, monkeypatch):
    keep({"a": 1}, "old")
    os.utime(file_of(folder), (1, 1))
    keep({"a": 1}, "new")
    assert kept("old") == {}
    monkeypatch.setattr(module, "FILES", 3)
    for number in range(9):
        keep({"a": 1}, str(number))
    assert len(list(folder.glob("*.json"))) == 3
    assert kept("8") == {"a": 1}


@pytest.mark.parametrize("home", ["", "here", "./here"])
def test_a_relative_folder_is_not_taken_for_the_project(home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == str(tmp_path / "home" / ".cache" / "antiloop" / "hooks")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # there is no home
    with pytest.raises(ValueError, match="no cache folder"):
        cache_folder()


def test_a_mac_keeps_it_where_macs_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == str(tmp_path / "Library" / "Caches" / "antiloop" / "hooks")


# --- what stands in it


def event(kind, **told):
    return {"hook_event_name": kind, "session_id": "s", **told}


def test_long_arguments_and_results_make_no_long_file(folder):
    guard, long = LoopGuard(), "x" * 10 * LONG
    for number in range(60):
        call = {"tool_name": "Write", "tool_input": {"text": f"{number}{long}"}}
        call["tool_use_id"] = str(number)
        guard.answer(event("PreToolUse", **call))
        if number % 2:
            guard.answer(event("PostToolUse", tool_response=f"{number}{long}", **call))
    assert file_of(folder).stat().st_size < 8 * LONG


def test_long_arguments_and_results_are_compared_whole():
    guard, long, answers = LoopGuard(LoopDetector.default()), "x" * 2 * LONG, []
    for number in range(12):
        call = {"tool_name": "Write", "tool_input": {"text": f"{long}{number % 2}{long}"}}
        guard.answer(event("PreToolUse", **call))
        result = f"{long}{number if number < 6 else 0}{long}"
        answers.append(guard.answer(event("PostToolUse", tool_response=result, **call)))
    assert not any(answers[:8])
    assert any(answers[8:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("text", ["page one", "[antiloop] Refused: page one"])
def test_a_call_that_ran_ends_its_round_whatever_it_says(text):
    hooks = session({})
    calls = [ToolCall("read", {"page": number}, str(number)) for number in range(3)]
    hooks.before(calls[0])  # whose end nobody reports
    hooks.before(calls[1])
    hooks.after(calls[1], ToolResult(text))
    hooks.before(calls[2])
    assert len(hooks.to_dict()["round"]) == 1


FIELDS = st.dictionaries(
    st.sampled_from(["run", "round", "agents", "of_agents", "members", "said", "refusals"]), JSON
)


def session(value):
    return HookSession(LoopDetector.escalating().monitor(), value)


@given(FIELDS, JSON)
def test_a_session_is_taken_up_or_said_to_be_damaged(fields, version):
    whole = session({})
    whole.before(ToolCall("a", {}, "1"))
    for value in ({**whole.to_dict(), **fields}, {**fields, "version": version}):
        try:
            judged = session(json.loads(json.dumps(value)))
        except SnapshotError:
            continue
        judged.before(ToolCall("a", {}, "2"))
        judged.after(ToolCall("a", {}, "2"), ToolResult("b"))
        json.dumps(judged.to_dict())


def test_a_session_that_is_damaged_begins_anew_and_is_set_aside(folder):
    guard = LoopGuard()
    keep({"session": {"version": 3}, "options": ["--shadow"]}, "s")
    with SessionFile("codex", "s") as file:
        assert guard.answer(event("PreToolUse", tool_name="a", tool_input={}), file) == {}
        assert "the state was damaged" in file.trouble
    assert kept("s")["options"] == ["--shadow"]
    assert len(list(folder.glob("*.damaged"))) == 1
