import contextlib
import copy
import json
import logging
import pickle
import threading
from collections import UserList

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    BaseDetector,
    LoopDetection,
    LoopDetector,
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    ToolCall,
    ToolResult,
    loop_detection,
)
from antiloop.exceptions import SnapshotError
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    LoopAction,
    LoopMonitor,
    LoopSeverity,
    MonologueDetector,
    NearRepeatDetector,
    Opinion,
    SecondOpinion,
    ToolPolicy,
)
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

LOOK = ToolCall("look", {"at": "a"})
READ = ToolCall("read", {"path": "b"})
LADDER = Escalation(("notify", "block", "stop"))


def monitor_of(*detectors, policy=LADDER, **options):
    return LoopDetector(detectors or [RepeatDetector(3)], policy, **options).monitor()


def actions(monitor, rounds):
    """Play rounds of calls with equal results, refusing what is refused; give the actions."""
    said = []
    for calls in rounds:
        results = []
        for call in calls:
            verdict = monitor.before(call)
            refused = verdict.action is LoopAction.BLOCK
            results.append(ToolResult(verdict.message, True) if refused else f"r {call.tool_name}")
        said.append(monitor.after(calls, results).action.value)
    return said


def test_nothing_is_to_be_done_about_healthy_work():
    verdict = monitor_of().after([LOOK], ["text"])
    assert (verdict.action, verdict.severity) == (LoopAction.CONTINUE, LoopSeverity.OK)
    assert (verdict.detection, verdict.message) == (None, "")


def test_the_ladder_is_climbed_one_repetition_at_a_time():
    monitor = monitor_of()
    assert actions(monitor, [[LOOK]] * 5) == ["continue", "continue", "notify", "block", "stop"]


def test_severity_goes_with_the_action():
    monitor = monitor_of()
    verdicts = [monitor.record_call("look") for _ in range(5)][2:]
    assert [verdict.severity.value for verdict in verdicts] == ["warning", "critical", "critical"]
    assert [verdict.detection.severity for verdict in verdicts] == [v.severity for v in verdicts]


def test_a_call_is_refused_before_it_runs():
    monitor = monitor_of()
    for _ in range(4):
        monitor.after([LOOK], ["r"])
    verdict = monitor.before(ToolCall("look", '{"at": "a"}'))
    assert verdict.action is LoopAction.BLOCK
    assert verdict.severity is LoopSeverity.CRITICAL
    assert verdict.message.startswith(REFUSED_MARKER)
    assert '1. look {"at":"a"}' in verdict.message
    assert verdict.detection.detector_name == "repeat"


def test_asking_before_a_call_records_nothing():
    monitor = monitor_of()
    for _ in range(9):
        monitor.before(LOOK)
    assert monitor.call_count == 0
    assert monitor.after([LOOK], ["r"]).action is LoopAction.CONTINUE


def test_other_calls_run_while_one_is_refused():
    monitor = monitor_of()
    for _ in range(4):
        monitor.after([LOOK], ["r"])
    assert monitor.before(READ).action is LoopAction.CONTINUE


def test_a_block_refuses_every_member_of_the_cycle():
    monitor = monitor_of(PingPongDetector(2, 3))
    assert actions(monitor, [[LOOK], [READ], [LOOK], [READ], [LOOK], [READ], [LOOK]])[5:] == [
        "notify",
        "block",
    ]
    assert {monitor.before(call).action for call in (LOOK, READ)} == {LoopAction.BLOCK}


def test_a_refused_round_with_an_allowed_call_still_climbs():
    monitor = monitor_of()
    rounds = [[LOOK], [LOOK], [LOOK], [LOOK], [LOOK, READ]]
    assert actions(monitor, rounds)[-2:] == ["block", "stop"]


def test_a_blocked_call_that_the_host_ran_is_judged_by_its_answer():
    monitor = monitor_of(RepeatDetector(3, require_same_result=True))
    assert actions(monitor, [[LOOK]] * 4)[-1] == "block"
    assert monitor.after([LOOK], ["a new page"]).action is LoopAction.CONTINUE


def test_leaving_the_loop_ends_the_block_and_coming_back_resumes_the_ladder():
    monitor = monitor_of()
    actions(monitor, [[LOOK]] * 4)
    assert actions(monitor, [[READ]]) == ["continue"]
    assert monitor.before(LOOK).action is LoopAction.CONTINUE
    assert actions(monitor, [[LOOK]] * 3) == ["continue", "continue", "stop"]


def test_a_refusal_is_neither_progress_nor_a_failure_of_the_tool():
    monitor = monitor_of(RepeatDetector(3, require_same_result=True), policy=LADDER)
    assert actions(monitor, [[LOOK]] * 5)[-1] == "stop"


def test_a_page_that_begins_like_a_refusal_is_a_page():
    pages = [f"{REFUSED_MARKER} chapter {name}" for name in ("alpha", "beta", "gamma", "delta")]
    for make in (LoopDetector.default, LoopDetector.escalating):
        monitor = make().monitor()
        said = [monitor.record_call("next_page", {}, page).action.value for page in pages]
        assert said == ["continue"] * 4


def test_while_another_call_is_refused_such_a_page_is_a_page_too():
    monitor = monitor_of(RepeatDetector(3, require_same_result=True), policy=LADDER)
    actions(monitor, [[LOOK]] * 4)
    pages = [f"{REFUSED_MARKER} chapter {name}" for name in ("alpha", "beta", "gamma", "delta")]
    for page in pages:
        monitor.after([LOOK, ToolCall("next_page")], [monitor.before(LOOK).message, page])
    last = [item.features for item in monitor.window][-2:]
    assert [(each.tool, each.outcome.name == "REFUSED") for each in last] == [
        ("look", True),
        ("next_page", False),
    ]


def test_long_arguments_of_a_page_that_begins_like_a_refusal_stay_known():
    monitor = LoopDetector([NearRepeatDetector(3)], LoopPolicy.STOP).monitor()
    for number in range(3):
        arguments = {"q": "word " * 4_000, "request_id": number}
        verdict = monitor.record_call("search", arguments, f"{REFUSED_MARKER} denied")
    assert verdict.detection.detector_name == "near_repeat"


def test_a_refused_call_leads_on_though_the_detector_no_longer_sees_it():
    monitor = monitor_of(StallDetector(3))
    different = [[ToolCall("get", {"n": number})] for number in range(4)]
    assert actions(monitor, different) == ["continue", "continue", "notify", "block"]
    assert actions(monitor, [different[-1]]) == ["stop"]


def test_the_last_rung_is_kept():
    assert actions(monitor_of(policy=Escalation(("block",))), [[LOOK]] * 6)[2:] == ["block"] * 4


def test_a_notice_is_sent_once_per_rung():
    monitor = monitor_of(policy=Escalation(("notify", "notify")))
    assert actions(monitor, [[LOOK]] * 7)[2:] == ["notify", "notify", *["continue"] * 3]


def test_further_detections_can_be_made_rarer():
    monitor = monitor_of(policy=Escalation(("notify", "stop"), every=3))
    assert actions(monitor, [[LOOK]] * 6)[2:] == ["notify", "continue", "continue", "stop"]


def test_the_ladder_is_climbed_in_a_long_run_too():
    monitor = monitor_of()
    actions(monitor, [[ToolCall("read", {"n": number})] for number in range(120)])
    assert actions(monitor, [[LOOK]] * 5) == ["continue", "continue", "notify", "block", "stop"]


def test_a_run_has_a_budget_of_interventions():
    monitor = monitor_of(policy=Escalation(("notify",), max_interventions=2))
    stuck = [[[ToolCall("look", {"at": at})]] * 3 for at in "abc"]
    assert [actions(monitor, rounds)[-1] for rounds in stuck] == ["notify", "notify", "stop"]


def test_a_spent_budget_of_interventions_ends_no_run_over_a_habit():
    ladder = Escalation(("notify", "block", "stop"), max_interventions=1)
    monitor = LoopDetector.escalating(policy=ladder).monitor()
    status = ToolCall("git_status")
    rounds = (
        ([status, ToolCall("read_file", {"path": str(n)})], ["clean", f"page {n} of many"])
        for n in range(40)
    )
    said = {monitor.after(*each).action.value for each in rounds}
    assert "stop" not in said
    assert said > {"continue"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (LoopPolicy.RAISE, ["raise", "raise", "raise"]),
        (LoopPolicy.STOP, ["stop", "stop", "stop"]),
        (LoopPolicy.INJECT_MESSAGE, ["notify", "continue", "continue"]),
        (LoopPolicy.BLOCK, ["block", "stop", "stop"]),
    ],
)
def test_each_policy_is_a_ladder(policy, expected):
    assert actions(monitor_of(policy=policy), [[LOOK]] * 5)[2:] == expected


def test_a_detector_can_have_a_ladder_of_its_own():
    detector = LoopDetector(
        [RepeatDetector(3), PingPongDetector(2, 3)],
        LoopPolicy.RAISE,
        escalations={"repeat": Escalation(("notify",))},
    )
    assert actions(detector.monitor(), [[LOOK]] * 3)[-1] == "notify"
    assert actions(detector.monitor(), [[LOOK], [READ]] * 3)[-1] == "raise"


def test_two_detectors_that_see_the_same_calls_speak_once():
    monitor = monitor_of(RepeatDetector(3), RepeatDetector(4, name="again"))
    assert actions(monitor, [[LOOK]] * 4) == ["continue", "continue", "notify", "block"]


def test_the_strongest_action_of_a_round_is_taken():
    detector = LoopDetector(
        [StallDetector(2), RepeatDetector(2)],
        LoopPolicy.RAISE,
        escalations={"stall": Escalation(("notify",))},
    )
    monitor = detector.monitor()
    other = [ToolCall("get", {"n": number}) for number in range(2)]
    monitor.after([other[0], LOOK], ["same", "r"])
    verdict = monitor.after([other[1], LOOK], ["same", "r"])
    assert (verdict.action, verdict.detection.detector_name) == (LoopAction.RAISE, "repeat")


def test_calls_of_one_round_may_be_reported_one_by_one():
    monitor = monitor_of(RepeatDetector(2))
    first, second = ToolCall("look", round=1), ToolCall("read", round=1)
    monitor.after([first], ["r"])
    monitor.after([second], ["r"])
    assert monitor.call_count == 2
    for call in (ToolCall("look", round=2), ToolCall("read", round=2)):
        verdict = monitor.after([call], ["r"])
    assert verdict.detection is None or verdict.detection.repetitions == 2


def test_a_round_may_come_in_any_kind_of_list():
    for kind in (list, tuple, UserList):
        monitor = monitor_of()
        for _ in range(2):
            monitor.after(kind([LOOK]), kind(["text"]))
        assert monitor.after(kind([LOOK]), kind(["text"])).action is LoopAction.NOTIFY


def test_the_same_call_again_and_again_within_a_round_is_one_piece_of_evidence():
    monitor = monitor_of()
    for number in range(9):
        verdict = monitor.after([ToolCall("look", id=f"c{number}", round=4)], ["r"])
        assert verdict.action is LoopAction.CONTINUE


def test_a_call_that_is_reported_twice_counts_once():
    monitor = monitor_of()
    for number in range(2):
        for _ in range(3):
            monitor.after([ToolCall("look", id=f"call-{number}")], ["r"])
    assert monitor.call_count == 2
    assert monitor.after([ToolCall("look", id="call-2")], ["r"]).action is LoopAction.NOTIFY


def test_ids_may_come_back_in_another_round():
    monitor = monitor_of()
    for number in range(3):
        verdict = monitor.after([ToolCall("look", id="call-0", round=number)], ["r"])
    assert verdict.action is LoopAction.NOTIFY


def test_only_recent_reports_are_remembered():
    monitor = monitor_of(window=3)
    for number in range(5):
        monitor.after([ToolCall("look", {"n": number}, id=f"call-{number}")], ["r"])
    monitor.after([ToolCall("look", {"n": 0}, id="call-0")], ["r"])
    assert monitor.call_count == 6


@pytest.mark.parametrize("arguments", [{"q": 1}, '{"q": 1}', '{ "q" : 1.0 }'])
def test_a_hand_written_loop_records_calls(arguments):
    monitor = monitor_of()
    monitor.record_call("look", {"q": 1}, "r")
    monitor.record_call("look", {"q": 1}, "r")
    assert monitor.record_call("look", arguments, "r").action is LoopAction.NOTIFY


def test_a_result_that_raises_whatever_it_is_asked_is_a_result():
    class Raising:
        def __getattr__(self, name):
            raise RuntimeError(name)

    monitor = LoopDetector.default().monitor()
    for _ in range(3):
        verdict = monitor.after([ToolCall("look")], [Raising()])
    assert verdict.action is LoopAction.RAISE


def test_a_call_without_arguments_and_result_can_be_recorded():
    monitor = monitor_of()
    said = [monitor.record_call("look").action.value for _ in range(3)]
    assert said == ["continue", "continue", "notify"]
    assert monitor.call_count == 3


def test_a_round_without_calls_is_nothing():
    monitor = monitor_of()
    assert monitor.after([], []).action is LoopAction.CONTINUE
    assert monitor.call_count == 0


def test_listeners_hear_every_verdict_that_is_more_than_to_go_on():
    monitor, heard = monitor_of(), []
    monitor.add_listener(heard.append)
    actions(monitor, [[LOOK]] * 5)
    assert [verdict.action.value for verdict in heard] == ["notify", "block", "stop"]


def test_a_listener_that_raises_is_logged_and_harms_nothing(caplog):
    monitor, heard = monitor_of(), []

    def clumsy(verdict):
        raise RuntimeError("dropped it")

    monitor.add_listener(clumsy)
    monitor.add_listener(heard.append)
    with caplog.at_level(logging.ERROR, "antiloop"):
        assert actions(monitor, [[LOOK]] * 3)[-1] == "notify"
    assert "clumsy" in caplog.text
    assert "dropped it" in caplog.text
    assert len(heard) == 1


def test_words_of_the_users_own_that_raise_are_logged_and_ours_are_used(caplog):
    def wordless(detection):
        raise RuntimeError("no words")

    monitor = monitor_of(policy=LoopPolicy.INJECT_MESSAGE, inject_message=wordless)
    with caplog.at_level(logging.ERROR, "antiloop"):
        message = [monitor.record_call("look") for _ in range(3)][-1].message
    assert "no words" in caplog.text
    assert "3 times in a row" in message


@pytest.mark.parametrize("moved", ["mark_progress", "user_message", "reset"])
def test_progress_takes_the_evidence_away(moved):
    monitor = monitor_of()
    actions(monitor, [[LOOK]] * 2)
    getattr(monitor, moved)()
    assert actions(monitor, [[LOOK]] * 2) == ["continue", "continue"]


def test_progress_ends_a_block_and_keeps_the_place_on_the_ladder():
    monitor = monitor_of()
    actions(monitor, [[LOOK]] * 4)
    monitor.mark_progress()
    assert monitor.before(LOOK).action is LoopAction.CONTINUE
    assert actions(monitor, [[LOOK]] * 3)[-1] == "stop"


def test_a_reset_forgets_everything_but_the_listeners():
    monitor, heard = monitor_of(), []
    monitor.add_listener(heard.append)
    actions(monitor, [[LOOK]] * 4)
    monitor.reset()
    assert monitor.call_count == 0
    assert actions(monitor, [[LOOK]] * 3)[-1] == "notify"
    assert [verdict.action.value for verdict in heard] == ["notify", "block", "notify"]


def test_a_monitor_that_is_switched_off_does_nothing():
    monitor = monitor_of(policy=LoopPolicy.RAISE)
    monitor.enabled = False
    assert actions(monitor, [[LOOK]] * 9) == ["continue"] * 9
    assert monitor.call_count == 0


def test_monitors_share_nothing():
    detector = LoopDetector([RepeatDetector(3)])
    one, other = detector.monitor(), detector.monitor()
    actions(one, [[LOOK]] * 2)
    assert actions(other, [[LOOK]]) == ["continue"]
    assert other.call_count == 1


def test_a_ladder_of_its_own_is_restored_too():
    detector = LoopDetector(
        [RepeatDetector(3)], escalations={"repeat": Escalation(("notify", "block", "stop"))}
    )
    monitor = detector.monitor()
    actions(monitor, [[LOOK]] * 4)
    assert repr(monitor) == "LoopMonitor(4 calls, Ladder(1 block))"
    snapshot = json.loads(json.dumps(monitor.snapshot()))
    restored = detector.monitor()
    restored.restore(snapshot)
    assert actions(restored, [[LOOK]]) == ["stop"]
    without = LoopDetector([RepeatDetector(3)], LoopPolicy.STOP).monitor()
    without.restore(snapshot)
    assert actions(without, [[READ]]) == ["continue"]


class Texts(BaseDetector):
    """A detector of the user's own: finds the word "stuck" in a result."""

    name = "texts"

    def check(self, tool_calls, tool_results):
        known = [getattr(result, "text", "") for result in tool_results]
        found = [at for at, text in enumerate(known) if "stuck" in text]
        if not found:
            return None
        return LoopDetection(self.name, "It is stuck.", {"tool": "look"}, indices=tuple(found))


def test_a_detector_of_the_users_own_sees_texts_and_climbs_the_ladder():
    monitor = monitor_of(Texts(), policy=Escalation(("notify", "stop")))
    monitor.record_call("look", {"n": 1}, "fine")
    assert monitor.record_call("look", {"n": 2}, "stuck").action is LoopAction.NOTIFY
    assert monitor.record_call("look", {"n": 3}, "stuck").action is LoopAction.STOP


def test_its_indices_count_from_the_start_of_the_run():
    monitor = monitor_of(Texts(), policy=LoopPolicy.STOP, window=3)
    for number in range(9):
        monitor.record_call("look", {"n": number}, "fine")
    assert monitor.record_call("look", {"n": 9}, "stuck").detection.indices == (9,)


def test_it_sees_no_more_calls_than_the_window_holds():
    monitor = monitor_of(Arguments(), policy=LoopPolicy.STOP, window=3)
    for number in range(9):
        verdict = monitor.record_call("look", {"n": number}, "fine")
    assert [call["n"] for call, _ in verdict.detection.details["seen"]] == [6, 7, 8]


def test_its_loop_is_blocked_by_the_calls_it_names():
    monitor = monitor_of(Texts(), policy=Escalation(("block",)))
    monitor.record_call("look", {"at": "a"}, "stuck")
    assert monitor.before(LOOK).action is LoopAction.BLOCK


class Arguments(BaseDetector):
    """A detector of the user's own: gives what it sees."""

    name = "arguments"

    def check(self, tool_calls, tool_results):
        seen = [(call.arguments, result) for call, result in zip(tool_calls, tool_results)]
        return LoopDetection(self.name, "Seen.", {"seen": seen})


def test_it_sees_calls_and_results_as_they_were_when_they_came():
    monitor = monitor_of(Arguments(), policy=Escalation(("notify", "stop")))
    arguments, result = {"at": ["a"]}, ["page"]
    monitor.after([ToolCall("look", arguments)], [result])
    arguments["at"].append("b")
    result.append("more")
    seen = monitor.after([LOOK], ["r"]).detection.details["seen"]
    assert seen == [({"at": ["a"]}, ["page"]), (LOOK.arguments, ToolResult("r"))]


class Uncopyable:
    """A value that cannot be copied."""

    def __reduce_ex__(self, protocol):
        raise TypeError("mine")


def test_it_sees_what_cannot_be_copied_as_plain_json():
    monitor = monitor_of(Arguments(), policy=Escalation(("stop",)))
    verdict = monitor.after([ToolCall("look", {"at": Uncopyable()})], [Uncopyable()])
    ((arguments, result),) = verdict.detection.details["seen"]
    assert json.dumps([arguments, result]).count("Uncopyable") == 2


class Always(BaseDetector):
    name = "always"

    def check(self, tool_calls, tool_results):
        return LoopDetection(self.name, "Always.")


def test_without_indices_the_last_round_is_the_loop():
    monitor = monitor_of(Always(), policy=Escalation(("block",)))
    monitor.record_call("look", {"at": "a"}, "r")
    assert monitor.before(LOOK).action is LoopAction.BLOCK
    assert monitor.before(READ).action is LoopAction.CONTINUE


def test_declared_tools_are_known_to_the_monitor():
    exempt = {"look": ToolPolicy(exempt=True)}
    detector = LoopDetector([RepeatDetector(3)])
    assert actions(detector.monitor(exempt), [[LOOK]] * 9) == ["continue"] * 9
    assert detector.monitor(exempt).before(LOOK).action is LoopAction.CONTINUE


# Snapshots


def copied(monitor, detector):
    copy = detector.monitor()
    copy.restore(json.loads(json.dumps(monitor.snapshot())))
    return copy


@pytest.mark.parametrize("cut", range(8))
def test_a_restored_run_decides_as_the_unbroken_one(cut):
    detector = LoopDetector([RepeatDetector(3), PingPongDetector(2, 3)], LADDER)
    unbroken, broken = detector.monitor(), detector.monitor()
    rounds = [[LOOK], [READ], [LOOK], [READ], [LOOK], [READ], [LOOK, READ], [LOOK]]
    whole = [unbroken.after(calls, ["r"] * len(calls)) for calls in rounds]
    parts = [broken.after(calls, ["r"] * len(calls)) for calls in rounds[:cut]]
    broken = copied(broken, detector)
    parts += [broken.after(calls, ["r"] * len(calls)) for calls in rounds[cut:]]
    assert parts == whole
    assert broken.snapshot() == unbroken.snapshot()


def test_a_restored_block_still_refuses():
    detector = LoopDetector([RepeatDetector(3)], LADDER)
    monitor = detector.monitor()
    actions(monitor, [[LOOK]] * 4)
    restored = copied(monitor, detector)
    assert restored.before(LOOK) == monitor.before(LOOK)
    assert actions(restored, [[LOOK]]) == ["stop"]


def test_a_snapshot_holds_no_texts_beyond_a_short_label():
    monitor = LoopDetector.escalating().monitor()
    secret = "the whole secret text that no checkpoint should carry " * 20
    for number in range(60):
        monitor.record_call("look", {"at": number, "text": secret}, f"{number} {secret}")
    snapshot = json.dumps(monitor.snapshot())
    assert len(snapshot) <= 4096
    assert secret[:60] not in snapshot


@pytest.mark.parametrize("length", [40, 400])
@pytest.mark.parametrize("others", [{}, {"why": "this may be it"}])
def test_a_snapshot_stays_small_however_long_the_names_are(length, others):
    monitor = LoopDetector.escalating().monitor()
    for number in range(80):
        name = f"{number}".rjust(length, "ü")
        arguments = {"n": "é" * 99, **others}
        monitor.after([ToolCall(name, arguments, id=name)], [ToolResult("no such file", True)])
    snapshot = monitor.snapshot()
    assert len(json.dumps(snapshot)) <= 11_000
    LoopDetector.escalating().monitor().restore(snapshot)


def test_the_largest_snapshot_is_as_large_as_it_is_said():
    names = [("\\" * 64 + f"{number:04}" * 30)[:130] for number in range(50)]
    detector = LoopDetector.escalating()
    monitor = detector.monitor()
    for turn in range(40):
        stuck = [ToolCall(f"{turn}{'ü' * 20}", {"q": "é" * 99}, id=f"{turn}", round=turn)]
        for _ in range(4):
            monitor.after(stuck, [ToolResult("no such file", True)])
    every = [ToolCall(name, {"n": "\\" * 99}, id=name[:60], round=99) for name in names]
    monitor.after(every, [ToolResult("no such file", True)] * 50)
    snapshot = monitor.snapshot()
    assert 10_000 < len(json.dumps(snapshot)) <= 32_768
    assert copied(monitor, detector).snapshot() == snapshot


def test_a_restored_refusal_shows_a_call_of_long_ago():
    search = CallLimitDetector(per_tool={"search": 1})
    detector = LoopDetector([search], Escalation(("block",)))
    monitor = detector.monitor()
    for number in range(2):
        monitor.record_call("search", {"q": number}, f"found {number}")
    for number in range(20):
        monitor.record_call("read", {"n": number}, f"page {number}")
    asked = ToolCall("search", {"q": "more"})
    assert copied(monitor, detector).before(asked) == monitor.before(asked)
    assert monitor.before(asked).action is LoopAction.BLOCK


@pytest.mark.parametrize("name", ["n" * 129, "n" * 1_000_000, "ü" * 128])
def test_tools_of_very_long_names_are_told_apart_and_known_by_what_is_declared(name):
    limits = CallLimitDetector(per_tool={name: 2})
    tools = {name: ToolPolicy(thresholds={"repeat": 2})}
    monitor = monitor_of(RepeatDetector(3), limits, policy=LoopPolicy.STOP, tools=tools)
    for other in (f"{name}1", f"{name}2"):
        assert monitor.record_call(other).action is LoopAction.CONTINUE
    assert monitor.record_call(name).action is LoopAction.CONTINUE
    verdict = monitor.record_call(name)
    assert verdict.detection.detector_name == "repeat"
    assert len(verdict.message) < 200
    monitor.mark_progress()
    assert monitor.record_call(name).detection.detector_name == "call_limit"


@pytest.mark.parametrize("call_id", ["i" * 129, 7])
def test_ids_that_nobody_could_use_are_not_kept(call_id):
    monitor = monitor_of(RepeatDetector(2))
    for _ in range(2):
        verdict = monitor.after([ToolCall("look", id=call_id, round=monitor.call_count)], ["r"])
    assert verdict.detection.call_ids == ()


@pytest.mark.parametrize("snapshot", [{}, {"version": 99}])
def test_what_is_no_snapshot_is_refused(snapshot):
    remedy = r"; take one with LoopMonitor\.snapshot\(\) of this version of antiloop"
    with pytest.raises(SnapshotError, match=f"expected a snapshot of version 10.*{remedy}"):
        monitor_of().restore(snapshot)


def damaged():
    monitor = monitor_of()
    actions(monitor, [[LOOK]] * 2)
    whole = monitor.snapshot()
    yield from ({**whole, name: None} for name in ("ladder", "window"))
    for name in ("calls", "seen", "turn", "counts", "tools", "rounds"):
        yield {**whole, "window": {**whole["window"], name: None}}
    for step in ("0 0 s 1", "0 9 s 1 AAAA", "0 0 ? 1 AAAA", "0 0 s 1 !!", "", 7, ["0 0 s 1 AAAA"]):
        yield {**whole, "window": {**whole["window"], "rounds": [[step]]}}


@pytest.mark.parametrize("snapshot", list(damaged()))
def test_a_damaged_snapshot_is_refused_and_changes_nothing(snapshot):
    monitor = monitor_of()
    actions(monitor, [[LOOK]] * 2)
    with pytest.raises(SnapshotError, match="damaged"):
        monitor.restore(snapshot)
    assert monitor.call_count == 2
    assert actions(monitor, [[LOOK]]) == ["notify"]


class Counting(BaseDetector):
    """A detector with details of its own."""

    name = "counting"

    def __init__(self, details):
        self.details = details

    def check(self, tool_calls, tool_results):
        return LoopDetection(self.name, "It goes on.", self.details)


@pytest.mark.parametrize("key", ["calls", "indices", "answer", "cycle", "tool", "count", "words"])
@pytest.mark.parametrize(
    "value", [7, None, "many", [], ["look"], [None], {"look": 2}, [{"tool": "look"}], [{"of": 1}]]
)
def test_a_custom_detector_may_use_any_key_for_its_details(key, value):
    monitor = monitor_of(Counting({key: value}))
    said = [monitor.record_call("look", {"at": number}, "a") for number in range(3)]
    assert [each.action.value for each in said] == ["notify", "block", "stop"]
    assert said[0].message.startswith("[antiloop] Notice: It goes on.")


def test_a_custom_detector_is_not_asked_about_exempt_calls_alone(caplog):
    monitor = monitor_of(Counting({}), tools={"press": ToolPolicy(exempt=True)})
    assert monitor.record_call("press").action is LoopAction.CONTINUE
    assert monitor.record_call("look").action is LoopAction.NOTIFY
    assert caplog.text == ""


def places(value, place=()):
    """Yield the way to each part of plain JSON."""
    yield place
    inside = list(enumerate(value)) if isinstance(value, list) else []
    for key, part in value.items() if isinstance(value, dict) else inside:
        yield from places(part, (*place, key))


def damaged_at(snapshot, place, value):
    whole = copy.deepcopy(snapshot)
    part = whole
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return whole


@pytest.mark.parametrize("damage", [float("inf"), -1, "x", "[" * 3_000, None, [], {}])
def test_damage_anywhere_is_refused_or_does_no_harm(damage):
    monitor = monitor_of()
    actions(monitor, [[LOOK], [LOOK, READ]] * 3)
    monitor.said("I will look.")
    snapshot = monitor.snapshot()
    for place in list(places(snapshot))[1:]:
        restored = monitor_of()
        with contextlib.suppress(SnapshotError):
            restored.restore(damaged_at(snapshot, place, damage))
        restored.before(LOOK)
        actions(restored, [[LOOK]] * 3)
        restored.said("I will look.")
        json.dumps(restored.snapshot())


@pytest.mark.parametrize("damage", [float("inf"), -1, "x", "[" * 3_000, None, [], {}])
def test_damage_to_what_a_judge_said_is_refused_or_does_no_harm(damage):
    judge = SecondOpinion(lambda case: True, suspicion=0.05)

    def searched(monitor):
        for number in range(3):
            if monitor.record_call("search", {"q": number}, "No results.").case:
                monitor.answer(True)
        return monitor

    snapshot = searched(monitor_of(RepeatDetector(9), second_opinion=judge)).snapshot()
    assert snapshot["inquiry"]["episode"] is not None
    for place in places({name: snapshot[name] for name in ("inquiry", "excerpts")}):
        if place:
            restored = monitor_of(RepeatDetector(9), second_opinion=judge)
            with contextlib.suppress(SnapshotError):
                restored.restore(damaged_at(snapshot, place, damage))
            json.dumps(searched(restored).snapshot())


def test_a_policy_may_be_given_by_its_name():
    assert LoopDetector([RepeatDetector()], "stop").policy is LoopPolicy.STOP
    with pytest.raises(ValueError, match="shout"):
        LoopDetector([RepeatDetector()], "shout")


def test_progress_is_progress_for_a_detector_of_the_users_own_too():
    monitor = monitor_of(Texts(), policy=LoopPolicy.STOP)
    monitor.record_call("look", {"n": 1}, "stuck")
    monitor.mark_progress()
    assert monitor.record_call("look", {"n": 2}, "fine").action is LoopAction.CONTINUE


def test_calls_with_and_without_ids_may_come_together():
    monitor = monitor_of()
    calls = [
        ToolCall("a"),
        ToolCall("b", id="1"),
        ToolCall("c", id=10**5000),
        ToolCall("b", id="1"),
    ]
    monitor.after(calls, ["r"] * 4)
    monitor.after(calls[1:], ["r"] * 3)
    assert monitor.call_count == 3


def test_a_very_long_name_does_not_swell_a_snapshot():
    monitor = monitor_of()
    for _ in range(4):
        monitor.record_call("n" * 8_000, {}, "r")
    assert len(json.dumps(monitor.snapshot())) <= 4096


def test_more_results_than_calls_are_refused():
    monitor = LoopDetector.default().monitor()
    with pytest.raises(ValueError, match="2 results for 1 calls; tool_results"):
        monitor.after([ToolCall("ls")], ["a", "b"])
    assert monitor.call_count == 0


@pytest.mark.parametrize("call", ["search", None, {"tool_name": "search"}])
def test_what_is_no_call_is_refused_before_it_runs(call):
    with pytest.raises(TypeError, match="before takes a ToolCall"):
        LoopDetector.default().monitor().before(call)


def test_a_copy_goes_on_alone_and_keeps_unknown_results():
    monitor = monitor_of()
    monitor.record_call("look")
    monitor.record_call("look")
    other = copy.copy(monitor)
    assert other.record_call("look").action is LoopAction.NOTIFY
    assert monitor.call_count == 2
    restored = monitor_of()
    restored.restore(json.loads(json.dumps(monitor.snapshot())))
    assert restored.record_call("look").action is LoopAction.NOTIFY


def test_the_package_lists_its_names():
    assert set(loop_detection.__all__) <= set(dir(loop_detection))


@pytest.mark.parametrize("copied_by", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_monitor_that_logs_nothing_logs_nothing(copied_by, caplog):
    detector = LoopDetector([RepeatDetector(2)], LoopPolicy.STOP, log_verdicts=True)
    logged = []
    for monitor in (detector.monitor(live=False), detector.monitor()):
        caplog.clear()
        actions(copied_by(monitor), [[LOOK]] * 2)
        logged.append(len(caplog.records))
    assert logged == [0, 1]


def test_listeners_and_logs_receive_the_id_of_the_run(caplog):
    told = []
    detector = LoopDetector([RepeatDetector(2)], LoopPolicy.STOP, log_verdicts=True)
    monitor = detector.monitor(run_id="run-7")
    monitor.add_listener(told.append)
    verdicts = [monitor.record_call("look", {}, "same") for _ in range(2)]
    assert [each.run_id for each in (*verdicts, *told)] == ["", "run-7", "run-7"]
    assert monitor.run_id == "run-7"
    assert "stop in run 'run-7': look 2 times in a row: \"same\"" in caplog.text


def test_a_monitor_that_logs_nothing_says_the_same(caplog):
    detector = LoopDetector([RepeatDetector(2)], LoopPolicy.STOP, log_verdicts=True)
    plain, silent = detector.monitor(live=False), detector.monitor(logs=False)
    for _ in range(2):
        assert plain.record_call("look", {}, "same") == silent.record_call("look", {}, "same")
    assert caplog.text == ""


@pytest.mark.parametrize("option", ["live", "logs", "can_ask", "opinions"])
def test_an_option_of_a_monitor_is_checked(option):
    with pytest.raises(TypeError, match=option):
        LoopDetector.default().monitor(**{option: {1: "stuck"}})


def test_each_decision_is_made_within_the_measure_of_the_monitor():
    seen = []

    @contextlib.contextmanager
    def measure():
        seen.append("in")
        yield
        seen.append("out")

    monitor = LoopDetector.default().monitor(measure=measure)
    monitor.before(ToolCall("look"))
    monitor.record_call("look")
    monitor.said("Well.")
    assert seen == ["in", "out"] * 3
    other, times = copy.copy(monitor), []
    other.record_call("look")
    timed = type("Timed", (), {"on_decision_time": lambda self, seconds: times.append(seconds)})
    other.add_listener(timed())
    other.record_call("look")
    assert (len(seen), len(times)) == (6, 1)


@pytest.mark.parametrize("copied_by", [copy.copy, copy.deepcopy])
def test_a_copy_has_none_to_tell_and_nothing_of_a_reply_to_tell(copied_by):
    told = []

    class Observer:
        def on_round(self, run_id, calls, results):
            told.append("round")

        def on_verdict(self, run_id, verdict):
            told.append("verdict")

        def on_decision_time(self, seconds):
            told.append("time")

    judge = SecondOpinion(lambda case: None, suspicion=0.05)
    monitor = monitor_of(RepeatDetector(9), second_opinion=judge)
    monitor.add_listener(Observer())
    monitor.add_listener(lambda verdict: told.append("listener"))
    monitor.said("I will search.")
    asked = [monitor.record_call("search", {"q": word}, "No results found.").case for word in "abc"]
    assert asked[-1] is not None  # its round and verdict are told once the judge has answered
    other = copied_by(monitor)
    told.clear()
    assert other.last_reply() == []
    late = []
    other.add_listener(type("Late", (), {"on_round": lambda *_: late.append("round")})())
    assert other.answer(Opinion(stuck=True, confidence=1.0)).action is LoopAction.NOTIFY
    assert told == late == []


def test_a_user_message_across_turns_keeps_the_evidence_and_ends_a_monologue():
    detector = LoopDetector([RepeatDetector(3), MonologueDetector(3)], LoopPolicy.STOP)
    monitor = detector.monitor()
    for _ in range(2):
        monitor.record_call("look", {}, "same")
    monitor.user_message(is_progress=False)
    assert monitor.record_call("look", {}, "same").action.value == "stop"
    replies = [monitor.said("I will now look at it again and tell you.") for _ in range(2)]
    monitor.user_message(is_progress=False)
    replies.append(monitor.said("I will now look at it again and tell you."))
    assert {each.action.value for each in replies} == {"continue"}


@given(st.integers(0, 6), st.integers(1, 6))
def test_what_was_forgotten_is_not_known_and_a_loop_that_goes_on_is_found_anew(before, after):
    fresh, compacted = monitor_of(), monitor_of()
    for _ in range(before):
        compacted.after([LOOK], ["same"])
    compacted.forgot()
    assert compacted.before(LOOK).action.value == "continue"
    found = [compacted.after([LOOK], ["same"]).detection for _ in range(after)]
    wanted = [fresh.after([LOOK], ["same"]).detection for _ in range(after)]
    assert [each is None for each in found] == [each is None for each in wanted]


def test_a_loop_that_goes_on_after_a_compaction_climbs_on():
    monitor = monitor_of()
    actions = [monitor.after([LOOK], ["same"]).action.value for _ in range(4)]
    monitor.forgot()
    actions += [monitor.after([LOOK], ["same"]).action.value for _ in range(3)]
    assert actions == ["continue", "continue", "notify", "block", "continue", "continue", "stop"]


def step_of_stop(period, every):
    """Return the step at which a loop is stopped that is compacted time and again."""
    monitor = LoopDetector.escalating().monitor()
    for step in range(60):
        path = f"{step % period}.py"
        call, result = ToolCall("read", {"path": path}), ToolResult(f"the text of {path}")
        if monitor.after([call], [result]).action.value == "stop":
            return step
        if (step + 1) % every == 0:
            monitor.forgot()
    return None


@given(st.integers(1, 9), st.integers(1, 20))
def test_a_loop_that_is_compacted_again_and_again_is_stopped(period, every):
    stopped = step_of_stop(period, every)
    assert stopped is not None
    assert stopped <= step_of_stop(period, 99) + max(2 * period, every)


def reads(monitor, count, answer="the text of"):
    """Read files, and return what is done about it."""
    calls = [ToolCall("read", {"path": f"{number}.py"}) for number in range(count)]
    results = [ToolResult(f"{answer} {number}.py") for number in range(count)]
    actions = {monitor.after([each], [given]).action.value for each, given in zip(calls, results)}
    return actions - {"continue"}


@given(st.integers(1, 40))
def test_a_second_pass_after_a_compaction_is_no_loop_and_a_third_is(count):
    monitor = LoopDetector.escalating().monitor()
    found = []
    for _ in range(6):
        found.append(bool(reads(monitor, count)))
        monitor.forgot()
    assert found[:2] == [False, False]
    # Two longer laps do not fit into a window.
    assert any(found) or count > 20


@pytest.mark.parametrize("progress", [LoopMonitor.mark_progress, LoopMonitor.user_message])
def test_after_new_calls_answers_or_progress_a_compaction_counts_again(progress):
    monitor = LoopDetector.escalating().monitor()
    for number in range(5):
        assert not reads(monitor, 9, answer=f"version {number} of")
        monitor.forgot()
    for _ in range(3):
        assert not reads(monitor, 9)
        monitor.forgot()
        assert not reads(monitor, 9)
        progress(monitor)


def test_what_was_known_at_a_compaction_survives_a_snapshot_and_is_bounded():
    detector = LoopDetector.escalating()
    monitor = detector.monitor()
    reads(monitor, 40)
    monitor.forgot()
    snapshot = monitor.snapshot()
    assert len(snapshot["window"]["known"].split()) == 40
    other = detector.monitor()
    other.restore(json.loads(json.dumps(snapshot)))
    reads(other, 40)
    other.forgot()  # nothing new came
    assert reads(other, 40)
    reads(monitor, 40, "other text of")
    monitor.forgot()
    assert len(monitor.snapshot()["window"]["known"].split()) == 40


class Kept:
    def __init__(self):
        self.told = []

    def on_verdict(self, run_id, verdict):
        self.told.append((run_id, verdict.action.value))


def test_the_last_reply_is_told_once_and_those_before_it_are_not():
    monitor = monitor_of()
    for number in range(3):
        monitor.after([ToolCall("look", {"n": number})], [f"page {number}"])
    [(event, (calls, _))] = monitor.last_reply()
    assert (event, [call.arguments for call in calls]) == ("on_round", [{"n": 2}])
    assert monitor.last_reply() == []


@pytest.mark.parametrize(
    "event",
    [
        "on_user_message",
        "on_said",
        "on_second_opinion",
        "on_round",
        "on_verdict",
        "on_tool_loop_detected",
        "on_decision_time",
    ],
)
def test_an_observer_has_any_one_of_the_methods_and_none_that_is_async(event):
    def heard(self, *told):
        pass

    async def awaited(self, *told):
        pass

    monitor = monitor_of()
    monitor.add_listener(type("Observer", (), {event: heard})())
    with pytest.raises(TypeError, match="async"):
        monitor.add_listener(type("Observer", (), {event: awaited})())


def test_an_observer_hears_of_every_round_and_of_its_run():
    observer = Kept()
    monitor = LoopDetector([RepeatDetector(3)], "stop").monitor(run_id="r1")
    monitor.add_listener(observer)
    for _ in range(3):
        monitor.record_call("look", {}, "same")
    assert observer.told == [("r1", "continue"), ("r1", "continue"), ("r1", "stop")]
    assert copy.deepcopy(monitor).record_call("look", {}, "same").action.value == "stop"
    assert len(observer.told) == 3  # a copy is another run


def test_an_observer_hears_the_decision_of_a_shadow_detector():
    observer = Kept()
    monitor = LoopDetector([RepeatDetector(2)], "stop", shadow=True).monitor()
    monitor.add_listener(observer)
    for _ in range(2):
        monitor.record_call("look", {}, "same")
    assert observer.told == [("", "continue"), ("", "stop")]


def test_an_observer_that_raises_is_logged_and_the_run_goes_on(caplog):
    class Clumsy:
        def on_verdict(self, run_id, verdict):
            raise RuntimeError("dropped it")

    monitor = LoopDetector.default().monitor()
    monitor.add_listener(Clumsy())
    assert monitor.record_call("look", {}, "same").action.value == "continue"
    assert "dropped it" in caplog.text


@pytest.mark.parametrize("wrong", [Kept, 3, None, "print"])
def test_what_is_neither_function_nor_observer_is_refused(wrong):
    with pytest.raises(TypeError, match="must be a function, or an object with methods such as"):
        LoopDetector.default().monitor().add_listener(wrong)


def test_two_threads_that_use_a_monitor_at_once_are_told():
    raised = []

    def other_thread():
        try:
            monitor.record_call("read")
        except RuntimeError as error:
            raised.append(str(error))

    def in_other_thread():
        other = threading.Thread(target=other_thread)
        other.start()
        other.join()

    class Slow(BaseDetector):
        name = "slow"

        def check(self, tool_calls, tool_results):
            if tool_calls[-1].tool_name == "search":
                in_other_thread()
                copy.deepcopy(monitor).record_call("look")
                monitor.record_call("list")

    monitor = monitor_of(Slow())
    monitor.record_call("search")
    assert len(raised) == 1
    assert "two threads use one LoopMonitor" in raised[0]
    in_other_thread()  # one after the other is no mistake
    assert (len(raised), monitor.call_count) == (1, 3)
    assert pickle.loads(pickle.dumps(monitor_of(RepeatDetector(3)))).call_count == 0


@pytest.mark.parametrize("result", ["text", [1, 2], ToolResult("text"), None])
def test_a_result_of_any_kind_may_come_with_the_time_that_it_took(result):
    timed, timeless = (LoopDetector.default().monitor() for _ in range(2))
    for _ in range(3):
        said = timed.record_call("look", {}, result, duration_s=2.0).action
        assert said is timeless.record_call("look", {}, result).action


def results_told(**options):
    told = []

    class Note:
        def on_round(self, run_id, calls, results):
            told.extend(results)

    monitor = LoopDetector.default().monitor(observers=[Note()])
    for result in (ToolResult("a", duration_s=1.0), ToolResult("a", is_error=True), "a", None):
        monitor.record_call("look", {}, result, **options)
    return [each and (each.text, each.is_error, each.duration_s) for each in told]


def test_what_is_known_of_a_result_may_come_beside_it():
    assert results_told() == [("a", False, 1.0), ("a", True, None), ("a", False, None), None]
    assert results_told(duration_s=2.0) == [
        ("a", False, 2.0),
        ("a", True, 2.0),
        ("a", False, 2.0),
        None,
    ]
    failed = [("a", True, 1.0), ("a", True, None), ("a", True, None), ("", True, None)]
    assert results_told(is_error=True) == failed
    with pytest.raises(TypeError, match="is_error must be True or False, got 'no'"):
        results_told(is_error="no")


def test_a_spent_budget_survives_a_compaction_and_a_restart():
    detector = LoopDetector([CallLimitDetector(2)], "block")
    monitor = detector.monitor()
    for number in range(3):
        monitor.record_call("read", {"n": number}, f"page {number}")
    monitor.forgot()
    call = ToolCall("read", {"n": 9})
    assert copied(monitor, detector).before(call) == monitor.before(call)
    assert monitor.before(call).action is LoopAction.BLOCK


@pytest.mark.parametrize("begin_again", [lambda m: m.reset(), lambda m: m.restore(m.snapshot())])
def test_another_state_has_no_reply_that_adapters_must_still_pass_on(begin_again):
    monitor = monitor_of()
    monitor.said("Let me look.")
    actions(monitor, [[LOOK]])
    begin_again(monitor)
    assert monitor.last_reply() == []


def test_another_run_has_none_of_the_opinions_on_the_last_one():
    detector = LoopDetector.escalating(second_opinion=lambda _: True)
    run = [("search", {"q": word}, "No results found.") for word in "alpha beta gamma".split()]
    monitor = detector.monitor(opinions={1: Opinion(True, 1.0, "It is stuck.")}, can_ask=False)
    assert [monitor.record_call(*call).action.value for call in run][1] == "notify"
    monitor.reset()
    assert {monitor.record_call(*call).action.value for call in run} == {"continue"}
