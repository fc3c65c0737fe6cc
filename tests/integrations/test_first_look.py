"""A first look at an event changes no answer, and costs little."""

import errno
import json
import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antiloop
from antiloop.integrations import codex, gemini_cli
from antiloop.integrations._hooks import first_look, hook_process, session_state
from antiloop.integrations._hooks.agents import AGENTS, has_transcript
from antiloop.integrations._hooks.hook_process import HookOptions
from antiloop.integrations._hooks.session_state import SessionFile
from antiloop.loop_detection._profile_table import PROFILES

SOURCE = str(Path(antiloop.__file__).parents[1])
TELLING = [each for each in AGENTS if not has_transcript(AGENTS[each])]
FAILURE = "error: no such file"
DONE = "<completed with exit code 0>"
PAGE = "\n".join(f"line {word} of the page" for word in ("one", "two", "three", "four"))
CALLS = st.tuples(
    st.sampled_from(["Read", "exec_command", "finish"]),
    st.sampled_from(
        [
            *({"a": 1}, {"a": 2}, {"a": "x"}, {"a": "y"}, {"a": "z"}),
            *({"a": 1, "justification": "to see"}, {"a": 1, "justification": "to be sure"}),
        ]
    ),
    st.sampled_from(
        [
            *(FAILURE, "nothing found", PAGE, PAGE + "\nmore", "at 10:15", "at 10:16", ""),
            *(f"{said}\n{DONE}".strip() for said in (FAILURE, PAGE, "built", "")),
        ]
    ),
)
STEPS = st.lists(
    st.one_of(
        CALLS.map(lambda call: ("call", call)), st.just(("user", None)), st.just(("old", None))
    )
    | CALLS.map(lambda call: ("pair", call)),
    max_size=30,
)


def event(kind, **told):
    return {"hook_event_name": kind, "session_id": "s", **told}


def events(steps, fresh):
    """Yield the events of a session; each result may get a text that is new."""
    number = count()
    for kind, call in steps:
        if kind == "user":
            yield event("UserPromptSubmit", prompt="go on")
        elif kind == "old":
            yield event("PreCompact")
        else:
            tool, arguments, text = call
            told = [
                {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"c{next(number)}"}
                for _ in range(2 if kind == "pair" else 1)
            ]
            for each in told:
                yield event("PreToolUse", **each)
            for each in told:
                said = f"{text}\n{fresh(next(number))}" if fresh else text
                yield event("PostToolUse", tool_response=said, **each)


WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda".split()


@pytest.mark.parametrize("fresh", [None, lambda number: WORDS[number % 11] * (number // 11 + 1)])
@settings(max_examples=60)
@given(steps=STEPS)
def test_a_first_look_changes_no_answer(fresh, steps):
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as other,
        pytest.MonkeyPatch.context() as p,
    ):
        for place in events(steps, fresh):
            p.setenv("XDG_CACHE_HOME", one)
            looked = hook_process._answer("codex", place, HookOptions([]))
            p.setenv("XDG_CACHE_HOME", other)
            assert looked == codex.LoopGuard().answer(place)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "antiloop" / "hooks"


def ask(event, *arguments, agent="codex"):
    return hook_process._answer(agent, event, HookOptions(arguments))


def once(number, text="nothing found", tool="search", **beside):
    """Carry out one call; return the answers before and after it."""
    told = {"tool_name": tool, "tool_input": {"q": "x"}, "tool_use_id": f"c{number}", **beside}
    before = ask(event("PreToolUse", **told))
    return before, ask(event("PostToolUse", tool_response=text, **told)) if not before else {}


def test_new_calls_wait_in_the_file_until_the_engine_is_asked(cache, monkeypatch):
    monkeypatch.setattr(first_look, "LATER", 6)
    for number in range(3):
        told = {"tool_name": "read", "tool_input": {"n": number}, "tool_use_id": str(number)}
        ask(event("PreToolUse", **told))
        ask(event("PostToolUse", tool_response=WORDS[number] * 3, **told))
    with SessionFile("codex", "s") as file:
        assert len(file.later) == 6
        assert "session" not in file.value
    ask(event("PreToolUse", tool_name="read", tool_input={"n": 9}))
    with SessionFile("codex", "s") as file:
        assert file.later == []
        assert file.value["session"]["version"]


IN_C = {"_blake2", "errno", "fcntl", "gc", "zlib"}
"""Modules that the interpreter has in C."""
LOADS = (
    "import importlib, os, sys; before = set(sys.modules)\n"
    "import antiloop.__main__ as antiloop; status = antiloop._status()\n"
    "print(status, *set(sys.modules) - before)"
)
JSON = "import sys; before = set(sys.modules); import json; print(*set(sys.modules) - before)"


def loaded_at(agent, told):
    """Return what a process loads to answer one event with nothing, beside the interpreter."""
    done = subprocess.run(
        # Without the folders of packages: what these load at each start would hide what we do.
        [sys.executable, "-S", "-c", LOADS, "hook", agent],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.stderr == ""
    status, *loaded = done.stdout.split()
    assert status == "0"
    return set(loaded)


@pytest.fixture(scope="module")
def of_json():
    """Return what `json` loads."""
    started = [sys.executable, "-S", "-c", JSON]
    return set(subprocess.run(started, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("agent", AGENTS)
def test_a_process_that_has_nothing_to_decide_loads_next_to_nothing(
    agent, of_json, cache, tmp_path
):
    known = AGENTS[agent]
    told = {"tool_name": "read", "tool_input": {"n": 1}, "tool_use_id": "1", "session_id": "s"}
    told.update(tool_response="a page", transcript_path=str(tmp_path / "session.jsonl"))
    told["tool_calls"] = [dict(told)]
    if agent == "gemini-cli":
        told["tool_response"] = {"llmContent": "a page"}
    elif agent == "copilot":
        told["tool_result"] = {"text_result_for_llm": "a page"}
    elif agent == "openhands":
        told["tool_response"] = {"content": "a page"}
    after = "PostToolBatch" if agent == "claude-code" else known.after[0]
    loaded_at(agent, {**told, known.needs[0]: known.user, "session_id": "other"})
    loaded_at(agent, {**told, known.needs[0]: known.before, "tool_name": "first"})
    for kind in (known.before, after):
        loaded = loaded_at(agent, {**told, known.needs[0]: kind})
        own = {each for each in loaded if each.partition(".")[0] == "antiloop"}
        assert loaded - own <= IN_C | of_json
        assert "antiloop.integrations._hooks.hook_process" in own
        assert len(own) <= 18, sorted(own)


TEXTS = st.text("ab_1٣é-. \n<:", max_size=12) | st.text(max_size=8)


@given(one=TEXTS, other=TEXTS)
def test_texts_that_differ_in_numbers_only_are_the_same_to_a_first_look(one, other):
    for text in (one, other):
        numbered = re.sub(r"(?<!\w)\w*\d\w*", "17", text)
        assert first_look._sum(numbered) == first_look._sum(text)
    if re.findall(r"\w+", one) != re.findall(r"\w+", other) and not re.search(r"\d", one + other):
        assert first_look._sum(one) != first_look._sum(other)


@pytest.mark.parametrize(
    ("agent", "wrap"), [(each, wrap) for each in TELLING for wrap in PROFILES[each]["wraps"]]
)
@given(data=st.data())
def test_what_an_agent_wraps_around_a_result_is_never_overlooked(agent, wrap, data):
    content = data.draw(st.from_regex(re.compile(wrap, re.MULTILINE)))
    assert any(mark in content for mark in first_look._WRAPPED)


@pytest.mark.parametrize(("code", "waits"), [(0, True), (1, False)])
def test_a_command_that_has_succeeded_needs_no_engine(code, waits, cache):
    text = f"{PAGE}\n<shellId: 3 completed with exit code {code}>"
    told = {"tool_name": "bash", "tool_input": {"command": "make"}}
    told["tool_result"] = {"result_type": "success", "text_result_for_llm": text}
    ask(event("PostToolUse", **told), agent="copilot")
    with SessionFile("copilot", "s") as file:
        assert bool(file.later) is waits


def test_an_answer_in_a_new_wrap_is_known_to_a_first_look(cache):
    notices = []
    for word in WORDS:
        told = {"tool_name": "Bash", "tool_input": {"of": word}, "tool_use_id": word}
        ask(event("PreToolUse", **told))
        text = f"Chunk ID: {word}\nThe table of orders holds a name and a price."
        notices.append(ask(event("PostToolUse", tool_response=text, **told)))
    assert any(notices)


# --- what was decided is answered, whatever happens to the file


def fill(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(session_state.os, "write", full)


def read_only(monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    opened = os.open

    def only_read(path, flags, *mode):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            refused()
        return opened(path, flags, *mode)

    monkeypatch.setattr(session_state.os, "replace", refused)
    monkeypatch.setattr(session_state.os, "makedirs", refused)
    monkeypatch.setattr(session_state.os, "open", only_read)


@pytest.mark.parametrize("breaks", [fill, read_only])
def test_a_block_stays_where_the_state_cannot_be_written(breaks, cache, monkeypatch, capsys):
    for number in range(4):
        assert "permissionDecision" not in str(once(number)[0])
    with monkeypatch.context() as patch:
        breaks(patch)
        for number in range(4, 8):
            refused = once(number)[0]["hookSpecificOutput"]
            assert refused["permissionDecision"] == "deny"
            assert "antiloop cannot keep its state" in refused["permissionDecisionReason"]
        told = capsys.readouterr().err
        assert told.count("antiloop hook: ") == 4
    assert once(9)[0]["hookSpecificOutput"]["permissionDecision"] == "deny"


# --- the guarded agent cannot switch its guard off


@pytest.mark.parametrize(
    "text",
    [
        "shadow = true",
        'ignore = ["search"]',
        'preset = "none"',
        "= broken",
        "[tools.search]\nexempt = true",
        "thresholds = {repeat = 99}",
    ],
)
@pytest.mark.parametrize("name", ["antiloop.toml", "pyproject.toml"])
def test_settings_that_are_written_during_a_session_do_not_count(text, name, cache, tmp_path):
    once(0)
    head = "" if name == "antiloop.toml" else "[tool.antiloop]\n"
    text = text.replace("[tools", "[tool.antiloop.tools") if head else text
    (tmp_path / name).write_text(head + text, "utf-8")
    answers = [once(number) for number in range(1, 6)]
    assert any("deny" in str(before) for before, _ in answers)


def test_settings_that_were_there_count_for_the_whole_session(cache, tmp_path):
    (tmp_path / "antiloop.toml").write_text('ignore = ["search"]', "utf-8")
    assert once(0) == ({}, {})
    (tmp_path / "antiloop.toml").unlink()
    assert [once(number) for number in range(1, 7)] == [({}, {})] * 6


def test_a_profile_of_the_settings_counts(cache, tmp_path):
    text = "[profiles.codex]\nwraps = ['^took \\d+ ms\\n']\nplans = ['plan']"
    (tmp_path / "antiloop.toml").write_text(text, "utf-8")
    assert [once(number, tool="plan") for number in range(6)] == [({}, {})] * 6
    answers = [once(number, f"took {number} ms\nnothing found") for number in range(6)]
    assert any("deny" in str(before) for before, _ in answers)


def test_broken_settings_fall_back_to_the_preset_and_say_so(cache, tmp_path, capsys):
    (tmp_path / "antiloop.toml").write_text('preset = "none"', "utf-8")
    answers = [once(number) for number in range(6)]
    assert any("deny" in str(before) for before, _ in answers)
    told = capsys.readouterr().err
    assert "antiloop.toml: preset" in told
    assert "the preset escalating is used instead" in told


def test_settings_are_not_taken_where_they_cannot_be_kept(cache, tmp_path, monkeypatch, capsys):
    (tmp_path / "antiloop.toml").write_text("shadow = true", "utf-8")
    fill(monkeypatch)
    once(0)
    assert "antiloop.toml is not used, because the agent may change it" in capsys.readouterr().err


def test_other_options_of_the_hook_count_at_once(cache):
    for number in range(2):
        once(number)
    told = {"tool_name": "search", "tool_input": {"q": "x"}, "tool_use_id": "c9"}
    assert ask(event("PreToolUse", **told), "--preset", "default") == {}
    answer = ask(event("PostToolUse", tool_response="nothing found", **told), "--preset", "default")
    assert "Stopped" in str(answer)


# --- compaction, and agents that share a session


def test_what_is_read_again_after_a_compaction_is_no_loop(cache):
    def read(number):
        told = {"tool_input": {"path": f"f{number}"}, "tool_use_id": f"r{next(ids)}"}
        return once(0, f"text of file {WORDS[number]}", "Read", **told)

    ids = count()
    assert [read(number) for number in range(9)] == [({}, {})] * 9
    ask(event("PreCompact"))
    assert [read(number) for number in range(9)] == [({}, {})] * 9


def test_a_loop_across_a_compaction_is_still_ended(cache):
    answers = []
    for number in range(10):
        if number == 2:
            ask(event("PreCompact"))
        answers.append(once(number))
    assert any("deny" in str(before) for before, _ in answers)


class Gemini:
    """A session of Gemini CLI, whose agents share it."""

    def __init__(self):
        self.answers = []

    def ask(self, kind, tool, arguments, text=""):
        told = {"tool_name": tool, "tool_input": arguments, "tool_response": {"llmContent": text}}
        told.update(hook_event_name=kind, session_id="s")
        self.answers.append(ask(told, agent="gemini-cli"))
        return self.answers[-1]

    def begin_agents(self, number):
        for each in range(number):
            self.ask("BeforeTool", "invoke_agent", {"prompt": f"part {each}"})

    def end_agents(self, number):
        for each in range(number):
            self.ask("AfterTool", "invoke_agent", {"prompt": f"part {each}"}, f"done {WORDS[each]}")

    def read(self, path, times=1):
        for _ in range(times):
            if self.ask("BeforeTool", "read_file", {"path": path}) == {}:
                self.ask("AfterTool", "read_file", {"path": path}, f"text of {path}")


def test_several_agents_may_each_read_the_same_files(cache):
    session = Gemini()
    session.begin_agents(6)
    for path in ("a", "b"):
        session.read(path, 6)
    session.end_agents(6)
    session.read("c")
    assert not any(session.answers)


def test_a_loop_of_one_of_several_agents_is_refused_and_ends_not_the_main_run(cache):
    session = Gemini()
    session.begin_agents(2)
    session.read("a", 30)
    assert any(answer.get("decision") == "deny" for answer in session.answers)
    assert not any("continue" in answer for answer in session.answers)
    session.end_agents(2)
    session.answers.clear()
    session.read("other")
    assert not any(session.answers)


def test_one_agent_is_judged_as_before(cache):
    session = Gemini()
    session.begin_agents(1)
    session.read("a", 5)
    assert any(answer.get("decision") == "deny" for answer in session.answers)


def test_a_guard_takes_a_profile_of_ones_own(cache):
    from antiloop.loop_detection import ClientProfile

    own = ClientProfile.named("gemini-cli").with_more(ClientProfile("more", plans=("mine",)))
    guard = gemini_cli.LoopGuard(profile=own)
    for _ in range(6):
        told = {"tool_name": "mine", "tool_input": {}, "session_id": "s"}
        assert guard.answer({**told, "hook_event_name": "BeforeTool"}) == {}
        assert guard.answer({**told, "hook_event_name": "AfterTool"}) == {}
