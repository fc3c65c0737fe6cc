"""The terminal that a table is drawn on: stopped, continued, resized, and always given back."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminals import Terminal

from antiloop._signals import signals_handled
from antiloop.cli._live import table as screen
from antiloop.cli._live.table import Screen
from antiloop.traces import RunRecorder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are others there")
BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
END = "\x1b[?7h\x1b[?25h\x1b[?1049l"
SIGNALS = ("SIGTSTP", "SIGCONT", "SIGWINCH")


@pytest.fixture
def seen(tmp_path):
    """Watch a run with a loop in a terminal; give it with the table shown, as a function."""
    run = RunRecorder(str(tmp_path / "r.jsonl"), run_id="r")
    for _ in range(3):
        run.tool_call("search", {"q": "cats"}, "No results.")
    with ExitStack() as stack:

        def start(**options):
            terminal = Terminal("watch", str(tmp_path), **options)
            stack.callback(terminal.process.wait)
            stack.callback(terminal.process.kill)
            terminal.read_until("1 session: 1 looping")
            terminal.shown = ""
            return terminal

        yield start


def test_ctrl_z_gives_the_terminal_back_until_the_program_goes_on(seen):
    terminal = seen()
    for _ in range(2):
        assert terminal.stop(signal.SIGTSTP) == signal.SIGTSTP
        assert terminal.shown.endswith(END)
        terminal.shown = ""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.read_until("1 session: 1 looping")
        assert terminal.shown.startswith(BEGIN)
    assert terminal.end() == 1
    assert terminal.shown.count(BEGIN) == 1


def test_one_that_is_stopped_without_its_doing_draws_anew_when_it_goes_on(seen):
    terminal = seen()
    assert terminal.stop(signal.SIGSTOP) == signal.SIGSTOP
    terminal.shown = ""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.read_until("1 session: 1 looping")
    assert terminal.shown.startswith(BEGIN)
    assert terminal.end() == 1


def test_one_that_nobody_could_continue_is_not_stopped_and_keeps_its_table(seen):
    terminal = seen(has_shell=False)
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.read_until("1 session: 1 looping")
    assert terminal.shown.startswith(END + BEGIN)
    assert terminal.end() == 1


def test_a_resized_terminal_is_drawn_at_once_even_if_its_lines_stay(seen):
    terminal = seen()
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.read_until("1 session: 1 looping")
    assert terminal.end() == 1


class Stream:
    """A terminal that gets signals while it is written to, and cannot be written to meanwhile."""

    def __init__(self, signals):
        self.signals, self.texts, self.is_busy = list(signals), [], False

    def write(self, text):
        assert not self.is_busy
        self.is_busy = True
        for name in self.signals.pop() if self.signals else ():
            os.kill(os.getpid(), getattr(signal, name))
        self.texts.append(text)
        self.is_busy = False

    def flush(self):
        assert not self.is_busy


def never(number, _):
    raise AssertionError(f"signal {number} was not handled")


@given(st.lists(st.lists(st.sampled_from(SIGNALS), max_size=3), max_size=9))
def test_whatever_signals_come_only_a_terminal_that_is_taken_is_drawn_on(signals):
    stream, stops = Stream([*signals, []]), []

    def stop(number):
        assert (number, signal.getsignal(number)) == (signal.SIGTSTP, signal.SIG_DFL)
        assert stream.texts[-1] == END
        stops.append(number)

    with pytest.MonkeyPatch.context() as patch, signals_handled(dict.fromkeys(SIGNALS, never)):
        patch.setattr(screen.signal, "raise_signal", stop)
        with Screen(stream, lambda: ["a line"]) as shown:
            for _ in range(9):
                shown.show()
            stream.signals.clear()
        assert all(signal.getsignal(getattr(signal, name)) is never for name in SIGNALS)
    texts = stream.texts
    assert (texts[0], texts[-1]) == (BEGIN, END)
    assert texts.count(END) == len(stops) + 1
    for text, following in zip(texts, texts[1:]):
        assert text != END or following == BEGIN
    assert any(text.startswith("\x1b[Ha line") for text in texts)


def test_the_same_lines_are_drawn_once():
    stream = Stream([])
    with Screen(stream, lambda: ["a line"]) as shown:
        shown.show()
        shown.show()
    assert len(stream.texts) == 3


def test_an_interrupt_while_it_is_stopped_leaves_nothing_behind(monkeypatch):
    def stop(number):
        raise KeyboardInterrupt

    def watch():
        with Screen(stream, list) as shown:
            os.kill(os.getpid(), signal.SIGTSTP)
            shown.show()

    monkeypatch.setattr(screen.signal, "raise_signal", stop)
    stream = Stream([])
    with pytest.raises(KeyboardInterrupt), signals_handled({"SIGTSTP": never}):
        watch()
    assert [text for text in stream.texts if text in (BEGIN, END)] == [BEGIN, END] * 2


def test_signals_that_are_ignored_or_missing_stay_so():
    handlers = {"SIGTSTP": never, "SIGNONE": never}
    with signals_handled({"SIGTSTP": signal.SIG_IGN}), signals_handled(handlers):
        assert signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL


def test_another_thread_leaves_signals_alone():
    def look():
        with signals_handled({"SIGTSTP": never}):
            return signal.getsignal(signal.SIGTSTP)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(look).result() is signal.SIG_DFL
