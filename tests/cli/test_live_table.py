"""One line a session on a terminal, in place."""

import os
import re
import signal
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminals import Terminal

from antiloop import LoopDetector, LoopVerdict
from antiloop.cli import main
from antiloop.cli._live import views, watching
from antiloop.cli._live.table import table
from antiloop.cli._output import terminal
from antiloop.cli._output.terminal import columns
from antiloop.traces import RecordedRun, RunRecorder, replay
from antiloop.traces._live.live_session import LiveSession
from antiloop.traces._shared.run_under_way import WholeRun
from antiloop.types import ToolCall, ToolResult

WORDS = ("looping", "suspicious", "working", "idle", "ended", "state", "and ")


class GoingOn(WholeRun):
    """A run of which more may come."""

    is_over = False


RUNS = []
"""Kept alive: a session does not do that."""


def session(number=0, run_id="r", suspicion=0.0, trouble_s=0.0, tool="search"):
    RUNS.append(GoingOn(RecordedRun(run_id)))
    made = LiveSession(number, "f", RUNS[-1], 200)
    made.written_s = trouble_s or 1.0
    if trouble_s:
        calls, results = (ToolCall(tool),) * 3, (ToolResult("a"),) * 3
        run = RecordedRun(run_id, calls, results)
        made.take(3, next(replay(run, LoopDetector.literal()))[1])
    made.take(5, LoopVerdict(suspicion=suspicion))
    return made


@pytest.fixture(autouse=True)
def _as_chosen():
    yield
    RUNS.clear()
    terminal.choose()


def test_a_line_says_state_steps_suspicion_and_the_last_verdict():
    lines = table([session(suspicion=1, trouble_s=3)], 4, (110, 24))
    assert lines[0] == "1 session: 1 looping"
    assert lines[1].split() == ["state", "steps", "suspicion", "session", "last", "verdict"]
    assert re.split(r"  +", lines[2])[:5] == ["looping", "5", "100%", "r", "step 2"]
    assert lines[2].endswith('raise  search 3 times in a row: "a"')
    assert lines[2][lines[1].index("session") :].startswith("r ")


def test_the_most_troubled_come_first_and_the_others_are_counted():
    many = [session(n, f"r{n}", trouble_s=float(n)) for n in range(100)]
    lines = table(many, 4, (100, 10))
    assert len(lines) == 10
    assert [line.split()[3] for line in lines[2:9]] == [f"r{n}" for n in range(99, 92, -1)]
    assert lines[9] == "and 93 more"


def test_what_just_fits_is_shown_whole():
    many = [session(n, f"r{n}") for n in range(8)]
    assert "more" not in table(many, 4, (100, 10))[-1]


def test_the_address_of_the_page_is_never_cut():
    served = "antiloop: serving http://127.0.0.1:12345/" + "t" * 43 + "/"
    lines = table([session(n) for n in range(9)], 4, (40, 9), ["note"] * 9, served)
    assert "".join(lines[-3:]).replace(" ", "") == served.replace(" ", "")
    assert len(lines) == 9


def test_what_went_wrong_stands_last_and_leaves_room():
    lines = table([session(n) for n in range(50)], 4, (100, 8), ["old", "new\x1b[2J", "newest"])
    assert (len(lines), lines[-2:]) == (8, ["new\\x1b[2J", "newest"])


@pytest.mark.parametrize("color", ["always", "never", "auto"])
def test_states_have_colors_where_they_are_wanted(color, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.choose(color=color)
    text = "\n".join(table([session(suspicion=1, trouble_s=3)], 4, (100, 24)))
    assert ("\x1b[31mlooping\x1b[0m" in text) is (color == "always")


NAMES = st.text(st.characters(codec="utf-8"), max_size=40)


@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.sampled_from((0.0, 0.6, 1.0)), st.floats(0, 9)), max_size=9
    ),
    st.tuples(st.integers(1, 120), st.integers(1, 12)),
    st.lists(NAMES, max_size=3),
)
def test_it_fits_any_terminal_and_cannot_command_it(rows, size, notes):
    sessions = [
        session(n, name, suspicion, trouble_s, tool)
        for n, (name, tool, suspicion, trouble_s) in enumerate(rows)
    ]
    lines = table(sessions, 4, size, notes)
    assert len(lines) <= max(3, size[1])
    assert all(columns(line) <= size[0] for line in lines)
    assert all(line.isprintable() for line in lines)


@pytest.mark.skipif(os.name == "nt", reason="terminals are others there")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
def test_a_terminal_is_drawn_in_place_resized_and_given_back(tmp_path, number, status):
    runs = [RunRecorder(str(tmp_path / f"{n}.jsonl"), run_id=f"run-{n}") for n in range(20)]
    for run in runs:
        for _ in range(3):
            run.tool_call("search\x1b[2J", {"q": "cats"}, "No results.")
    os.mkfifo(tmp_path / "pipe.jsonl")
    seen = Terminal("watch", str(tmp_path))
    lines = seen.read_until("and 12 more", "a named pipe; skipped")
    assert (len(lines), max(map(len, lines)) <= 90) == (12, True)
    assert lines[0] == "20 sessions: 20 looping"
    seen.resize(40, 6)
    small = seen.read_until("and 18 more")
    assert (len(small), max(map(len, small)) <= 40) == (6, True)
    assert seen.end(number) == status
    before, _, after = seen.shown.rpartition("\x1b[?1049l")
    assert before.endswith("\x1b[?7h\x1b[?25h")
    assert seen.shown.index("\x1b[?1049h") < seen.shown.index("looping")
    assert after.count("\x1b[31mlooping\x1b[0m") == 20
    assert "search\\x1b[2" in seen.shown
    assert "search\x1b" not in seen.shown


def test_a_fault_gives_the_terminal_back_too(tmp_path, monkeypatch, capsys):
    def fail(sessions):
        raise RuntimeError("a fault")

    monkeypatch.setattr(watching, "is_in_place", lambda format_: True)
    monkeypatch.setattr(watching.LiveSessions, "new_verdicts", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        main(["watch", str(tmp_path)])
    assert capsys.readouterr().out.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l")


def test_a_terminal_without_a_cursor_gets_lines(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert views.is_in_place("text")
    assert not views.is_in_place("jsonl")
    monkeypatch.setenv("TERM", "dumb")
    assert not views.is_in_place("text")
