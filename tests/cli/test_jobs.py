"""Others do the work: what is printed is the same, byte for byte, and nothing is left of them."""

import gzip
import io
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from argparse import Namespace
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import wait
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.cli import main
from antiloop.cli._command import CommandFailed
from antiloop.cli._engines import processes
from antiloop.cli._engines.parallel import in_order
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import _pieces as pieces
from antiloop.traces import read_runs

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "traces" / "fixtures"
THREADS = "concurrent.futures:ThreadPoolExecutor"
STEP = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}


def run(number):
    return json.dumps({"run_id": f"run {number}", "steps": [STEP] * (number % 5)})


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Make a directory of recordings, damaged ones among them."""
    root = tmp_path_factory.mktemp("recordings") / "archive"
    for path in sorted(FIXTURES.glob("*/*"))[::6]:
        (root / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.parent.name)
    lines = [run(number) for number in range(40)]
    lines[17:20] = ["", '{"run_id": "cut off", "steps": [', "[1, 2]"]
    data = "\n".join(lines).encode()
    (root / "damaged.jsonl").write_bytes(b"\n\n" + data)
    (root / "damaged.gz").write_bytes(gzip.compress(data))
    noise = "".join(f'\n{{"run_id": "{os.urandom(2_000).hex()}", "steps": []}}' for _ in range(30))
    (root / "cut.gz").write_bytes(gzip.compress(data + noise.encode())[:-99])
    (root / "first-line.jsonl").write_bytes(b'{"run_id":\n' + data)
    (root / "chats.jsonl").write_text('{"messages": [{"role": "user"}]}\n' * 99)
    (root / "empty").write_bytes(b"")
    (root / "notes").write_text("no trace\n" * 99)
    return str(root)


@pytest.fixture
def archive(recordings, monkeypatch):
    """Give the directory of recordings, and cut them small."""
    monkeypatch.setattr(pieces, "SMALL_FILE", 300)
    monkeypatch.setattr(pieces, "PIECE", 500)
    return recordings


def scanned(capsys, *arguments):
    status = main(["scan", *arguments])
    return status, *capsys.readouterr()


@pytest.mark.parametrize(
    ("output", "preset"),
    [
        *((output, "default") for output in ("text", "json", "jsonl", "sarif")),
        ("jsonl", "escalating"),
    ],
)
def test_what_others_find_is_printed_as_if_found_here(archive, capsys, output, preset):
    asked = ["--format", output, "--preset", preset, archive, f"{archive}/nothing"]
    here = scanned(capsys, *asked)
    assert here[0] == 2
    assert re.search(r"cut.gz:[4-7]\d: reading failed", here[2])
    assert "damaged.jsonl:21: not JSON" in here[2]
    assert scanned(capsys, *asked, "--engine", THREADS, "--jobs", "3") == here


def test_processes_print_the_same(archive, capsys):
    assert scanned(capsys, archive, "--jobs", "2") == scanned(capsys, archive)


def test_processes_are_an_engine_by_name(archive, capsys):
    path = f"{archive}/damaged.gz"
    here = scanned(capsys, path)
    assert scanned(capsys, path, "--engine", "processes", "--jobs", "1") == here


@pytest.mark.parametrize("jobs", [[], ["--jobs", "1"], ["--jobs", "2"]])
@pytest.mark.parametrize("name", ["damaged.jsonl", "damaged.gz", "first-line.jsonl", "notes"])
def test_standard_input_is_cut_as_a_file_is(archive, capsys, monkeypatch, name, jobs):
    def stdin():
        return io.TextIOWrapper(io.BufferedReader(io.BytesIO(Path(archive, name).read_bytes())))

    monkeypatch.setattr(sys, "stdin", stdin())
    here = scanned(capsys, "-")
    monkeypatch.setattr(sys, "stdin", stdin())
    assert scanned(capsys, "-", "--engine", THREADS, *jobs) == here


class Posted(Executor):
    """Hands all work to one process, which is still there for the next scan."""

    process = None

    def __init__(self, max_workers):
        """Begin nothing."""

    def submit(self, function, *given, **named):
        return self.process.submit(function, *given, **named)


def test_every_preset_can_be_handed_over(archive, capsys):
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as Posted.process:
        for name in PRESETS:
            asked = ["--preset", name, f"{archive}/damaged.gz"]
            there = scanned(capsys, *asked, "--engine", f"{__name__}:Posted")
            assert there == scanned(capsys, *asked)


def test_the_format_that_is_given_holds_for_every_piece(archive, capsys):
    path = f"{archive}/damaged.jsonl"
    here = scanned(capsys, "--from", "openai-chat", path)
    assert "expected OpenAI chat messages" in here[2]
    assert scanned(capsys, "--from", "openai-chat", path, "--engine", THREADS) == here


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*")), ids=lambda path: path.parent.name)
def test_the_pieces_of_a_file_hold_its_runs(path, monkeypatch):
    monkeypatch.setattr(pieces, "SMALL_FILE", 0)
    monkeypatch.setattr(pieces, "PIECE", 1)
    found = [
        recorded
        for piece in pieces.pieces_of(str(path))
        for recorded in pieces.read_piece(piece, pytest.fail)
    ]
    assert found == list(read_runs(str(path)))


def test_a_big_file_of_runs_is_cut(archive):
    cut = list(pieces.pieces_of(f"{archive}/damaged.jsonl"))
    assert len(cut) > 10
    assert all(piece.is_cut and piece.source == "antiloop" for piece in cut)


@pytest.mark.parametrize("data", [b"\n" * 999, b"\0" * 999])
def test_a_big_file_that_is_no_trace_is_told_as_it_is_here(data, tmp_path, archive, capsys):
    path = tmp_path / "big"
    path.write_bytes(data)
    here = scanned(capsys, str(path))
    assert here[0] == 2
    assert scanned(capsys, str(path), "--engine", THREADS) == here


def test_interrupts_are_left_alone_in_another_thread():
    with ThreadPoolExecutor(1) as thread, processes.interrupts_ignored():
        before = signal.getsignal(signal.SIGINT)
        thread.submit(processes.interrupts_ignored().__enter__).result()
        assert signal.getsignal(signal.SIGINT) is before is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


class Lazy(Executor):
    """Works only when somebody waits."""

    def __init__(self, max_workers):
        self.max_workers = max_workers

    def submit(self, function, *given, **named):
        future = Future()
        future.result = lambda: function(*given, **named)
        return future


def test_few_tasks_are_ahead_of_what_is_done():
    taken = []
    tasks = (taken.append(number) or number for number in range(1000))
    done = in_order(str, tasks, Namespace(engine=f"{__name__}:Lazy", jobs=3))
    for number in range(100):
        assert next(done) == (number, str(number))
        assert len(taken) <= number + 1 + 4 * 3
    assert [*done][-1] == (999, "999")


def test_no_task_is_kept_that_is_done():
    class Task:
        pass

    known = []
    tasks = (known.append(weakref.ref(task := Task())) or task for _ in range(50))
    for number, _ in enumerate(in_order(type, tasks, Namespace(engine=f"{__name__}:Lazy", jobs=9))):
        assert not any(task() for task in known[:number])


@given(st.integers(0, 20), st.integers(1, 20))
def test_there_are_no_more_workers_than_tasks(count, jobs):
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lazy, "__init__", lambda _, max_workers: asked.append(max_workers))
        done = in_order(str, range(count), Namespace(engine=f"{__name__}:Lazy", jobs=jobs))
        assert [task for task, _ in done] == list(range(count))
    assert asked == [max(1, min(count, jobs))]


def test_many_jobs_for_one_file_start_one_process(capsys, monkeypatch):
    begun, start = [], multiprocessing.get_context("spawn").Process.start
    monkeypatch.setattr(
        "multiprocessing.context.SpawnProcess.start",
        lambda process: (begun.append(process), start(process)),
    )
    path = str(ROOT / "docs" / "examples" / "runs.jsonl")
    assert scanned(capsys, path, "--jobs", "4") == scanned(capsys, path)
    assert len(begun) == 1


def test_a_worker_that_dies_is_told():
    with pytest.raises(CommandFailed, match=r"--engine processes: .*terminated"):
        list(in_order(os._exit, [3], Namespace(engine=None, jobs=2)))


def test_a_worker_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(processes, "_PATIENCE_S", 0)
    with suppress(KeyboardInterrupt), processes.open_engine(1) as (executor, workers):
        assert workers == 1
        assert executor.submit(int, 3).result() == 3
        executor.submit(_never)
        (worker,) = multiprocessing.active_children()
        raise KeyboardInterrupt
    assert wait([worker.sentinel], timeout=0)


def _never():
    threading.Event().wait()


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("json", "choose from processes, dask, "),
        ("json:Warp", "choose from processes, dask, "),
        (":Warp", "Empty module name; choose from"),
        ("no_such_module:Warp", "No module named 'no_such_module'; choose from"),
        ("json:dumps", "missing 1 required positional argument"),
        ("builtins:dict", "it does not return an executor"),
    ],
)
def test_an_unknown_engine_is_2_and_told(engine, told, archive, capsys):
    status, out, err = scanned(capsys, "--engine", engine, archive)
    assert (status, out) == (2, "")
    assert err.startswith(f"antiloop: --engine {engine}: ")
    assert told in err


def test_where_there_is_nothing_to_do_nothing_is_done(tmp_path, capsys):
    here = scanned(capsys, str(tmp_path))
    assert here == (2, "", f"antiloop: {tmp_path}: the directory holds no files\n")
    assert scanned(capsys, str(tmp_path), "--engine", THREADS) == here


def test_an_engine_may_stand_in_the_current_directory(tmp_path, monkeypatch, capsys):
    (tmp_path / "pools_of_mine.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def make(max_workers): return ThreadPoolExecutor(max_workers)\n"
    )
    (tmp_path / "runs").write_text(run(3))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert scanned(capsys, "--engine", "pools_of_mine:make", "runs")[0] == 1


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "", "²", "1001", "9" * 20])
def test_a_number_of_jobs_that_makes_no_sense_is_2(jobs, archive, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["scan", "--jobs", jobs, archive])
    assert exit_.value.code == 2
    assert "--jobs: must be a whole number from 1 to 1,000" in capsys.readouterr().err


def test_without_the_extra_dask_is_2_and_the_remedy_is_told(archive):
    # In an interpreter of its own: this one may have the cluster's modules already.
    blocked = "import sys; sys.modules['distributed'] = None; from antiloop.cli import main; "
    script = blocked + f"sys.exit(main(['scan', '--engine', 'dask', {str(archive)!r}]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    told = 'antiloop: --engine dask needs: pip install "antiloop[dask]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@pytest.fixture
def under_way():
    """Start a scan of a standard input that goes on, and wait for what is printed first."""
    stack = ExitStack()

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "antiloop", "scan", "--format", "jsonl", *arguments, "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
        )
        stack.enter_context(process)
        stack.callback(process.kill)
        long = json.dumps({"run_id": "a", "steps": [{**STEP, "result": "x" * 600_000}]})
        process.stdin.write(f"{long}\n".encode() * 20)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["run_id"] == "a"
        return process

    with stack:
        yield start


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
def test_ctrl_c_ends_all_of_it_with_one_line(under_way, jobs):
    process = under_way(*jobs)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    # Its workers hold standard error open too: this ends when all are gone.
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"antiloop: interrupted\n")


def test_one_that_is_killed_leaves_no_workers(under_way):
    process = under_way("--jobs", "2")
    process.kill()
    process.communicate(timeout=60)  # its workers hold standard error open too


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
def test_a_reader_who_stops_reading_ends_all_of_it(under_way, jobs):
    process = under_way(*jobs)
    process.stdout.close()
    process.stdin.write(json.dumps({"run_id": "b", "steps": []}).encode() + b"\n")
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141
