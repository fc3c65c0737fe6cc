import json

import pytest

from antiloop import (
    BaseDetector,
    LoopDetector,
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    Role,
)
from antiloop.loop_detection import CallLimitDetector, Escalation, ToolPolicy
from antiloop.loop_detection._registry import DETECTORS as TYPES

WHOLE = {"version": 1, "detectors": [{"type": "repeat"}]}


def test_everything_that_is_data_comes_back():
    made = LoopDetector(
        [RepeatDetector(4, name="again"), CallLimitDetector(9, per_tool={"look": 3})],
        Escalation(("notify", "stop"), every=2, max_interventions=5),
        escalations={"again": Escalation(("block",))},
        inject_message="Stop it.",
        window=77,
        tools={"look": ToolPolicy(poll={"action": ("log",)}, key=("at",), thresholds={"again": 9})},
        notice_role=Role.USER,
        mask="arguments",
    )
    config = json.loads(json.dumps(made.to_config()))
    copy = LoopDetector.from_config(config)
    assert copy.to_config() == config
    assert (copy.window, copy.inject_message, copy.notice_role) == (77, "Stop it.", Role.USER)
    assert (copy.policy, copy.mask) == (made.policy, "arguments")
    assert copy.tools["look"].thresholds == {"again": 9}


def test_what_is_left_out_has_its_default():
    made = LoopDetector.from_config(WHOLE)
    assert (made.policy, made.window) == (LoopPolicy.RAISE, 50)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ([], "a configuration: must be an object, got list"),
        ({}, r"version must be 1, got None; LoopDetector\.to_config\(\) of this version"),
        ({"version": 1}, "no 'detectors'"),
        ({**WHOLE, "detectors": 7}, "detectors: must be a list, got int"),
        ({**WHOLE, "detectors": "repeat"}, "detectors: must be a list, got str"),
        ({**WHOLE, "detectors": [7]}, "detectors: number 1: must be an object, got int"),
        ({**WHOLE, "detectors": [{"type": "repeat", "name": 7}]}, "name must be a text, got 7"),
        ({**WHOLE, "detectors": [{"type": {}}]}, "number 1: unknown type {}; choose from"),
        (
            {**WHOLE, "detectors": [{"type": "magic"}]},
            "unknown type 'magic'; choose from",
        ),
        (
            {**WHOLE, "detectors": [{"type": "repeat", "threshold": 1}]},
            "must be a whole number, 2 or more, got 1",
        ),
        (
            {**WHOLE, "detectors": [{"type": "repeat", "speed": 1}]},
            "unknown option 'speed'; there are threshold,",
        ),
        ({**WHOLE, "color": "red"}, "unknown 'color'; a configuration holds detectors"),
        ({**WHOLE, "policy": "shout"}, "policy: unknown policy 'shout'; choose from raise, "),
        ({**WHOLE, "policy": {"speed": 1}}, "policy: unknown option 'speed'; there are actions"),
        ({**WHOLE, "policy": {"actions": ["shout"]}}, "policy: unknown action 'shout'"),
        (
            {**WHOLE, "escalations": {"repeat": {"every": 0}}},
            "escalations: repeat: every must be a whole number, 1",
        ),
        ({**WHOLE, "tools": {"look": {"color": 1}}}, "tools: look: unknown option 'color'"),
        ({**WHOLE, "tools": []}, "tools: must be an object, got list"),
        ({**WHOLE, "notice_role": "king"}, "notice_role: unknown role 'king'; choose from sy"),
        ({**WHOLE, "mask": "all"}, "mask: unknown mask 'all'; choose from secrets, arguments"),
        ({**WHOLE, "mask": 7}, "mask: unknown mask 7; choose from secrets, arguments"),
        ({**WHOLE, "mask": []}, r"mask: unknown mask \[\]; choose from secrets, arguments"),
        ({**WHOLE, "window": 2}, "repeat looks at 3 rounds, but the window holds 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(config, complaint):
    with pytest.raises(ValueError, match=complaint):
        LoopDetector.from_config(config)


class Own(BaseDetector):
    name = "own"

    def check(self, tool_calls, tool_results):
        return None


@pytest.mark.parametrize(
    ("detector", "complaint"),
    [
        (LoopDetector([Own()]), "detectors: Own is not built in, .* add it in your program"),
        (LoopDetector([RepeatDetector()], inject_message=str), "inject_message: a function"),
        (LoopDetector([RepeatDetector()], mask=str), "mask: a function"),
        (
            LoopDetector([RepeatDetector()], tools={"look": ToolPolicy(strip=str.lower)}),
            "tools: look: strip: a function",
        ),
    ],
)
def test_code_cannot_be_written_as_json(detector, complaint):
    with pytest.raises(ValueError, match=complaint):
        detector.to_config()


DEFAULTS = {
    "call_limit": {"limit": 7, "per_tool": {}, "per_turn": False},
    "chant": {"repetitions": 6, "length": 400},
    "failure_streak": {"threshold": 4, "in_a_row": 5, "repeats": 0, "patience": 12},
    "monologue": {"threshold": 3},
    "near_repeat": {"threshold": 4, "patience": 4},
    "no_effect": {"threshold": 3},
    "persistent_failure": {"threshold": 5},
    "ping_pong": {
        "cycle_length": 2,
        "repetitions": 3,
        "match": "content",
        "patience": 3,
        "patience_s": None,
        "name": "ping_pong",
    },
    "recurrence": {
        "threshold": 4,
        "patience": 4,
        "patience_s": None,
        "unseen": 4,
        "leave_cycles": False,
    },
    "repeat": {
        "threshold": 3,
        "require_same_result": False,
        "patience": 3,
        "patience_s": None,
        "name": "repeat",
    },
    "repeated_finish": {"threshold": 3},
    "stagnation": {"threshold": 2},
    "stall": {"threshold": 3, "only_fruitless": False, "varied": 3},
    "standstill": {"threshold": 30},
    "unknown_tool": {"threshold": 3},
}


@pytest.mark.parametrize("kind", TYPES)
def test_each_detector_has_its_defaults(kind):
    given = {"limit": 7} if kind == "call_limit" else {}
    made = LoopDetector([TYPES[kind](**given)]).to_config()["detectors"]
    assert made == [{"type": kind, **DEFAULTS[kind]}]
    read = LoopDetector.from_config({"version": 1, "detectors": [{"type": kind, **given}]})
    assert read.to_config()["detectors"] == made


LEAST = {
    "call_limit": {"limit": 1},
    "chant": {"repetitions": 3, "length": 100},
    "failure_streak": {"threshold": 2, "in_a_row": 2, "repeats": 0, "patience": 4},
    "monologue": {"threshold": 2},
    "near_repeat": {"threshold": 2, "patience": 4},
    "no_effect": {"threshold": 2},
    "persistent_failure": {"threshold": 2},
    "ping_pong": {"cycle_length": 2, "repetitions": 2, "patience": 3, "patience_s": 1},
    "recurrence": {"threshold": 2, "patience": 4, "patience_s": 1, "unseen": 4},
    "repeat": {"threshold": 2, "patience": 3, "patience_s": 1},
    "repeated_finish": {"threshold": 2},
    "stagnation": {"threshold": 2},
    "stall": {"threshold": 2, "varied": 3},
    "standstill": {"threshold": 2},
    "unknown_tool": {"threshold": 2},
}
"""By detector: the least of each number, with the others as usual."""


@pytest.mark.parametrize(
    ("kind", "option", "least"),
    [(kind, *option) for kind, options in LEAST.items() for option in options.items()],
)
def test_each_number_of_a_detector_may_be_so_small_and_no_smaller(kind, option, least):
    given = {"limit": 7} if kind == "call_limit" else {}
    made = LoopDetector([TYPES[kind](**{**given, option: least})])
    assert made.to_config()["detectors"][0][option] == least
    with pytest.raises(ValueError, match=f"^{option} must be a whole number, {least} or more, "):
        TYPES[kind](**{**given, option: least - 1})


def test_what_is_not_said_about_a_detector_is_as_usual():
    made = LoopDetector([RepeatDetector()])
    assert made.to_config() == {
        "version": 1,
        "detectors": [{"type": "repeat", **DEFAULTS["repeat"]}],
        "policy": "raise",
        "escalations": {},
        "inject_message": None,
        "window": 50,
        "tools": {},
        "notice_role": "system",
        "mask": "secrets",
        "log_verdicts": False,
        "shadow": False,
    }
    assert made.second_opinion is None
    assert repr(made) == "LoopDetector([repeat], raise)"
    shadow = LoopDetector([RepeatDetector(), PingPongDetector()], Escalation(), shadow=True)
    assert repr(shadow) == "LoopDetector([repeat, ping_pong], notify -> block -> stop, shadow)"


def test_all_that_is_declared_is_written():
    tool = ToolPolicy(
        poll={"action": ("log",)},
        exempt=True,
        mutates=False,
        idempotent=True,
        key=("at",),
        strip=("took",),
        thresholds={"repeat": 9},
    )
    ladder = Escalation(
        ("notify", "stop"), every=2, per_lap=True, resumes=False, max_interventions=5
    )
    own = Escalation(("block",), every=3)
    made = LoopDetector(
        [RepeatDetector()], ladder, escalations={"repeat": own}, tools={"look": tool}
    )
    config = made.to_config()
    assert config["policy"] == {
        "actions": ["notify", "stop"],
        "every": 2,
        "per_lap": True,
        "resumes": False,
        "max_interventions": 5,
    }
    assert config["escalations"] == {
        "repeat": {
            "actions": ["block"],
            "every": 3,
            "per_lap": False,
            "resumes": True,
            "max_interventions": None,
        }
    }
    assert config["tools"] == {
        "look": {
            "poll": {"action": ["log"]},
            "exempt": True,
            "mutates": False,
            "idempotent": True,
            "key": ["at"],
            "strip": ["took"],
            "thresholds": {"repeat": 9},
        }
    }
    read = LoopDetector.from_config(config)
    assert read.to_config() == config
    assert read.policy == ladder
    assert read.escalations == {"repeat": own}


@pytest.mark.parametrize(
    ("detector", "written"),
    [
        (RepeatDetector(3), "RepeatDetector(threshold=3, patience=3)"),
        (RepeatDetector(4, name="x"), "RepeatDetector(threshold=4, patience=4, name='x')"),
        (PingPongDetector(2, 4), "PingPongDetector(cycle_length=2, repetitions=4, patience=4)"),
        (CallLimitDetector(9, per_turn=True), "limit=9, per_tool={}, per_turn=True)"),
    ],
)
def test_a_detector_is_written_with_what_is_not_usual(detector, written):
    assert repr(detector).endswith(written)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (len, "a function cannot be written as JSON"),
        (b"x", "b'x' cannot be written as JSON"),
        ({"a": [1, b"x"]}, "cannot be written as JSON"),
    ],
)
def test_a_value_that_json_cannot_hold_is_named_with_its_place(value, words):
    tools = {"look": ToolPolicy(poll={"page": [value]})}
    with pytest.raises(ValueError, match=f"look.*{words}"):
        LoopDetector([RepeatDetector(3)], tools=tools).to_config()


def test_a_set_is_written_in_one_order():
    tools = {"look": ToolPolicy(poll={"page": [frozenset("cab")]})}
    config = LoopDetector([RepeatDetector(3)], tools=tools).to_config()
    assert config["tools"]["look"]["poll"] == {"page": [["a", "b", "c"]]}


def test_a_name_of_a_tool_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="tools must be a mapping of names, got 7 as a name"):
        LoopDetector([RepeatDetector(3)], tools={7: ToolPolicy()})
