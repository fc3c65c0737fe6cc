"""The process of the hook, for the agents whose sessions stand in a file."""

import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.__main__ import main
from antiloop.integrations._hooks import hook_process, session_state
from antiloop.integrations._hooks.agents import AGENTS

OTHERS = sorted(set(AGENTS) - {"claude-code"})


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def answered(agent, data, *arguments):
    """Answer one event; give standard output and error."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        assert hook_process.main(arguments, agent) == 0
        return sys.stdout.getvalue(), sys.stderr.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = ("tool_name", "tool_input", "tool_use_id", "tool_response", "tool_result", "agent_id")
KINDS = st.sampled_from(
    [
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"),
        *("BeforeTool", "AfterTool", "BeforeAgent"),
    ]
)


@pytest.mark.parametrize("agent", OTHERS)
@given(
    kind=KINDS,
    session=st.text(max_size=3),
    beside=st.dictionaries(st.sampled_from([*NAMES, "error", "turn_id"]), JSON),
)
def test_an_event_of_any_shape_is_answered(agent, kind, session, beside):
    own = {"hook_event_name": kind, "event_type": kind, "session_id": session}
    said, told = answered(agent, json.dumps({**beside, **own}).encode())
    assert isinstance(json.loads(said or "{}"), dict)
    assert told == ""


@pytest.mark.parametrize("agent", OTHERS)
@given(data=st.binary() | st.text().map(str.encode))
def test_whatever_is_no_event_is_told_in_words(agent, data):
    said, told = answered(agent, data)
    assert said == ""
    title = AGENTS[agent].title
    assert told.startswith(f"antiloop hook: no event of a {title} hook on standard input: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_where_no_file_can_be_kept_the_call_goes_on(agent, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    kinds = {"hook_event_name": "PreToolUse", "event_type": "PreToolUse"}
    kinds = {"hook_event_name": "BeforeTool"} if agent == "gemini-cli" else kinds
    said, told = answered(agent, json.dumps({**kinds, "session_id": "s"}).encode())
    assert said == ""
    assert told.startswith("antiloop hook: ")
    assert "file" in told


def hooked(name):
    return subprocess.run(
        [sys.executable, "-m", "antiloop", "hook", name],
        input="{}",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("agent", OTHERS)
def test_the_hook_goes_round_the_command_line(agent):
    done = hooked(agent)
    assert done.stdout == ""
    assert done.stderr.startswith(f"antiloop hook: no event of a {AGENTS[agent].title} hook")


def test_a_hook_of_an_agent_that_is_not_known_refuses_nothing():
    done = hooked("later-cli")
    assert done.stdout == ""
    assert done.stderr.startswith("antiloop hook: no agent 'later-cli'; choose from claude-code,")


def test_a_refusal_is_told_before_the_process_ends(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    for data in calls_of("codex", 5):
        done = subprocess.run(
            [sys.executable, "-m", "antiloop", "hook", "codex"],
            input=data,
            capture_output=True,
            check=True,
            env=environment,
        )
        assert done.stderr == b""
        if b"PreToolUse" in data:
            decided = done.stdout
    assert json.loads(decided)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_process_ends_at_once_after_an_event(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "codex"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(next(calls_of("codex", 1)))))
    main()
    assert ended == [0]


def test_a_process_of_another_command_ends_as_usual(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "Guard a coding agent" in capsys.readouterr().out


def calls_of(agent, times, given="no results"):
    """Return the events of a call that is repeated, as the agent sends them."""
    spoken = {"gemini-cli": ("BeforeTool", "AfterTool")}.get(agent, ("PreToolUse", "PostToolUse"))
    for number in range(times):
        for kind in spoken:
            told = {"tool_name": "search", "tool_input": {"q": "cats"}, "tool_use_id": f"c{number}"}
            event = {"hook_event_name": kind, "session_id": "shadow", "cwd": "/x", **told}
            yield json.dumps({**event, "tool_response": given}).encode()


def test_an_event_too_long_for_the_file_hides_nothing_that_comes_later(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(session_state, "BYTES", 100_000)
    long = {"tool_name": "write", "tool_input": {"text": "x" * 200_000}, "tool_use_id": "c"}
    event = {"hook_event_name": "PreToolUse", "session_id": "shadow", "cwd": "/x", **long}
    assert answered("codex", json.dumps(event).encode()) == ("", "")
    said = [answered("codex", data) for data in calls_of("codex", 5, "cats are small")]
    assert any(out for out, _ in said)
    (file,) = tmp_path.rglob("*.json")
    assert file.stat().st_size < 100_000


def test_a_shadow_answers_nothing_and_writes_what_would_be_done(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = [answered("codex", data, "--shadow") for data in calls_of("codex", 8)]
    assert {out for out, _ in said} == {""}
    lines = [line for _, error in said for line in error.splitlines()]
    start = "antiloop hook: shadow: would"
    told = [f"{start} {action}: Tool 'search' was" for action in ("notify", "block", "stop")]
    assert [line[: len(begin)] for line, begin in zip(lines, told)] == told


def test_without_shadow_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = [answered("codex", data) for data in calls_of("codex", 5)]
    assert any(out for out, _ in said)
    assert {error for _, error in said} == {""}


def test_a_hook_reads_the_settings_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "antiloop.toml").write_text('ignore = ["search"]\n', "utf-8")
    said = [answered("codex", data) for data in calls_of("codex", 5)]
    assert set(said) == {("", "")}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    said = [answered("codex", data, "--isolated") for data in calls_of("codex", 5)]
    assert any(out for out, _ in said)


def test_a_mistake_in_the_settings_of_a_hook_is_told_and_the_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "antiloop.toml").write_text("shadwo = true\n", "utf-8")
    out, error = answered("codex", next(calls_of("codex", 1)))
    assert out == ""
    assert error == (
        "antiloop hook: antiloop.toml: shadwo: unexpected; did you mean 'shadow'?;"
        " the preset escalating is used instead\n"
    )


def test_a_hook_takes_its_settings_from_a_file_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mine.toml").write_text("shadow = true\n", "utf-8")
    named = ("--config", str(tmp_path / "mine.toml"))
    said = [answered("codex", data, *named) for data in calls_of("codex", 4)]
    assert {out for out, _ in said} == {""}
    assert any("shadow: would" in error for _, error in said)


def test_an_unknown_preset_is_said_at_each_event_that_is_judged(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"}
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-m", "antiloop", "hook", "codex", "--preset", "x"],
            input=json.dumps({**event, "tool_input": {"command": "ls"}}).encode(),
            capture_output=True,
        )
        assert b"KeyError" not in done.stderr
        assert done.stderr == b"" or b"no preset 'x'; choose from default" in done.stderr


def of_copilot(session, *, with_claude_code):
    """Return what a loop in Copilot is answered, where it calls a hook of Claude Code first."""
    event = {"session_id": session, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/project"}
    event = {**event, "tool_name": "Read", "tool_input": {"path": "a"}}
    result = {"result_type": "success", "text_result_for_llm": "nothing found"}
    said = []
    for more in [{"hook_event_name": "PreToolUse"}, {"hook_event_name": "PostToolUse"}] * 6:
        told = {**event, **more}
        if told["hook_event_name"] == "PostToolUse":
            told["tool_result"] = result
        elif with_claude_code:
            answer, trouble = answered("claude-code", json.dumps(told).encode())
            assert answer == ""
            assert 'no "transcript_path" in it' in trouble
        said.append(answered("copilot", json.dumps(told).encode())[0])
    return said


def test_copilot_may_call_the_hook_of_claude_code_beside_its_own():
    both = of_copilot("both", with_claude_code=True)
    assert both == of_copilot("one", with_claude_code=False)
    assert any("permissionDecision" in each for each in both)
