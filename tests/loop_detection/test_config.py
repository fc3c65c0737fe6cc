import json

import pytest

from antiloop import BaseDetector, LoopDetector, LoopPolicy, RepeatDetector, Role
from antiloop.loop_detection import CallLimitDetector, Escalation, ToolPolicy

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
        ({}, "version must be 1, got None"),
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
        ({**WHOLE, "detectors": [{"type": "repeat", "threshold": 1}]}, "must be 2 or more, got 1"),
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
            "escalations: repeat: every must be 1",
        ),
        ({**WHOLE, "tools": {"look": {"color": 1}}}, "tools: look: unknown option 'color'"),
        ({**WHOLE, "tools": []}, "tools: must be an object, got list"),
        ({**WHOLE, "notice_role": "king"}, "notice_role: unknown role 'king'; choose from sy"),
        ({**WHOLE, "mask": "all"}, "mask: unknown mask 'all'; choose from secrets, arguments"),
        ({**WHOLE, "mask": 7}, "mask: unknown mask 7; choose from secrets, arguments"),
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
        (LoopDetector([Own()]), "detectors: Own is not built in"),
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
