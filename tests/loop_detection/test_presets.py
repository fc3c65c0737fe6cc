"""Each preset by its figures: at which call which action falls, and what it leaves alone."""

import inspect
import json
import logging

import pytest

from antiloop import LoopDetector, Role, ToolCall
from antiloop.loop_detection import Escalation, presets
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun, replay


def played(name, calls):
    """Return the number of the call and the action, for every verdict."""
    monitor = PRESETS[name]().monitor()
    verdicts = [monitor.record_call(*call) for call in calls]
    return [
        (number, verdict.action.value)
        for number, verdict in enumerate(verdicts, 1)
        if verdict.detection
    ]


def same(count, tool="look"):
    return [(tool, {"at": "a"}, "the same")] * count


def changing(count, tool="look", **arguments):
    return [(tool, {"at": "a", **arguments}, f"page {'x' * number}") for number in range(count)]


def turns(count):
    return [("ab"[number % 2], {"at": "a"}, "the same") for number in range(count)]


def moving_turns(count):
    return [("ab"[number % 2], {"n": number}, f"new {'x' * number}") for number in range(count)]


REPEATED = {
    "default": [(3, "raise"), (4, "raise")],
    "escalating": [(3, "notify"), (4, "block"), (5, "stop")],
    "thorough": [(3, "raise"), (4, "raise")],
    "literal": [(3, "raise"), (4, "raise")],
    "patient": [(10, "notify"), (20, "block")],
    "cycles": [(3, "notify"), (4, "notify"), (5, "stop")],
    "budgeted": [(3, "notify"), (4, "notify"), (5, "block")],
}
IN_TURN = {
    "default": [(6, "raise"), (8, "raise")],
    "escalating": [(6, "notify"), (7, "block"), (8, "stop")],
    "thorough": [(6, "raise"), (7, "raise"), (8, "raise")],
    "literal": [(6, "raise"), (8, "raise")],
    "patient": [(10, "notify"), (20, "block")],
    "cycles": [(6, "notify"), (8, "notify"), (10, "stop")],
    "budgeted": [(4, "notify"), (5, "notify"), (6, "block")],
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_same_call_again_and_again(name):
    expected = REPEATED[name]
    assert played(name, same(expected[-1][0])) == expected


@pytest.mark.parametrize("name", PRESETS)
def test_two_calls_in_turn(name):
    expected = IN_TURN[name]
    assert played(name, turns(expected[-1][0])) == expected


@pytest.mark.parametrize("name", ["default", "escalating"])
def test_ours_leave_a_call_alone_whose_answers_are_new(name):
    assert played(name, changing(40)) == []


@pytest.mark.parametrize("name", ["default", "escalating", "patient", "cycles"])
def test_taking_turns_over_other_arguments_is_work(name):
    assert played(name, moving_turns(24)) == []


def test_the_literal_preset_knows_tool_names_only():
    assert played("literal", moving_turns(6)) == [(6, "raise")]
    assert played("literal", [("get", {"n": n}, "same") for n in range(3)]) == [(3, "raise")]


def test_a_changing_answer_is_a_warning_to_the_patient_preset_but_never_refused():
    assert played("patient", changing(29)) == [(10, "notify")]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("command_status", {}), ("process", {"action": "poll"}), ("process", {"action": "log"})],
)
def test_polls_are_judged_by_their_results_alone(tool, arguments):
    assert played("patient", changing(29, tool, **arguments)) == []


def test_other_actions_of_a_polling_tool_are_judged_by_repetition():
    assert played("patient", changing(10, "process", action="kill")) == [(10, "notify")]


def test_a_poll_without_progress_is_warned_of_and_refused():
    assert played("patient", same(20, "command_status")) == [(10, "notify"), (20, "block")]


def test_a_call_that_is_not_repeated_resets_the_patient_streak():
    calls = [*same(9), ("read", {}, "other"), *same(9)]
    assert played("patient", calls) == []


def test_a_brief_legitimate_repeat_leaves_nothing_behind():
    calls = [*same(5), *[("read", {"n": n}, f"text {'x' * n}") for n in range(30)], *same(9)]
    assert played("patient", calls) == []


def test_the_patient_window_is_thirty_calls():
    assert presets.patient().window == 30


def test_a_cycle_of_three_is_warned_of_as_the_user_and_stopped():
    lap = [("a", {}, "r"), ("b", {}, "r"), ("c", {}, "r")]
    assert played("cycles", lap * 5) == [(9, "notify"), (12, "notify"), (15, "stop")]
    assert presets.cycles().notice_role is Role.USER


def test_cycles_are_compared_by_their_calls_not_by_their_answers():
    lap = [[("a", {}, f"new {'x' * n}"), ("b", {}, f"new {'y' * n}")] for n in range(3)]
    assert played("cycles", [call for each in lap for call in each]) == [(6, "notify")]


def test_the_second_warning_of_cycles_is_stronger():
    monitor = presets.cycles().monitor()
    words = [monitor.record_call(*call).message for call in same(4)]
    assert "3 times" in words[2]
    assert "You got this notice before" in words[3]


def test_twenty_five_calls_a_turn_are_budgeted():
    calls = [("read", {"n": n}, f"text {'x' * n}") for n in range(30)]
    assert played("budgeted", calls)[0] == (26, "block")
    monitor = presets.budgeted().monitor()
    for call in calls[:25]:
        monitor.record_call(*call)
    monitor.user_message()
    assert [monitor.record_call(*call).severity.value for call in calls[:25]] == ["ok"] * 25
    assert monitor.record_call(*calls[25]).severity.value == "critical"


def test_budgeted_severities_are_ok_warning_critical():
    monitor = presets.budgeted().monitor()
    said = [monitor.record_call(*call).severity.value for call in same(6)]
    assert said == ["ok", "ok", "warning", "warning", "critical", "critical"]


def test_budgeted_listeners_hear_every_warning_and_critical():
    monitor, heard = presets.budgeted().monitor(), []
    monitor.add_listener(heard.append)
    for call in same(5):
        monitor.record_call(*call)
    assert [verdict.severity.value for verdict in heard] == ["warning", "warning", "critical"]


def test_budgeted_can_be_switched_off():
    monitor = presets.budgeted().monitor()
    monitor.enabled = False
    assert {monitor.record_call(*call).severity.value for call in same(30)} == {"ok"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_survives_its_configuration(name):
    made = PRESETS[name]()
    copy = LoopDetector.from_config(json.loads(json.dumps(made.to_config())))
    assert copy.to_config() == made.to_config()
    for calls in (same(30), turns(30), moving_turns(30), changing(30)):
        own, other = made.monitor(), copy.monitor()
        assert [own.record_call(*call) for call in calls] == [
            other.record_call(*call) for call in calls
        ]


def test_the_default_has_three_detectors():
    names = [detector.name for detector in LoopDetector.default().detectors]
    assert names == ["repeat", "stall", "ping_pong"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_in_one_line_what_it_is(name):
    assert PRESETS[name].__doc__.splitlines()[0].endswith((".", ";", ":"))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_cycle_is_found_at_its_second_full_lap_with_two_laps(length):
    lap = [(name, {}, "r") for name in "abc"[:length]]
    monitor = presets.cycles(laps=2).monitor()
    said = [monitor.record_call(*call).action.value for call in lap * 2]
    assert said == ["continue"] * (2 * length - 1) + ["notify"]


def test_the_breaker_has_the_last_word_of_the_patient_preset():
    for calls in (same(30), turns(30)):
        monitor = presets.patient().monitor()
        verdict = [monitor.record_call(*call) for call in calls][-1]
        assert (verdict.action.value, verdict.detection.detector_name) == ("stop", "standstill")


@pytest.mark.parametrize("tool", ["process.poll", "process.log"])
def test_dotted_names_of_polls_are_polls_too(tool):
    assert played("patient", changing(29, tool)) == []


@pytest.mark.parametrize(("name", "count"), [("patient", 20), ("budgeted", 5)])
def test_warnings_and_refusals_are_logged(name, count, caplog):
    monitor = presets.PRESETS[name]().monitor()
    with caplog.at_level(logging.WARNING, "antiloop"):
        for call in same(count):
            monitor.record_call(*call)
    levels = [record.levelname for record in caplog.records]
    assert set(levels[:-1]) == {"WARNING"}
    assert levels[-1] == "ERROR"
    assert caplog.messages[0].startswith("notify: look ")


def test_other_presets_log_nothing(caplog):
    monitor = LoopDetector.escalating().monitor()
    for call in same(5):
        monitor.record_call(*call)
    assert caplog.records == []


@pytest.mark.parametrize("calls", [same(12), turns(12)])
def test_every_budgeted_call_past_a_threshold_says_so(calls):
    monitor = presets.budgeted().monitor()
    said = [monitor.record_call(*call).severity.value for call in calls]
    first = said.index("critical")
    assert said[first - 2 :] == ["warning", "warning", *["critical"] * (12 - first)]


def test_a_budgeted_row_that_is_broken_begins_anew():
    monitor = presets.budgeted().monitor()
    calls = [*same(4), ("read", {}, "other"), *same(4)]
    said = [monitor.record_call(*call).severity.value for call in calls]
    assert said[5:] == ["ok", "ok", "warning", "warning"]


def test_a_used_up_budget_is_looked_at_before_the_same_call():
    monitor = presets.budgeted().monitor()
    for number in range(23):
        monitor.record_call("read", {"n": number}, f"text {'x' * number}")
    verdict = [monitor.record_call(*call) for call in same(5)][-1]
    assert verdict.detection.detector_name == "call_limit"


def test_a_replay_logs_nothing(caplog):
    run = RecordedRun("run", [ToolCall("look")] * 6, ["the same"] * 6)
    assert [verdict.action.value for _, verdict in replay(run, presets.budgeted())]
    assert caplog.records == []


SAME_RESULT = {"require_same_result": True}
WAITS = {"patience": 12, "patience_s": 600}
IN_FULL = {
    "thorough": (
        [
            ("repeat", {"threshold": 3, "require_same_result": True, **WAITS}),
            ("stall", {"threshold": 3, "only_fruitless": True, "varied": 5}),
            ("ping_pong", {"cycle_length": 12, "repetitions": 3, **WAITS}),
            ("near_repeat", {"threshold": 4, "patience": 6}),
            ("failure_streak", {"threshold": 6, "in_a_row": 20, "repeats": 3, "patience": 12}),
            ("unknown_tool", {"threshold": 4}),
            ("no_effect", {"threshold": 4}),
        ],
        {"policy": "raise"},
    ),
    "default": (
        [
            ("repeat", {"threshold": 3, **WAITS, **SAME_RESULT}),
            ("stall", {"threshold": 3, "only_fruitless": True, "varied": 5}),
            ("ping_pong", {"cycle_length": 12, "repetitions": 3, **WAITS}),
        ],
        {"policy": "raise"},
    ),
    "escalating": (
        [
            ("repeat", {"threshold": 3, **WAITS, **SAME_RESULT}),
            ("unknown_tool", {"threshold": 3}),
            ("no_effect", {"threshold": 3}),
            ("ping_pong", {"cycle_length": 12, "repetitions": 3, **WAITS}),
            ("near_repeat", {"threshold": 4, "patience": 6}),
            ("failure_streak", {"threshold": 4, "in_a_row": 5, "repeats": 3, "patience": 12}),
            (
                "recurrence",
                {"threshold": 3, **WAITS, "unseen": 5, "leave_cycles": True},
            ),
            ("persistent_failure", {"threshold": 5}),
            ("repeated_finish", {"threshold": 3}),
            ("stagnation", {"threshold": 2}),
            ("monologue", {"threshold": 3}),
            ("chant", {"repetitions": 6, "length": 400}),
        ],
        {"policy": {"actions": ["notify", "block", "stop"]}},
    ),
    "literal": (
        [
            ("repeat", {"threshold": 3, "patience": 3, "require_same_result": False}),
            ("stall", {"threshold": 3, "only_fruitless": False, "varied": 3}),
            ("ping_pong", {"cycle_length": 2, "repetitions": 3, "match": "tool_names"}),
        ],
        {"policy": "raise"},
    ),
    "patient": (
        [
            ("standstill", {"threshold": 30}),
            ("repeat", {"name": "no_progress", "threshold": 20, **SAME_RESULT}),
            ("repeat", {"name": "repeat", "threshold": 10, "require_same_result": False}),
            ("ping_pong", {"name": "ping_pong", "cycle_length": 2, "repetitions": 5}),
        ],
        {
            "policy": {"actions": ["block"]},
            "escalations": {
                "standstill": {"actions": ["stop"]},
                "repeat": {"actions": ["notify"]},
                "ping_pong": {"actions": ["notify", "block"], "every": 10},
            },
            "window": 30,
            "tools": {
                "command_status": {"poll": True},
                "process": {"poll": {"action": ["poll", "log"]}},
                "process.poll": {"poll": True},
                "process.log": {"poll": True},
            },
            "log_verdicts": True,
        },
    ),
    "cycles": (
        [
            ("repeat", {"threshold": 3, "require_same_result": False}),
            ("ping_pong", {"cycle_length": 3, "repetitions": 3, "match": "calls"}),
        ],
        {
            "policy": {"actions": ["notify", "notify", "stop"], "per_lap": True},
            "notice_role": "user",
        },
    ),
    "budgeted": (
        [
            ("call_limit", {"limit": 25, "per_tool": {}, "per_turn": True}),
            ("repeat", {"threshold": 3, "require_same_result": False}),
            ("ping_pong", {"cycle_length": 2, "repetitions": 2, "match": "tool_names"}),
        ],
        {
            "policy": {"actions": ["block"]},
            "escalations": {
                "repeat": {"actions": ["notify", "notify", "block"], "resumes": False},
                "ping_pong": {"actions": ["notify", "notify", "block"], "resumes": False},
            },
            "mask": "arguments",
            "log_verdicts": True,
        },
    ),
}
USUAL = {
    "version": 1,
    "escalations": {},
    "inject_message": None,
    "window": 50,
    "tools": {},
    "notice_role": "system",
    "mask": "secrets",
    "log_verdicts": False,
    "shadow": False,
}
LADDER = {"every": 1, "per_lap": False, "resumes": True, "max_interventions": None}


def ladder(policy):
    return policy if isinstance(policy, str) else {**LADDER, **policy}


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_in_full(name, shadow):
    detectors, options = IN_FULL[name]
    config = PRESETS[name](shadow=shadow).to_config()
    made = config.pop("detectors")
    assert [each["type"] for each in made] == [kind for kind, _ in detectors]
    for each, (_, expected) in zip(made, detectors):
        assert {option: each[option] for option in expected} == expected
    expected = {**USUAL, **options, "policy": ladder(options["policy"]), "shadow": shadow}
    expected["escalations"] = {
        each: ladder(policy) for each, policy in expected["escalations"].items()
    }
    unset = {"thresholds", "key", "mutates", "exempt"}
    assert all(not each[option] for each in config["tools"].values() for option in unset)
    config["tools"] = {each: {"poll": said["poll"]} for each, said in config["tools"].items()}
    assert config == expected


@pytest.mark.parametrize("laps", [2, 3, 5])
def test_the_laps_of_cycles_are_yours_to_choose(laps):
    repeat, cycle = presets.cycles(laps).detectors
    assert (repeat.threshold, cycle.repetitions, cycle.cycle_length) == (laps, laps, 3)


def test_another_policy_replaces_all_ladders_of_a_preset():
    for detector in (
        LoopDetector.budgeted(policy="stop"),
        LoopDetector.budgeted().with_options(policy="stop"),
    ):
        assert detector.escalations == {}
        monitor = detector.monitor()
        said = [monitor.record_call("search", {"q": "cats"}).action.value for _ in range(3)]
        assert said == ["continue", "continue", "stop"]
    ladders = {"repeat": Escalation(("notify",))}
    chosen = LoopDetector.budgeted().with_options(policy="stop", escalations=ladders)
    assert chosen.escalations == ladders


OWN = [
    (preset, each.name)
    for preset in PRESETS.values()
    for each in inspect.signature(preset).parameters.values()
    if each.name != "options"
]


@pytest.mark.parametrize(("preset", "name"), OWN)
def test_a_misspelt_threshold_of_a_preset_is_answered_with_the_right_one(preset, name):
    with pytest.raises(TypeError, match=f"unknown option '{name}_'; did you mean '{name}'"):
        preset(**{f"{name}_": 3})


def test_a_misspelt_option_of_all_presets_is_answered_with_the_right_one():
    for preset in PRESETS.values():
        with pytest.raises(TypeError, match="unknown option 'shadw'; did you mean 'shadow'"):
            preset(shadw=True)
