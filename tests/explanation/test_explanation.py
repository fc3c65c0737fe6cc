"""One step explained: matches, what stands before a streak, and the ladder."""

import pytest

from antiloop import LoopDetector, RepeatDetector
from antiloop.explanation import Seen, explain
from antiloop.loop_detection import Escalation, RecurrenceDetector, ToolPolicy
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.traces import RecordedRun, replay
from antiloop.types import ToolCall

LADDER = LoopDetector([RepeatDetector(2)], Escalation(("notify", "block")))


def recorded(*steps, **options):
    """Make a run of ``(tool, arguments, result)``, each a round of its own."""
    calls = tuple(ToolCall(tool, {"a": arguments}) for tool, arguments, _ in steps)
    return RecordedRun("r", calls, tuple(result for _, _, result in steps), **options)


def looks(*results):
    return recorded(*[("look", 1, result) for result in results])


def last(run, detector=LADDER):
    return explain(run, detector, len(run) - 1)


def test_the_first_verdict_is_explained_where_no_step_is_given():
    run = looks("a", "b", "b", "b", "b")
    detector = LoopDetector([RepeatDetector(2, require_same_result=True)])
    assert explain(run, detector).step == 2
    assert explain(run, detector).verdict == next(replay(run, detector))[1]


def test_the_last_step_is_explained_where_nothing_was_said():
    told = explain(looks("a", "b"), LoopDetector.default())
    assert (told.step, told.verdict.detection) == (1, None)


@pytest.mark.parametrize("step", [-1, 2])
def test_a_step_that_is_not_there_is_refused(step):
    with pytest.raises(ValueError, match=f"run 'r' has 2 steps, counted from 0; got {step}"):
        explain(looks("a", "b"), LADDER, step)


def test_a_run_without_steps_is_refused():
    with pytest.raises(ValueError, match="run 'r' has no steps"):
        explain(RecordedRun("r"), LADDER)


def test_a_round_is_explained_whole():
    calls = tuple(ToolCall("t", {"n": number}, round=number // 2) for number in range(4))
    told = explain(RecordedRun("r", calls, (None,) * 4), LADDER, 2)
    assert (told.step, [match.step for match in told.matches]) == (3, [2, 3])


def test_earlier_results_of_the_same_call_are_compared():
    refused = f"{REFUSED_MARKER} this call was not run."
    (match,) = last(
        looks("x at 10:21:07", None, "y", refused, "x at 10:21:09", "x at 10:21:09")
    ).matches
    assert match.seen == (
        Seen(0, "same but for noise"),
        Seen(1, "unknown"),
        Seen(2, "another"),
        Seen(3, "refused"),
        Seen(4, "same"),
    )
    assert (match.tool, match.arguments, match.answer) == ("look", '{"a":1}', "success")


def test_the_same_answer_to_other_calls_is_told():
    (match,) = last(recorded(("a", 1, "x"), ("a", 2, "x"), ("b", 1, "x"), ("a", 3, "x"))).matches
    assert (match.seen, match.same_answer) == ((), (0, 1))


def test_failures_in_other_words_and_nearly_the_same_calls_are_told():
    foods = ("cat food", "cats food", "7 foods", "food cat")
    steps = [("find", food, f"Error: no {food}") for food in foods]
    (match,) = last(recorded(("list", "food cat", "Error: no food cat"), *steps)).matches
    assert (match.near_calls, match.same_answer, match.like_answer) == ((1, 2), (), (1, 2, 3))


def test_answers_that_are_not_known_are_not_the_same():
    (match,) = last(recorded(("a", 1, None), ("a", 2, None))).matches
    assert (match.same_answer, match.result) == ((), None)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], "the start of the run"),
        ([("read", 1, "new")], "another call, a new answer (step 0)"),
        ([("write_file", 1, "ok")], "another call, a change of the world (step 0)"),
        ([("read", 1, "Error: no")], "another call (step 0)"),
        ([("look", 1, "x"), ("look", 1, "y")], "the same call, another result (step 1)"),
    ],
)
def test_what_stands_before_a_streak_is_told(steps, expected):
    detector = LoopDetector([RepeatDetector(3, require_same_result=True)])
    streak = [("look", 1, "z")] * 2
    assert last(recorded(*steps, *streak), detector).counts[0].before == expected


def test_the_same_call_may_stand_before_its_own_streak():
    steps = [("look", 1, "z"), ("read", 1, "a"), ("read", 2, "b"), ("read", 3, "c")]
    told = last(recorded(*steps, *[("look", 1, "z")] * 2), LoopDetector([RecurrenceDetector(4)]))
    assert told.counts[0].indices == (0, 4, 5)
    turns = LoopDetector([RepeatDetector(2)], tools={"look": ToolPolicy(poll=True)})
    assert last(looks("z", None, "y"), turns).counts[0].before == "the same call (step 0)"


def test_the_user_and_the_window_may_stand_before_a_streak():
    detector = LoopDetector([RepeatDetector(3)], window=3)
    spoken = recorded(*[("look", 1, "z")] * 4, turn_starts=(0, 2))
    assert last(spoken, detector).counts[0].before == "the user's message"
    assert last(looks(*"zzzz"), detector).counts[0].before == "the start of the window"


def test_news_and_changes_of_the_window_are_told():
    told = last(recorded(("read", 1, "x"), ("write_file", 1, "ok"), ("read", 1, "x")))
    assert (told.news, told.changes, told.window_start, told.window_rounds) == (2, (1,), 0, 3)


def test_a_window_without_evidence_is_told_as_empty():
    detector = LoopDetector([RepeatDetector(2)], tools={"look": ToolPolicy(exempt=True)})
    told = last(looks("x", "x"), detector)
    assert (told.matches, told.window_rounds, told.window_start) == ((), 0, 2)
    assert told.counts[0].count is None


def rungs(run, detector=LADDER):
    return [
        (rung.detector, rung.actions, rung.found, rung.is_found_now, rung.is_refused)
        for rung in last(run, detector).rungs
    ]


def test_the_ladder_tells_where_each_loop_stands():
    assert rungs(looks("x")) == []
    assert rungs(looks("x", "x")) == [("repeat", ("notify", "block"), 1, True, False)]
    assert rungs(looks("x", "x", "x")) == [("repeat", ("notify", "block"), 2, True, True)]
    left = recorded(*[("look", 1, "x")] * 3, ("read", 1, "y"))
    assert rungs(left) == [("repeat", ("notify", "block"), 2, False, False)]


def test_a_detector_with_a_ladder_of_its_own_stands_on_that():
    own = {"recurrence": Escalation(("stop",))}
    detector = LoopDetector([RepeatDetector(2), RecurrenceDetector(2)], escalations=own)
    run = recorded(("look", 1, "x"), ("read", 1, "y"), ("look", 1, "x"))
    assert rungs(run, detector) == [("recurrence", ("stop",), 1, True, False)]
