"""Following recordings in files and folders, many at a time."""

import json
import os
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopVerdict
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.health import HealthProfile, evaluate
from antiloop.traces import read_runs, replay
from antiloop.traces._live.live_folders import RECENT_S, files_below
from antiloop.traces._live.live_lines import LiveFile, LiveLines
from antiloop.traces._live.live_session import COLUMNS, IDLE_S, LiveState, Picture, by_trouble
from antiloop.traces._live.live_sessions import LiveSessions

LOOP = [{"type": "tool_call_completed", "tool": "ls", "output": "a.py", "run_id": "r"}] * 3
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ESCALATING = LoopDetector.escalating()
RECORDED = {
    path.name: path.read_bytes()
    for path in sorted(EXAMPLES.glob("*.jsonl"))
    if path.name in ("claude-code-session.jsonl", "codex-session.jsonl", "runs.jsonl")
}


def begin(name):
    return LiveLines(name, LoopDetector.default(), None, str)


def add(path, *values, mode="a"):
    path.parent.mkdir(exist_ok=True)
    with path.open(mode) as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


def steps(recording):
    return [(os.path.basename(run.source), step) for run, step, _ in recording.new_verdicts()]


class Sessions(LiveSessions):
    """Sessions at a time that the test sets; each look is one at everything."""

    def __init__(self, *paths, **options):
        self.now_s, self.new, self.told = 1e6, [], []
        super().__init__(
            [str(path) for path in paths],
            options.pop("detector", LoopDetector.default()),
            on_file=lambda path: self.new.append(os.path.basename(path)),
            on_trouble=lambda what: self.told.append(what.replace(f"{paths[0]}/", "")),
            clock=lambda: self.now_s,
            ticks=lambda: self.now_s,
            **options,
        )

    def later(self, seconds=1e3):
        self.now_s += seconds
        return steps(self)

    def heard(self, seconds):
        self.now_s += seconds
        return [(os.path.basename(run.source), *each) for run, *each in self.new_verdicts()]

    def write(self, path, *values, mode="a"):
        add(path, *values, mode=mode)
        os.utime(path, (self.now_s, self.now_s))

    def rows(self):
        return [(each.run_id, each.steps) for each in self.sessions]


@pytest.fixture
def sessions(tmp_path):
    made = Sessions(tmp_path)
    yield made
    made.close()


@pytest.fixture
def file(tmp_path):
    made = LiveFile(str(tmp_path / "run.jsonl"), begin)
    yield made
    made.close()


def test_a_loop_is_told_when_it_is_written(file, tmp_path):
    add(tmp_path / "run.jsonl", *LOOP[:2])
    assert steps(file) == []
    add(tmp_path / "run.jsonl", LOOP[2])
    assert steps(file) == [("run.jsonl:1", 2)]
    assert steps(file) == []


def test_what_begins_anew_is_judged_anew(file, tmp_path):
    add(tmp_path / "run.jsonl", *LOOP[:2])
    assert steps(file) == []
    add(tmp_path / "run.jsonl", LOOP[0], mode="w")
    assert steps(file) == []
    add(tmp_path / "run.jsonl", *LOOP[1:])
    assert steps(file) == [("run.jsonl:1", 2)]


def test_a_file_that_is_no_recording_is_refused(file, tmp_path):
    add(tmp_path / "run.jsonl", *[{}] * 100)
    with pytest.raises(NoTrace):
        steps(file)


def test_a_file_that_becomes_a_pipe_is_not_waited_for(file, tmp_path):
    add(tmp_path / "run.jsonl", *LOOP[:2])
    assert steps(file) == []
    (tmp_path / "run.jsonl").unlink()
    os.mkfifo(tmp_path / "run.jsonl")
    with pytest.raises(TraceUnreadable, match=r"run\.jsonl: a named pipe, not a file"):
        steps(file)


@pytest.mark.parametrize("first", ["", "\n", " \n\n"])
def test_what_begins_anew_with_blank_lines_is_judged_anew(file, tmp_path, first):
    path = tmp_path / "run.jsonl"
    add(path, *LOOP[:2])
    assert steps(file) == []
    path.write_text(first)
    add(path, LOOP[0])
    assert steps(file) == []
    add(path, LOOP[1])
    assert steps(file) == []


def test_a_file_that_rests_is_read_on_where_it_was_left(file, tmp_path):
    add(tmp_path / "run.jsonl", *LOOP[:2])
    assert steps(file) == []
    file.rest()
    add(tmp_path / "run.jsonl", LOOP[2])
    assert steps(file) == [("run.jsonl:1", 2)]


def test_a_file_that_is_replaced_while_it_rests_begins_anew(file, tmp_path):
    path = tmp_path / "run.jsonl"
    add(path, *LOOP[:2])
    assert steps(file) == []
    file.rest()
    path.rename(tmp_path / "old")
    add(path, LOOP[0])
    assert steps(file) == []
    add(path, LOOP[1])
    assert steps(file) == []


def test_all_that_is_written_now_is_followed(sessions, tmp_path):
    assert sessions.later() == []
    sessions.write(tmp_path / "a.jsonl", *LOOP[:2])
    sessions.write(tmp_path / "deep" / "b.jsonl", *LOOP)
    sessions.write(tmp_path / "c.txt", *LOOP)
    assert sessions.later() == [("b.jsonl:1", 2)]
    sessions.write(tmp_path / "a.jsonl", LOOP[2])
    assert sessions.later() == [("a.jsonl:1", 2)]
    assert sorted(sessions.new) == ["a.jsonl", "b.jsonl"]


def test_an_old_file_is_followed_when_it_is_written_again_or_the_newest(sessions, tmp_path):
    sessions.write(tmp_path / "a.jsonl", *LOOP)
    sessions.write(tmp_path / "b.jsonl", *LOOP)
    assert sessions.later(RECENT_S + 1) == [("b.jsonl:1", 2)]
    sessions.write(tmp_path / "a.jsonl", LOOP[0])
    assert sessions.later() == [("a.jsonl:1", 2), ("a.jsonl:1", 3)]


def test_what_is_no_recording_is_passed_over(sessions, tmp_path):
    sessions.write(tmp_path / "history.jsonl", *[{}] * 100)
    sessions.write(tmp_path / "run.jsonl", *LOOP)
    assert sessions.later() == [("run.jsonl:1", 2)]
    sessions.write(tmp_path / "history.jsonl", {})
    assert (sessions.later(), sessions.told, sessions.has_trouble) == ([], [], False)


def test_what_is_no_file_is_told_once_and_never_waited_for(sessions, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "z.jsonl").symlink_to(tmp_path / "nowhere")
    assert sessions.later() == sessions.later() == []
    told = [
        "pipe.jsonl: a named pipe; skipped",
        "up: a link to a directory; skipped",
        "z.jsonl: a link to nothing; skipped",
    ]
    assert sessions.told == told
    (tmp_path / "pipe.jsonl").unlink()
    sessions.later()
    os.mkfifo(tmp_path / "pipe.jsonl")
    sessions.later()
    assert (sessions.told, sessions.new) == ([*told, told[0]], [])


def test_a_file_that_is_deleted_ends_its_row_and_what_was_written_before_is_judged(
    sessions, tmp_path
):
    path = tmp_path / "a.jsonl"
    sessions.write(path, *LOOP[:2])
    sessions.later(1)
    assert sessions.rows() == [("r", 2)]
    sessions.write(path, LOOP[2])
    path.unlink()
    assert (sessions.later(), sessions.rows()) == ([("a.jsonl:1", 2)], [])
    sessions.write(path, *LOOP[:2])
    assert (sessions.later(), sessions.rows()) == ([], [("r", 2)])


def test_files_that_are_named_are_followed_however_old(tmp_path):
    add(tmp_path / "a.jsonl", *LOOP)
    os.utime(tmp_path / "a.jsonl", (5, 5))
    sessions = Sessions(tmp_path / "a.jsonl", tmp_path / "none.jsonl")
    assert sessions.later() == [("a.jsonl:1", 2)]
    assert (len(sessions.told), sessions.has_trouble) == (1, True)
    assert sessions.told[0].endswith("none.jsonl: No such file or directory; skipped")
    (tmp_path / "a.jsonl").unlink()
    assert (sessions.later(), sessions.is_empty) == ([], False)
    add(tmp_path / "a.jsonl", *LOOP)
    assert sessions.later() == [("a.jsonl:1", 2)]
    sessions.close()


def test_a_file_that_is_named_and_holds_no_run_is_told(tmp_path):
    add(tmp_path / "a.jsonl", *[{}] * 100)
    sessions = Sessions(tmp_path / "a.jsonl")
    assert (sessions.later(), sessions.is_empty, sessions.has_trouble) == ([], True, True)
    assert "no lines of a recorded run here" in sessions.told[0]


def test_a_folder_or_a_file_that_becomes_something_else_ends_its_rows(sessions, tmp_path):
    for name in "ab":
        sessions.write(tmp_path / name / "run.jsonl", *LOOP)
    sessions.later(1)
    assert len(sessions.rows()) == 2
    for name in "ab":
        (tmp_path / name / "run.jsonl").unlink()
    (tmp_path / "a").rmdir()
    (tmp_path / "a").write_text("a file")
    (tmp_path / "b" / "run.jsonl").symlink_to(tmp_path / "b" / "run.jsonl")
    assert (sessions.later(), sessions.rows(), sessions.has_trouble) == ([], [], False)
    assert sessions.told == ["b/run.jsonl: Too many levels of symbolic links; skipped"]


def test_a_pipe_that_is_named_is_told_and_skipped(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    sessions = Sessions(tmp_path, tmp_path / "pipe")
    assert (sessions.later(), sessions.told) == ([], ["pipe: a named pipe; skipped"])
    assert sessions.has_trouble


def test_a_file_that_is_found_in_several_ways_has_one_row(tmp_path):
    add(tmp_path / "deep" / "a.jsonl", *LOOP)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "deep" / "a.jsonl")
    paths = (tmp_path, tmp_path / "deep", tmp_path / "deep" / ".." / "deep" / "a.jsonl")
    sessions = Sessions(*paths)
    assert (len(sessions.later()), len(sessions.later()), len(sessions.new)) == (1, 0, 1)
    assert sessions.rows() == [("r", 3)]
    (tmp_path / "deep" / "a.jsonl").unlink()
    assert (sessions.later(), sessions.rows()) == ([], [])
    sessions.close()


def test_idle_files_make_room_for_new_ones_and_come_back_when_they_grow(tmp_path):
    sessions = Sessions(tmp_path, most=2)
    for name in "ab":
        sessions.write(tmp_path / f"{name}.jsonl", *LOOP[:2])
    sessions.later(1)
    sessions.write(tmp_path / "c.jsonl", *LOOP[:2])
    sessions.later(10)
    assert sessions.told == ["c.jsonl: not followed; at most 2 are"]
    sessions.write(tmp_path / "b.jsonl", {**LOOP[0], "tool": "other"})
    sessions.later(10)
    sessions.write(tmp_path / "c.jsonl", LOOP[2])
    assert sessions.later(IDLE_S - 5) == [("c.jsonl:1", 2)]
    assert sessions.told[1:] == ["a.jsonl: idle, and no longer followed; at most 2 are"]
    assert sessions.later() == sessions.later() == []
    assert (len(sessions.told), len(sessions.sessions)) == (2, 2)
    sessions.write(tmp_path / "a.jsonl", LOOP[2])
    assert sessions.later(10) == [("a.jsonl:1", 2)]
    sessions.close()


def test_files_that_are_idle_are_not_kept_open(sessions, tmp_path):
    count = lambda: len(os.listdir("/proc/self/fd"))  # noqa: E731
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("open files are not listed here")
    before = count()
    for number in range(20):
        sessions.write(tmp_path / f"{number}.jsonl", *LOOP)
    sessions.later(1)
    assert count() == before + 20
    sessions.later(IDLE_S)
    assert count() == before


def test_a_session_tells_how_it_stands(sessions, tmp_path):
    path = tmp_path / "a.jsonl"
    sessions.write(path, *LOOP[:2])
    sessions.later(1)
    (session,) = sessions.sessions
    assert (session.state(sessions.now_s), session.last) == (LiveState.WORKING, None)
    sessions.write(path, LOOP[2])
    written_s = sessions.now_s
    sessions.later(1)
    assert (session.steps, session.suspicion, session.trouble_s) == (3, 1, written_s)
    assert session.last[0] == 2
    assert session.state(sessions.now_s) is LiveState.LOOPING
    assert session.state(written_s + IDLE_S + 1) is LiveState.IDLE
    assert str(session.picture) == "003"
    sessions.write(path, *[{**LOOP[0], "tool": tool, "output": tool} for tool in "xyz"])
    sessions.later(1)
    assert session.state(sessions.now_s) is LiveState.WORKING
    session.take(7, LoopVerdict(suspicion=0.5))
    assert session.state(sessions.now_s) is LiveState.SUSPICIOUS
    assert str(session.picture) == "0031112"
    sessions.write(path, {"type": "run_completed", "run_id": "r"})
    sessions.later(1)
    assert session.state(sessions.now_s) is LiveState.ENDED


def test_a_file_that_begins_anew_has_no_rows_of_what_was_before(sessions, tmp_path):
    sessions.write(tmp_path / "a.jsonl", *LOOP, {**LOOP[0], "run_id": "s"})
    sessions.later(1)
    assert sessions.rows() == [("r", 3), ("s", 1)]
    sessions.write(tmp_path / "a.jsonl", {**LOOP[0], "run_id": "t"}, mode="w")
    sessions.later(1)
    assert sessions.rows() == [("t", 1)]


def test_newest_trouble_comes_first(sessions, tmp_path):
    for number, name in enumerate("abcd"):
        sessions.write(tmp_path / f"{name}.jsonl", *[{**LOOP[0], "run_id": name}] * (4 - number))
        sessions.later(10)
    order = [each.run_id for each in by_trouble(sessions.sessions, sessions.now_s)]
    assert order == ["b", "a", "d", "c"]


def test_what_loops_now_comes_before_newer_trouble_that_is_over(sessions, tmp_path):
    other = {**LOOP[0], "tool": "other", "run_id": "over"}
    sessions.write(tmp_path / "now.jsonl", *[{**LOOP[0], "run_id": "now"}] * 3)
    sessions.write(tmp_path / "over.jsonl", *[{**LOOP[0], "run_id": "over"}] * 3)
    sessions.later(1)
    over = next(each for each in sessions.sessions if each.run_id == "over")
    over.trouble_s += 5
    sessions.write(tmp_path / "over.jsonl", other)
    sessions.later(1)
    order = [each.run_id for each in by_trouble(sessions.sessions, sessions.now_s)]
    assert order == ["now", "over"]


@given(st.lists(st.integers(0, 3), max_size=1000))
def test_the_picture_is_short_and_loses_no_peak(levels):
    picture = Picture()
    for level in levels:
        picture.add(level)
    drawn = str(picture)
    assert len(drawn) <= 2 * COLUMNS
    assert len(levels) > 2 * COLUMNS or drawn == "".join(map(str, levels))
    assert set(drawn) <= {str(level) for level in levels}
    assert max(drawn, default="0") == str(max(levels, default=0))


@lru_cache(maxsize=1)
def scanned():
    """Give what a scan says of each file, and the calls of each run with how many were wasted."""
    said, figures = [], {}
    for name in RECORDED:
        for run in read_runs(str(EXAMPLES / name)):
            source = os.path.basename(run.source)
            said += [(source, *each) for each in replay(run, ESCALATING)]
            health = evaluate(run, profile=HealthProfile(detector=ESCALATING))
            figures[source] = health.calls, health.wasted_calls
    return sorted(said, key=repr), figures


@settings(max_examples=10)
@given(st.data())
def test_what_many_say_is_what_a_scan_says_of_each(data):
    lengths = {name: st.integers(0, len(text)) for name, text in RECORDED.items()}
    cuts = {name: sorted(data.draw(st.lists(each, max_size=4))) for name, each in lengths.items()}
    order = data.draw(st.permutations([name for name in cuts for _ in [*cuts[name], 0]]))
    bounds = {name: iter([*cuts[name], None]) for name in cuts}
    with tempfile.TemporaryDirectory() as folder:
        sessions, said = Sessions(folder, detector=ESCALATING), []
        for name in order:
            path = Path(folder) / name
            with path.open("ab") as file:
                file.write(RECORDED[name][file.tell() : next(bounds[name])])
            said += sessions.heard(10)
        rows = {os.path.basename(each.source): each for each in sessions.sessions}
        figures = {name: (each.steps, each.wasted_calls) for name, each in rows.items()}
        for name in cuts:
            (Path(folder) / name).unlink()
        said += sessions.heard(10)
    assert (sorted(said, key=repr), figures) == scanned()


def test_a_folder_without_a_recording_has_no_files(tmp_path):
    assert files_below(str(tmp_path)) == ([], [])


def test_a_file_that_is_gone_while_looking_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "walk", lambda _: [(str(tmp_path), [], ["gone.jsonl"])])
    assert files_below(str(tmp_path)) == ([], [])
