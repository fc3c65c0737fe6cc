"""Writing runs down: what is written is read again, whoever writes and whatever happens."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.loop_detection import LoopAction, Opinion
from antiloop.loop_detection._second_opinion.opinion import opinion_of
from antiloop.traces import RunRecorder, read_runs, replay
from antiloop.types import ToolCall, ToolResult

SOURCE = str(Path(__file__).parents[2] / "src")
WORKER = """
import sys
from antiloop.traces import RunRecorder
run = RunRecorder(sys.argv[1], run_id=sys.argv[2])
for n in range(int(sys.argv[3])):
    run.tool_call("ls", {"n": n}, "x" * 5000)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


def read(path):
    trouble = []
    runs = list(read_runs(str(path), on_trouble=trouble.append))
    return {run.run_id: run for run in runs}, trouble


def only(path):
    runs, trouble = read(path)
    assert (len(runs), trouble) == (1, [])
    return next(iter(runs.values()))


def worker(path, run_id, calls):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), run_id, str(calls)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )


def test_all_that_is_recorded_is_read_again(path):
    with RunRecorder(path, run_id="a", agent="support", clock=lambda: 5.0) as run:
        run.user_message("hi")
        run.llm_call("m", latency_ms=9, cost=0.5, input_tokens=7, output_tokens=2)
        run.llm_call()
        run.tool_call("ls", {"p": "."}, "a.py", latency_ms=3, call_id="1", round=0, tokens=4)
        run.tool_call("ls", {"p": "/"}, "denied", is_error=True, call_id="2", round=0)
        run.tool_call("pwd")
        run.retry("ls", "denied")
        run.state_updated({"n": 1})
        run.memory_write("likes cats", agent="scribe")
        run.handoff("support", "billing")
    told = only(path)
    assert told.calls[:2] == (
        ToolCall("ls", {"p": "."}, "1", -1),
        ToolCall("ls", {"p": "/"}, "2", -1),
    )
    assert told.results == (ToolResult("a.py"), ToolResult("denied", is_error=True), None)
    assert (told.run_id, told.agent, told.model, told.turn_starts) == ("a", "support", "m", (0,))
    assert (told.input_tokens, told.output_tokens, told.cost, told.failed) == (7, 2, 0.5, False)
    assert {event.time_s for event in told.events} == {5.0}
    assert [(event.type, event.agent) for event in told.events[-4:]] == [
        ("state_updated", "support"),
        ("memory_write", "scribe"),
        ("handoff_started", "support"),
        ("run_completed", "support"),
    ]


def test_an_exception_ends_the_run_as_failed_and_goes_on(path):
    with pytest.raises(KeyError), RunRecorder(path):
        raise KeyError("x")
    told = only(path)
    assert (told.failed, told.events[-1].error) == (True, "KeyError: 'x'")


def test_an_exception_that_cannot_say_what_is_wrong_goes_on_all_the_same(path):
    class Speechless(Exception):
        def __str__(self):
            return self.detail

    with pytest.raises(Speechless), RunRecorder(path):
        raise Speechless
    told = only(path)
    assert (told.failed, told.events[-1].error) == (True, "Speechless")


def test_a_run_ends_once(path):
    with RunRecorder(path) as run:
        run.failed("out of money")
    assert [event.type for event in only(path).events] == ["run_started", "run_failed"]
    with pytest.raises(ValueError, match="is over; nothing more can be recorded"):
        run.tool_call("ls")


def test_fresh_runs_have_names_of_their_own(path):
    assert RunRecorder(path).run_id != RunRecorder(path).run_id


def test_a_file_is_read_while_it_is_written(path):
    run = RunRecorder(path)
    for _ in range(3):
        run.tool_call("ls", {"p": "."}, "a.py")
    assert len(list(replay(only(path), LoopDetector.default()))) == 1


@pytest.mark.skipif(os.name == "nt", reason="there are no signals")
def test_a_killed_run_is_in_the_file(path):
    process = worker(path, "killed", 3)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(only(path)) == 3


def test_half_a_line_costs_nothing_but_itself(path):
    path.write_text('{"run_id": "torn", "ty')
    with RunRecorder(path, run_id="a") as run:
        run.tool_call("ls")
    runs, trouble = read(path)
    assert len(runs["a"]) == 1
    assert len(trouble) == 1


def test_threads_may_share_a_recorder(path):
    run = RunRecorder(path)
    threads = [
        threading.Thread(target=lambda: [run.tool_call("ls", {}, "x" * 999) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(only(path)) == 200


def test_processes_may_share_a_file(path):
    processes = [worker(path, f"run-{n}", 200) for n in range(3)]
    for process in processes:
        process.communicate()
    runs, trouble = read(path)
    assert trouble == []
    assert {run_id: len(run) for run_id, run in runs.items()} == {f"run-{n}": 200 for n in range(3)}


def test_a_full_disk_is_logged_and_the_run_goes_on(path, monkeypatch, caplog):
    run = RunRecorder(path, run_id="a")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_space)
        run.tool_call("lost")
    run.tool_call("ls")
    assert "runs.jsonl: a line could not be written: no space" in caplog.text
    assert [call.tool_name for call in only(path).calls] == ["ls"]


def no_space(file, data):
    raise OSError("no space")


def test_a_write_in_parts_is_finished(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with RunRecorder(path) as run:
        run.tool_call("ls")
    assert len(only(path)) == 1


def test_a_file_that_cannot_be_opened_is_refused_at_once(tmp_path):
    with pytest.raises(OSError, match="none"):
        RunRecorder(tmp_path / "none" / "f")


def bound(path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)


@given(
    st.sampled_from([("a named pipe", os.mkfifo), ("a socket", bound)]),
    st.lists(st.sampled_from("abc"), max_size=3),
)
def test_a_pipe_or_a_socket_is_named_at_once(kind, links):
    words, make = kind
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.jsonl")
        make(path)
        for number, name in enumerate(links):
            path, target = os.path.join(folder, f"{number}{name}"), path
            os.symlink(target, path)
        with pytest.raises(OSError, match=f"{words}, not a file: '{path}'"):
            RunRecorder(path)


def test_a_device_and_what_the_process_has_open_are_recorded_to(tmp_path):
    with RunRecorder(os.devnull) as run:
        run.tool_call("ls")
    read, write = os.pipe()
    with RunRecorder(f"/dev/fd/{write}") as run:
        run.tool_call("ls")
    os.close(write)
    with os.fdopen(read) as lines:
        assert [json.loads(line)["type"] for line in lines][:1] == ["run_started"]


@given(st.recursive(st.none() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=4))
def test_any_value_can_be_recorded(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("runs") / "f"
    with RunRecorder(path) as run:
        run.tool_call("t", {"value": value, 1: {value if isinstance(value, str) else 2}}, value)
        run.event("mine", value=object())
    assert len(only(path)) == 1
    assert all(json.loads(line)["run_id"] == run.run_id for line in path.read_text().splitlines())


ANSWERS = st.sampled_from([True, False, None, Opinion(True, 0.3, "?"), Opinion(False, 0.9)])
ROUNDS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["No hits.", "error: no", "7 hits"]))
)


@given(ROUNDS, st.lists(ANSWERS, min_size=1), st.booleans())
def test_what_judges_said_is_kept_and_a_replay_asks_nobody(rounds, answers, is_named):
    detector = LoopDetector.escalating(second_opinion=lambda case: None)
    live, monitor = [], detector.monitor()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.jsonl")
        with RunRecorder(path) as recorder:
            for number, (word, text) in enumerate(rounds):
                recorder.tool_call("search", {"q": word}, text)
                verdict = monitor.record_call("search", {"q": word}, text)
                if verdict.case is not None:
                    opinion = opinion_of(answers[number % len(answers)])
                    recorder.second_opinion(opinion, verdict.case.step if is_named else None)
                    verdict = monitor.answer(opinion)
                if verdict.action is not LoopAction.CONTINUE:
                    live.append((number, verdict.action))
        (run,) = read_runs(path)
    assert [(step, verdict.action) for step, verdict in replay(run, detector)] == live


def test_the_reason_of_an_opinion_is_masked_and_its_numbers_are_not(path):
    reason = "It retries with key sk-proj-" + "a1B2" * 8
    with RunRecorder(path, mask="secrets") as run:
        run.tool_call("ls", {}, "a.py")
        run.second_opinion(Opinion(True, 0.9, reason), 0)
        run.second_opinion(None)
    (read_back,) = read(path)[0].values()
    ((step, opinion),) = read_back.opinions
    assert (step, opinion.stuck, opinion.confidence) == (0, True, 0.9)
    assert opinion.reason.startswith("It retries with key")
    assert "a1B2a1B2" not in path.read_text()


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_new_recording_is_for_its_owner_alone_and_an_older_one_keeps_its_mode(tmp_path):
    for path, mode in ((tmp_path / "new", 0o600), (tmp_path / "old", 0o644)):
        if mode == 0o644:
            path.touch()
            path.chmod(mode)
        with RunRecorder(path) as run:
            run.tool_call("read", {"password": "hunter2"}, "x")
        assert path.stat().st_mode & 0o777 == mode
