"""A new loop begins at the first rung, and what may be work never ends the run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import features_of

from antiloop import LoopDetection, LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection import FailureStreakDetector, RepeatedFinishDetector
from antiloop.loop_detection._evidence.sameness import acknowledges
from antiloop.loop_detection._ladder import Ladder
from antiloop.loop_detection._policy import Escalation, LoopAction

NAMES = ["ash", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper"]
HABIT = LoopDetection("repeat", "Again.", identity="a", members=("a",), may_end_run=False)


def actions(monitor, *steps):
    """Return the actions after rounds of one ``(tool, arguments, result)`` each."""
    return [
        monitor.after([ToolCall(tool, arguments)], [result]).action.value
        for tool, arguments, result in steps
    ]


def climbed(escalation, found, rounds):
    ladder = Ladder(escalation)
    return [ladder.climb([found], number, number)[0] for number in range(1, rounds + 1)]


def test_a_habit_takes_no_rung_that_ends_the_run():
    notify, block, stop = LoopAction.NOTIFY, LoopAction.BLOCK, LoopAction.STOP
    assert climbed(Escalation((notify, block, stop)), HABIT, 4) == [notify, block, block, block]
    assert climbed(Escalation((notify, stop)), HABIT, 3) == [notify] + [LoopAction.CONTINUE] * 2
    assert climbed(Escalation((LoopAction.RAISE,)), HABIT, 2) == [LoopAction.CONTINUE] * 2


def test_a_habit_of_which_nothing_can_be_refused_brings_a_notice():
    found = LoopDetection("failure_streak", "Again.", identity="a", refused=(), may_end_run=False)
    taken = climbed(Escalation(), found, 4)
    assert taken == [LoopAction.NOTIFY, *[LoopAction.CONTINUE] * 3]


def test_what_must_not_end_the_run_does_not_put_off_the_finding_that_may():
    habit = LoopDetection(**{**vars(HABIT), "refused": (), "spacing": 2})
    loop = LoopDetection(**{**vars(habit), "may_end_run": True})
    ladder = Ladder(Escalation())
    taken = [ladder.climb([found], n, n)[0] for n, found in enumerate([habit] * 3 + [loop], 1)]
    nothing = LoopAction.CONTINUE
    assert taken == [LoopAction.NOTIFY, nothing, nothing, LoopAction.STOP]


def test_a_row_stands_where_a_loop_stood_only_with_its_calls():
    whole = LoopDetection("repeat", "Again.", identity="a", members=("a",), indices=(0, 1, 2))
    row = LoopDetection("streak", "A row.", identity="b", members=("c",), indices=(1, 3, 4))
    for inherits, action in ((True, LoopAction.BLOCK), (False, LoopAction.NOTIFY)):
        ladder = Ladder(Escalation())
        ladder.climb([whole], 3, calls=3)
        found = LoopDetection(**{**vars(row), "inherits": inherits})
        assert ladder.climb([found], 5, calls=5)[0] is action


def test_a_new_row_of_failures_begins_with_a_notice():
    stuck = [("ls", {"path": "a"}, ToolResult("denied", True))] * 3
    fresh = [("cat", {"path": "b"}, "new words that were not there")]
    others = [
        (tool, {"path": name}, ToolResult(f"{name} said {tool}: wrong", True))
        for name in NAMES[:4]
        for tool in ("open", "read")
    ]
    monitor = LoopDetector.escalating().monitor()
    assert "notify" in actions(monitor, *stuck)
    taken = actions(monitor, *fresh, *others)
    assert next(each for each in taken if each != "continue") == "notify"


@pytest.mark.parametrize("files", [5, 7, 9])
def test_a_second_pass_over_files_never_ends_the_run_and_a_third_may(files):
    reads = [("read_file", {"path": f"m{n}.py"}, f"def f{n}(): {n * n}") for n in range(files)]
    monitor = LoopDetector.escalating().monitor()
    assert not {"block", "stop"} & set(actions(monitor, *reads, *reads))
    assert "stop" in actions(monitor, *reads, *reads)


@given(st.permutations(NAMES), st.sampled_from(["[]", "No matches found", '{"items": []}']))
def test_a_second_pass_in_which_a_place_is_empty_never_ends_the_run(names, nothing):
    looks = [(name, {"at": n}, f"{name} has {n * n} leaves") for n, name in enumerate(names[:8])]
    looks[3] = ("list_files", {"at": 3}, nothing)
    monitor = LoopDetector.escalating().monitor()
    assert not {"block", "stop"} & set(actions(monitor, *looks, *looks))
    assert "stop" in actions(monitor, *looks, *looks)


ANSWERS = [
    "Just a moment...",
    "The page is being made for you",
    "该文件不存在 请稍后再试",
    "Die Datei ist weg",
]


@given(st.sampled_from(ANSWERS))
def test_one_answer_to_whatever_is_asked_brings_a_notice_and_no_more(answer):
    steps = [("act", {"target": name, "mode": n}, answer) for n, name in enumerate(NAMES)]
    taken = actions(LoopDetector.escalating().monitor(), *steps)
    assert "notify" in taken
    assert not {"block", "stop"} & set(taken)


def test_a_tool_that_only_looks_needs_fewer_rounds_unless_its_answer_is_a_value():
    found = FailureStreakDetector(4)
    calls = [ToolCall("get_page", {"id": name}) for name in NAMES]
    sentence = ["The page is being prepared by the night shift"] * 10
    assert found.check(calls[:5], sentence[:5]) is None
    assert found.check(calls[:6], sentence[:6]) is not None
    assert found.check(calls[:8], ["available"] * 8) is None
    assert found.check(calls[:9], ["available"] * 9) is not None


@pytest.mark.parametrize("tool", ["write_file", "sendline", "browser_click", "type_text"])
def test_acts_and_inputs_may_all_be_acknowledged_alike(tool):
    calls = [ToolCall(tool, {"path": name}) for name in NAMES]
    assert FailureStreakDetector(4).check(calls, ["Done, as you asked for."] * 10) is None


def test_an_act_that_leads_on_to_another_one_each_time_is_no_row():
    def taken(wells):
        steps = [
            step
            for well in wells
            for step in (("aspirate", {"volume": 50}, "OK"), ("dispense", {"to": well}, "OK"))
        ]
        return set(actions(LoopDetector.escalating().monitor(), *steps))

    assert taken(NAMES) == {"continue"}
    assert "stop" in taken(["ash", "birch"] * 5)


def test_a_long_object_acknowledges_no_act():
    said = '{"page": "' + "more words " * 40 + '"}'
    assert not acknowledges(features_of(ToolCall("page", {}), said))
    assert acknowledges(features_of(ToolCall("page", {}), said[:-200] + '"}'))


def test_a_whole_tool_is_refused_later_if_its_calls_differed():
    def taken(calls):
        steps = [("get", {"id": name}, ToolResult("not found", True)) for name in calls]
        return actions(LoopDetector.escalating().monitor(), *steps)

    assert taken(NAMES[:7])[3:] == ["notify", "continue", "block", "continue"]
    assert taken(["ash", "birch"] * 3).index("block") == 4


def test_a_finish_that_is_refused_in_other_words_is_another_finish():
    calls = [ToolCall("submit", {"flag": name}) for name in NAMES[:3]]
    found = RepeatedFinishDetector(3)
    refused = [ToolResult(f"Error: wrong flag {name}", True) for name in NAMES[:3]]
    assert found.check(calls, refused) is not None
    others = [*refused[:2], ToolResult("Error: too late for that", True)]
    assert found.check(calls, others) is None
    assert found.check([*calls[:2], ToolCall("finish")], refused) is None


def test_three_issues_that_are_completed_are_three_finishes():
    found = RepeatedFinishDetector(3)
    issues = [ToolCall("issue_complete", {"issue_id": f"LIN-{n}"}) for n in range(7, 11)]
    assert found.check(issues, ["done"] * 4) is None
    assert found.check([issues[0]] * 3, ["done"] * 3) is not None
    words = [ToolCall("task_done", {"message": f"all {name} work is done"}) for name in NAMES]
    assert found.check(words[:3], ["ok"] * 3) is not None


@pytest.mark.parametrize("tool", ["transfer_to_human_agents", "escalateToSupervisor"])
def test_a_person_who_takes_over_takes_over_once(tool):
    calls = [ToolCall(tool, {"summary": f"the customer wants {name}"}) for name in NAMES[:6]]
    assert "notify" in actions_of(calls, ["Transfer successful"] * 6)
    others = [ToolCall("transfer_to_agent", {"name": name, "why": name}) for name in NAMES[:6]]
    assert set(actions_of(others, [f"{name} has taken over" for name in NAMES])) == {"continue"}


def actions_of(calls, results):
    monitor = LoopDetector.escalating().monitor()
    return [monitor.after([call], [text]).action.value for call, text in zip(calls, results)]
