"""Nothing hangs in a process that was forked while a thread held a lock."""

import os
import re
import signal
import threading
from pathlib import Path

import pytest

import antiloop
from antiloop import LoopDetector, ToolCall
from antiloop._process_lock import ProcessLock
from antiloop.integrations.functions import LoopGuard
from antiloop.integrations.webhook import Webhook
from antiloop.traces import RunRecorder

SOURCE = Path(antiloop.__file__).parent


def test_who_holds_a_lock_may_take_it_again_and_others_wait():
    lock, order = ProcessLock(), []

    def other():
        with lock:
            order.append("other")

    thread = threading.Thread(target=other)
    with lock:
        with lock:
            thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["recorder", "webhook", "guard", "lock"])
def test_a_forked_process_finds_a_lock_open_that_a_thread_holds(tmp_path, name):
    recorder, hook = RunRecorder(tmp_path / "runs.jsonl"), Webhook("http://[::1]:9")
    guard, lock = LoopGuard(), ProcessLock()
    monitor = LoopDetector.default().monitor()
    verdict = [monitor.record_call("ls", {}, "a.py") for _ in range(3)][-1]
    held, use = {
        "recorder": (recorder._lock, lambda: recorder.tool_call("ls")),
        "webhook": (hook._lock, lambda: hook(verdict)),
        "guard": (guard._lock, lambda: guard.begin(ToolCall("ls"))),
        "lock": (lock, lock.__enter__),
    }[name]
    is_held, may_go = threading.Event(), threading.Event()

    def hold():
        with held:
            is_held.set()
            may_go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        use()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    may_go.set()
    thread.join()


def test_the_library_has_no_other_lock():
    usual = re.compile(r"(?<!Process)Lock\(\)")
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if usual.search(path.read_text(encoding="utf-8"))
    }
    # Commands are not forked.
    assert {name for name in found if not name.startswith("cli/")} == {"_process_lock.py"}
