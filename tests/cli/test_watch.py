"""``antiloop watch``, as a person and as a script use it."""

import http.client
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antiloop.cli import main
from antiloop.cli._commands import watch
from antiloop.cli._live import watching
from antiloop.traces import RunRecorder
from antiloop.traces._live import live_folders, live_sessions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def writing(monkeypatch):
    """Let things happen while the command pauses; after the last of them it is interrupted."""

    def let(*things):
        left = list(things)

        def pause(seconds):
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(watch.time, "sleep", pause)

    return let


@pytest.fixture
def at_once(monkeypatch):
    """Look at everything each time."""
    monkeypatch.setattr(live_folders, "_EVERY_S", 0)
    monkeypatch.setattr(live_folders, "_SHARE", 0)
    monkeypatch.setattr(live_sessions, "_SOONEST_S", 0)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "runs.jsonl")


@pytest.fixture
def run(path):
    return RunRecorder(path, run_id="r")


def search(run):
    return lambda: run.tool_call("search", {"q": "cats"}, "No results.")


def test_a_loop_is_told_while_the_run_goes_on(run, path, writing, capsys):
    said = []
    look = lambda: said.append(capsys.readouterr().out)  # noqa: E731
    writing(search(run), search(run), look, search(run), look)
    assert main(["watch", path]) == 1
    assert said[0] == ""
    assert said[1] == (
        f'r ({path}:1)\n  step   2  raise   search "cats" 3 times in a row: "No results."\n'
    )


def test_nothing_found_until_interrupted_is_0(run, path, writing, capsys):
    writing(search(run))
    assert main(["watch", path]) == 0
    assert capsys.readouterr() == ("", f"antiloop: watching {path}\n")


def test_what_is_there_already_is_judged_first(run, path, writing, capsys):
    for _ in range(3):
        search(run)()
    writing()
    assert main(["watch", path]) == 1


def test_jsonl_has_a_line_for_every_verdict(run, path, writing, capsys):
    writing(*[search(run)] * 4)
    assert main(["watch", "--preset", "escalating", "--format", "jsonl", path]) == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first.pop("message").startswith('search "cats" 3 times')
    assert first == {
        "run_id": "r",
        "source": f"{path}:1",
        "step": 2,
        "detector": "repeat",
        "action": "notify",
        "severity": "warning",
        "calls": [{"tool": "search", "arguments": '{"q":"cats"}'}],
        "answer": "No results.",
    }
    assert (second["step"], second["action"]) == (3, "block")


def test_runs_that_take_turns_are_told_apart(path, writing, capsys):
    a, b = RunRecorder(path, run_id="a"), RunRecorder(path, run_id="b")
    writing(*[search(a), search(b)] * 4)
    main(["watch", path])
    heads = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [head[0] for head in heads] == ["a", "b", "a", "b"]


def test_a_folder_is_watched_for_what_is_written_there(tmp_path, path, writing, capsys, at_once):
    def later():
        run = RunRecorder(path, run_id="r")
        for _ in range(3):
            search(run)()

    writing(later)
    assert main(["watch", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(f"r ({path}:1)\n")
    assert err == (
        f"antiloop: waiting for recordings below {tmp_path}\nantiloop: watching {path}\n"
    )


def test_standard_input_stands_alone(path, capsys):
    for others in ([path], ["--serve"]):
        assert main(["watch", "-", *others]) == 2
        message = "antiloop: - is standard input; it must be the only path, without --serve\n"
        assert capsys.readouterr().err == message


def test_several_files_are_watched_and_one_that_is_missing_is_2(tmp_path, writing, at_once, capsys):
    runs = [RunRecorder(str(tmp_path / f"{name}.jsonl"), run_id=name) for name in "ab"]
    for run in runs:
        search(run)()
    paths = [str(tmp_path / f"{name}.jsonl") for name in "abc"]
    writing(*[search(run) for run in runs] * 2)
    assert main(["watch", *paths]) == 2
    out, err = capsys.readouterr()
    assert [line[0] for line in out.splitlines() if not line.startswith(" ")] == ["a", "b"]
    assert f"antiloop: {paths[2]}: No such file or directory; skipped\n" in err


def test_nothing_to_follow_ends_the_command(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "a"), str(tmp_path / "b")]) == 2


def test_sessions_are_served_while_they_are_shown(tmp_path, run, writing, at_once, capsys):
    events = []

    def look():
        out = capsys.readouterr().out
        port, token = re.search(r"http://127.0.0.1:(\d+)/([\w-]+)/", out).groups()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
        connection.request("GET", f"/{token}/events")
        with connection.getresponse() as answer:
            data = next(line for line in answer if line.startswith(b"data: "))
            events.extend(json.loads(data[6:])["rows"])
        connection.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching, "is_in_place", lambda format_: True)
        writing(*[search(run)] * 3, look, lambda: None)
        assert main(["watch", str(tmp_path), "--serve"]) == 1
    assert [(each["id"], each["status"], each["calls"]) for each in events] == [("r", "looping", 3)]
    after = capsys.readouterr().out.partition("\x1b[?1049l")[2]
    assert after.splitlines()[0] == "1 session: 1 looping"


def test_the_address_of_the_page_is_printed_where_no_table_is_shown(path, run, writing, capsys):
    writing()
    assert main(["-q", "watch", path, "--serve"]) == 0
    address = r"http://127\.0\.0\.1:\d+/[\w-]+/"
    assert re.fullmatch(rf"antiloop: serving {address}\n", capsys.readouterr().err)


def test_what_went_wrong_beside_the_table_is_printed_at_its_end(
    path, run, writing, monkeypatch, capsys
):
    monkeypatch.setattr(watching, "is_in_place", lambda format_: True)
    search(run)()
    writing()
    assert main(["watch", path, path + "2"]) == 2
    told = f"{path}2: No such file or directory; skipped"
    out, err = capsys.readouterr()
    assert "2: No such file or directory; skipped\x1b[K" in out
    assert err == f"antiloop: {told}\n"


def test_the_table_is_drawn_also_while_much_is_read(path, writing, monkeypatch, at_once):
    said, drawn = [], []
    minutes = itertools.count(60, 60)  # a drawing is due after each verdict
    monkeypatch.setattr(watching.time, "monotonic", lambda: next(minutes))
    monkeypatch.setattr(watching.Lines, "draw", lambda *_: drawn.append(len(said)))
    monkeypatch.setattr(watching.Lines, "said", lambda *verdict: said.append(verdict))
    for run_id in "ab":
        run = RunRecorder(path, run_id=run_id)
        for _ in range(3):
            search(run)()
    writing()
    assert main(["watch", path, str(Path(path).parent)]) == 1
    assert drawn == [1, 2, 2]


def test_a_request_to_end_closes_what_was_begun(path, run, writing, capsys):
    writing(search(run), lambda: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as exit_:
        main(["watch", str(Path(path).parent)])
    assert exit_.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_standard_input_ends_by_itself(run, path, monkeypatch, capsys):
    for _ in range(3):
        search(run)()
    data = Path(path).read_bytes() + b'{"half'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    assert main(["watch", "-"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("r (stdin:1)\n  step   2")
    assert err.startswith("antiloop: stdin:5: not JSON")


def test_a_format_and_a_configuration_can_be_given(run, path, writing, capsys):
    writing(*[search(run)] * 3)
    assert main(["watch", "--from", "antiloop", path]) == 0
    assert 'expected one {"run_id", "steps": [...]} a line; skipped' in capsys.readouterr().err


def test_a_file_that_is_missing_is_2(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"antiloop: {tmp_path / 'none'}: No such file or directory\n"


def test_a_file_that_is_no_recording_is_2(tmp_path, writing, capsys):
    writing()
    path = tmp_path / "f"
    path.write_text("{}\n" * 100)
    assert main(["watch", str(path)]) == 2
    assert f"antiloop: {path}: no lines of a recorded run here; expected" in capsys.readouterr().err


def test_text_of_a_recording_cannot_command_the_terminal(path, writing, capsys):
    evil = "\x1b[2Jevil\r\n\u202e\x9b"
    run = RunRecorder(path, run_id=evil)
    writing(*[lambda: run.tool_call(evil, {}, "")] * 6)
    assert main(["watch", "--preset", "literal", path]) == 1
    out = capsys.readouterr().out
    assert "evil" in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_ctrl_c_ends_a_real_process_quietly(run, path):
    for _ in range(3):
        search(run)()
    process = subprocess.Popen(
        [sys.executable, "-m", "antiloop", "watch", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    lines = [process.stdout.readline(), process.stdout.readline()]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert lines[1].startswith(b"  step   2  raise")
    assert err == f"antiloop: watching {path}\n".encode()


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_standard_input_with_nothing_in_it_is_called_empty(text, monkeypatch, capsys):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["watch", "-"]) == 2
    assert capsys.readouterr().err == "antiloop: stdin: no recorded runs here: it is empty\n"
