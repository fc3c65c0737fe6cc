"""Recorded runs go through the same engine as live ones."""

import pytest

from antiloop.loop_detection import LoopAction, LoopDetector, RepeatDetector
from antiloop.traces import RecordedRun, replay
from antiloop.types import ToolCall, ToolResult


class Listener:
    """A monitor and verdict in one, which notes what it is given."""

    def __init__(self, *actions):
        self.action = LoopAction.CONTINUE
        self.seen = []
        self._actions = list(actions)

    def after(self, calls, results):
        self.seen.append((len(calls), len(results)))
        self.action = self._actions.pop(0) if self._actions else LoopAction.CONTINUE
        return self


class ListeningDetector(LoopDetector):
    def __init__(self, listener):
        super().__init__([RepeatDetector(3)])
        self._listener = listener

    def monitor(self, **options):
        return self._listener


def run_of(*rounds, turn_starts=()):
    calls = tuple(ToolCall("ls", {"p": "."}, round=round_) for round_ in rounds)
    return RecordedRun("r", calls, tuple(ToolResult("a.py") for _ in calls), turn_starts)


def test_rounds_are_fed_whole_and_in_order():
    listener = Listener()
    assert list(replay(run_of(0, 0, 1, None, None), ListeningDetector(listener))) == []
    assert listener.seen == [(2, 2), (1, 1), (1, 1), (1, 1)]


def test_a_verdict_stands_at_the_last_step_of_its_round():
    listener = Listener(LoopAction.CONTINUE, LoopAction.NOTIFY, LoopAction.RAISE)
    verdicts = replay(run_of(0, 0, 1, 1, 2), ListeningDetector(listener))
    assert [step for step, _ in verdicts] == [3, 4]


def test_a_recorded_run_goes_on_after_a_verdict():
    verdicts = list(replay(run_of(0, 1, 2, 3, 4), LoopDetector.default()))
    assert [step for step, _ in verdicts] == [2, 3, 4]
    assert {verdict.action for _, verdict in verdicts} == {LoopAction.RAISE}


def test_one_detector_serves_many_runs():
    detector = LoopDetector.default()
    run = run_of(0, 1)
    assert list(replay(run, detector)) == list(replay(run, detector)) == []


def test_a_user_message_is_progress():
    stuck, asked_again = run_of(0, 1, 2, 3), run_of(0, 1, 2, 3, turn_starts=(0, 2))
    detector = LoopDetector.default()
    assert [step for step, _ in replay(stuck, detector)] == [2, 3]
    assert list(replay(asked_again, detector)) == []


@pytest.mark.parametrize(
    ("run", "detector", "told"),
    [
        ("runs.jsonl", LoopDetector.default(), "replay takes a RecordedRun, got 'runs.jsonl'"),
        (run_of(0), "default", "replay takes a LoopDetector, got 'default'; pass LoopDetector."),
    ],
)
def test_another_argument_is_named(run, detector, told):
    with pytest.raises(TypeError, match=told):
        next(replay(run, detector))
