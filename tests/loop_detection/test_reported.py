"""Which reports are of the same call, in one process or several, and what is kept of them."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolResult


class Text(str):
    """A text of a class of its own, as some frameworks give."""


IDS = ["c", Text("c"), "1", 1, Text("1"), "\u00e9", "x" * 200, "", None]
ROUNDS = [None, "null", 1, 1.0, "1", True, 0, False, -1, 2**70, "x" * 200]
REPORTS = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(ROUNDS), st.integers(0, 1)), max_size=12
)


@given(REPORTS)
def test_a_resumed_run_counts_the_calls_of_the_unbroken_one(reports):
    unbroken = LoopDetector.default().monitor()
    resumed = LoopDetector.default().monitor()
    for call_id, number, n in reports:
        for monitor in (unbroken, resumed):
            monitor.after([ToolCall("look", {"n": n}, call_id, number)], ["a page"])
        assert resumed.call_count == unbroken.call_count
        again = LoopDetector.default().monitor()
        again.restore(json.loads(json.dumps(resumed.snapshot())))
        resumed = again


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("c", None), (Text("c"), None)),
        (("1", None), (1, None)),
        (("c", 1), ("c", 1.0)),
        (("c", 1), ("c", "1")),
        (("c", None), ("c", "null")),
    ],
)
def test_a_call_is_known_in_another_form_of_its_id_and_round(one, other):
    monitor = LoopDetector.default().monitor()
    for call_id, number in (one, other):
        monitor.after([ToolCall("look", {}, call_id, number)], ["a page"])
    assert monitor.call_count == 1


@pytest.mark.parametrize("kind", [str, ToolResult])
def test_of_calls_with_ids_no_long_text_is_kept(kind):
    monitor = LoopDetector.escalating().monitor()
    for number in range(60):
        arguments = " " * 100_000 + json.dumps({"n": number})
        call = ToolCall("read", arguments, id=f"c{number}")
        monitor.after([call], [kind(f"{number}" + "x" * 100_000)])
    assert len(pickle.dumps(monitor)) < 1_000_000


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_a_round_that_a_listener_interrupts_can_be_reported_again(kind):
    monitor, unbroken = (LoopDetector.escalating().monitor() for _ in range(2))
    is_interrupted = False

    def listen(verdict):
        if is_interrupted:
            raise kind

    monitor.add_listener(listen)
    for number in range(4):
        call, before = ToolCall("look", {"at": "a"}, f"call-{number}", number), monitor.snapshot()
        is_interrupted = number >= 2
        if is_interrupted:
            with pytest.raises(kind):
                monitor.after([call], ["a page"])
            assert monitor.snapshot() == before
            is_interrupted = False
        assert monitor.after([call], ["a page"]) == unbroken.after([call], ["a page"])
    assert monitor.snapshot() == unbroken.snapshot()
