"""Following recordings in files and folders."""

import json
import os

import pytest

from antiloop import LoopDetector
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.traces.live.live_files import _FOLLOWED, LiveFile, LiveFolder, newest_file
from antiloop.traces.live.live_lines import LiveLines

LOOP = [{"type": "tool_call_completed", "tool": "ls", "output": "a.py", "run_id": "r"}] * 3


def begin(name):
    return LiveLines(name, LoopDetector.default(), None, str)


def add(path, *values, mode="a"):
    path.parent.mkdir(exist_ok=True)
    with path.open(mode) as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


def steps(recording):
    return [(os.path.basename(run.source), step) for run, step, _ in recording.said()]


class Folder:
    """A folder whose files get the times at which they were written in this order."""

    def __init__(self, path):
        self.path = path
        self.time = 0
        self.new = []
        self.told = []
        self.recordings = LiveFolder(
            str(path),
            begin,
            lambda path: self.new.append(os.path.basename(path)),
            lambda what: self.told.append(os.path.basename(what)),
        )

    def add(self, name, *values):
        self.time += 10
        add(self.path / name, *values)
        os.utime(self.path / name, (self.time, self.time))

    def steps(self):
        return steps(self.recordings)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    yield made
    made.recordings.close()


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


def test_the_newest_recording_below_a_folder_is_followed(folder):
    assert folder.steps() == []
    folder.add("old.jsonl", *LOOP)
    folder.add("deep/new.jsonl", *LOOP)
    folder.add("newer.txt", *LOOP)
    assert folder.steps() == [("new.jsonl:1", 2)]
    assert folder.new == ["new.jsonl"]


def test_a_newer_recording_is_followed_beside_the_one_before(folder):
    folder.add("a.jsonl", *LOOP[:2])
    assert folder.steps() == []
    folder.add("b.jsonl", *LOOP[:2])
    assert folder.steps() == []
    folder.add("a.jsonl", LOOP[2])
    folder.add("b.jsonl", LOOP[2])
    assert folder.steps() == [("a.jsonl:1", 2), ("b.jsonl:1", 2)]
    assert folder.new == ["a.jsonl", "b.jsonl"]


def test_what_is_no_recording_is_passed_over(folder):
    folder.add("history.jsonl", *[{}] * 100)
    assert folder.steps() == []
    folder.add("run.jsonl", *LOOP)
    assert folder.steps() == [("run.jsonl:1", 2)]
    folder.add("history.jsonl", {})
    assert folder.steps() == []


def test_a_file_that_was_not_the_newest_for_long_is_let_go(folder):
    for number in range(_FOLLOWED + 1):
        folder.add(f"{number:02}.jsonl", *LOOP[:2])
        folder.steps()
    folder.add("00.jsonl", LOOP[2])
    folder.add("01.jsonl", LOOP[2])
    assert folder.steps() == [("01.jsonl:1", 2)]


def test_what_is_no_file_is_told_once_and_never_the_newest(folder, tmp_path):
    folder.add("a.jsonl", *LOOP[:2])
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "z.jsonl").symlink_to(tmp_path / "nowhere")
    assert folder.steps() == []
    folder.add("a.jsonl", LOOP[2])
    assert folder.steps() == [("a.jsonl:1", 2)]
    told = ["pipe.jsonl: a named pipe; skipped", "z.jsonl: a link to nothing; skipped"]
    assert folder.told == told
    (tmp_path / "pipe.jsonl").unlink()
    assert folder.steps() == []
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert folder.steps() == []
    assert folder.told == [*told, told[0]]
    assert folder.new == ["a.jsonl"]


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


def test_a_folder_without_a_recording_has_no_newest(tmp_path):
    assert newest_file(str(tmp_path)) == (None, {})
    add(tmp_path / "there.jsonl")
    assert newest_file(str(tmp_path)) == (str(tmp_path / "there.jsonl"), {})


def test_a_file_that_is_gone_while_looking_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "walk", lambda _: [(str(tmp_path), [], ["gone.jsonl"])])
    assert newest_file(str(tmp_path)) == (None, {})
