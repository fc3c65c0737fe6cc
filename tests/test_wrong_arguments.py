"""Whoever passes something that cannot work reads where it was, what it was, and what to do."""

import math
import re

import pytest

from antiloop import AgentConfig, LoopDetector, RepeatDetector, ToolCall
from antiloop.agent.providers import AnthropicProvider, OpenAIProvider
from antiloop.calibration import calibrate, runs_needed, stops_allowed, tally, upper_bound
from antiloop.exceptions import SettingsError
from antiloop.explanation import explain
from antiloop.health import HealthMonitor, HealthProfile, evaluate
from antiloop.integrations import asgi
from antiloop.integrations.functions import LoopGuard
from antiloop.integrations.gateway import judge_request
from antiloop.integrations.webhook import Webhook
from antiloop.loop_detection import ClientProfile, Escalation
from antiloop.prices import Prices
from antiloop.testing import NoLoops, assert_no_loops, loop_score
from antiloop.traces import RecordedRun, read_runs, replay

RUN = RecordedRun("r", (ToolCall("look"),))
DETECTOR = LoopDetector.default()
NO_DETECTORS = {
    "7": 7,
    "[]": [],
    repr(RepeatDetector(3)): RepeatDetector(3),
    "the class LoopDetector": LoopDetector,
}
"""What is no detector of whole runs, by how a message names it."""
TAKES_A_DETECTOR = [
    ("replay takes", lambda given: next(replay(RUN, given))),
    ("explain takes", lambda given: explain(RUN, given)),
    ("calibrate takes", lambda given: calibrate([RUN], given)),
    ("tally takes", lambda given: tally([RUN], given)),
    ("detector must be", lambda given: HealthProfile(detector=given)),
    ("detector must be", LoopGuard),
    ("detector must be", lambda given: judge_request({"messages": []}, "openai_chat", given)),
    ("loop_detector must be", lambda given: AgentConfig(loop_detector=given)),
]


@pytest.mark.parametrize("named", NO_DETECTORS)
@pytest.mark.parametrize(("place", "function"), TAKES_A_DETECTOR)
def test_what_is_no_detector_is_refused_where_it_was_given(place, function, named):
    with pytest.raises(TypeError) as raised:
        function(NO_DETECTORS[named])
    told = f"{place} a LoopDetector, got {named}; pass LoopDetector.default()"
    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "replay": lambda given: next(replay(given, DETECTOR)),
        "explain": lambda given: explain(given, DETECTOR),
        "calibrate": lambda given: calibrate([RUN, given], DETECTOR),
        "tally": lambda given: tally([RUN, given], DETECTOR),
        "evaluate": evaluate,
    }.items(),
)
@pytest.mark.parametrize("given", ["runs.jsonl", [RUN], None, RecordedRun])
def test_what_is_no_run_is_refused_where_it_was_given(name, function, given):
    got = "the class RecordedRun" if given is RecordedRun else repr(given)
    with pytest.raises(TypeError) as raised:
        function(given)
    told = f"{name} takes a RecordedRun, got {got}; read_runs(path) yields them"
    assert str(raised.value) == told


NAMES = {
    "preset": [
        lambda given: assert_no_loops(RUN, given),
        lambda given: loop_score(RUN, given),
        lambda given: NoLoops()(RUN, given),
        lambda given: LoopDetector.from_file(preset=given),
    ],
    "profile": [ClientProfile.named],
    "source": [lambda given: read_runs("docs/examples/runs.jsonl", source=given)],
    "kind": [
        lambda given: judge_request({"messages": []}, given),
        lambda given: asgi.LoopGuard(None, paths={"/chat": given}),
    ],
    "api": [lambda given: OpenAIProvider("gpt-5", api=given, client=object())],
}
"""What takes one of several names, by what the argument is called."""


@pytest.mark.parametrize("given", [[], {}, 7, ["default"], LoopDetector])
@pytest.mark.parametrize(
    ("name", "function"), [(name, each) for name, listed in NAMES.items() for each in listed]
)
def test_a_name_that_is_not_a_text_is_refused_with_the_names_that_there_are(name, function, given):
    told = rf"^{name} must be a text, got {re.escape(repr(given))}; choose from \w+"
    with pytest.raises(TypeError, match=told):
        function(given)
    with pytest.raises(ValueError, match=rf"^unknown {name} 'nope'; choose from \w+"):
        function("nope")


LISTS = [
    ("allow", lambda given: assert_no_loops(RUN, allow=given)),
    ("allow", lambda given: NoLoops()(RUN, allow=given)),
    ("ignore", lambda given: LoopGuard(ignore=given)),
    ("ignore", lambda given: judge_request({"messages": []}, "openai_chat", ignore=given)),
]


@pytest.mark.parametrize(("name", "function"), LISTS)
def test_a_list_of_names_holds_names(name, function):
    function(["look"])
    function(each for each in ["look"])
    with pytest.raises(TypeError, match=rf"^{name} takes a list of tool names, got 7$"):
        function(7)
    with pytest.raises(TypeError, match=rf"^{name} takes a list of tool names, got \['a'\] in it$"):
        function([["a"]])
    with pytest.raises(
        TypeError, match=rf"^{name} takes a list of tool names, not a text: \['a'\]"
    ):
        function("a")


NO_WHOLE_NUMBERS = (-3, 1.5, True, math.nan, "3", None)
NO_TIMES = (-1, True, math.nan, math.inf, "3", [])
NUMBERS = [
    ("runs", NO_WHOLE_NUMBERS, lambda given: stops_allowed(given, 0.1)),
    ("runs", NO_WHOLE_NUMBERS, lambda given: upper_bound(0, given)),
    ("stops", NO_WHOLE_NUMBERS, lambda given: upper_bound(given, 10)),
    ("stops", NO_WHOLE_NUMBERS, lambda given: runs_needed(given, 0.1)),
    ("share", (0, 1, *NO_TIMES), lambda given: stops_allowed(10, given)),
    ("share", (0, 1, *NO_TIMES), lambda given: runs_needed(0, given)),
    ("confidence", (0, 1, *NO_TIMES), lambda given: upper_bound(0, 10, given)),
    (
        "max_raise",
        (1, -1, True, math.nan, "3"),
        lambda given: calibrate([], DETECTOR, max_raise=given),
    ),
    ("timeout_s", (0, None, *NO_TIMES), lambda given: Webhook("https://x", timeout_s=given)),
    ("timeout_s", (None, *NO_TIMES), lambda given: Webhook("https://x").close(given)),
    ("backoff_s", (None, *NO_TIMES), lambda given: Webhook("https://x", backoff_s=given)),
    ("max_tokens", (0, 1.5, True, "3"), lambda given: AnthropicProvider("m", max_tokens=given)),
    (
        "penalty",
        (True, -1, "3"),
        lambda given: HealthProfile().with_rule("no_progress", penalty=given),
    ),
    (
        "threshold",
        (True, 0, 2.5),
        lambda given: HealthProfile().with_rule("no_progress", threshold=given),
    ),
    ("recovery", (True, -1, "3"), lambda given: HealthProfile(recovery=given)),
]


@pytest.mark.parametrize(
    ("name", "value", "function"),
    [(name, value, function) for name, values, function in NUMBERS for value in values],
)
def test_a_number_that_cannot_be_meant_is_refused(name, value, function):
    with pytest.raises(ValueError, match=rf"^{name} must be .*, got {re.escape(repr(value))}"):
        function(value)


def test_the_smallest_numbers_that_can_be_meant_are_taken():
    assert stops_allowed(0, 0.1) == -1
    assert upper_bound(0, 0) == 1
    assert Webhook("https://x", backoff_s=0, timeout_s=0.001).close(0)


MISTAKES = {
    "the fields of a profile in a list": (
        lambda: ClientProfile.from_dict("mine", ["look"]),
        SettingsError("profiles.mine: must be an object of fields, got ['look']"),
    ),
    "more stops than runs": (
        lambda: upper_bound(3, 2),
        ValueError("stops must be from 0 to the number of runs, got 3 of 2"),
    ),
    "a URL that is not a text": (
        lambda: Webhook(b"https://secret@x"),
        TypeError("url must be a text, got bytes"),
    ),
    "a template in a list": (
        lambda: Webhook("https://x", ["slack"]),
        TypeError(
            "template must be a text, got ['slack']; choose from json, slack, or pass a function"
        ),
    ),
    "headers in a list": (
        lambda: Webhook("https://x", headers=["Authorization: secret"]),
        TypeError("headers must be a mapping of names, got list"),
    ),
    "an answer to what is dropped": (
        lambda: Webhook("https://x", on_dropped=1),
        TypeError("on_dropped must be a function or None, got 1"),
    ),
    **{
        f"{given!r} as actions of a webhook": (
            lambda given=given: Webhook("https://x", actions=given),
            expected,
        )
        for given, expected in (
            ([], ValueError("actions must name at least one action, got none")),
            (7, TypeError("actions must be a list of actions, got 7")),
            ({"stop": 1}, TypeError("actions must be a list of actions, got {'stop': 1}")),
            (
                ("continue",),
                ValueError(
                    "unknown action 'continue'; choose from notify, block, conclude, stop, raise"
                ),
            ),
        )
    },
    **{
        f"{given!r} as a ladder": (lambda given=given: Escalation(given), TypeError(told))
        for given, told in (
            ({"stop"}, "actions must be a list: a set has no order, got {'stop'}"),
            (
                frozenset(["stop"]),
                "actions must be a list: a set has no order, got frozenset({'stop'})",
            ),
            ({"stop": 1}, "actions must be a list of actions, got {'stop': 1}"),
        )
    },
    "the price of a list": (
        lambda: Prices().price([]),
        TypeError("price takes the name of a model, got []; None stands for an unknown one"),
    ),
    "paths in a list": (
        lambda: asgi.LoopGuard(None, paths=["/chat"]),
        TypeError("paths must be a mapping, got ['/chat']; pass {path: kind}"),
    ),
    "a header that is not a text": (
        lambda: asgi.LoopGuard(None, session_header=7),
        TypeError("session_header must be a text, got 7"),
    ),
    "a step in a list": (
        lambda: explain(RUN, DETECTOR, [1]),
        TypeError("step must be a whole number or None, got [1]; steps are counted from 0"),
    ),
    "declarations in a list": (
        lambda: calibrate([RUN], DETECTOR, policies=[7]),
        TypeError("policies must be a mapping, got [7]; pass {name: ToolPolicy(...)}"),
    ),
    "a profile": (
        lambda: HealthMonitor([]),
        TypeError("profile must be a HealthProfile or None, got []; pass HealthProfile(...)"),
    ),
    "a profile of a run": (
        lambda: evaluate(RUN, profile={}),
        TypeError("profile must be a HealthProfile or None, got {}; pass HealthProfile(...)"),
    ),
    "rules": (
        lambda: HealthProfile(rules={}),
        TypeError(
            "rules must be a tuple of HealthRule, got {};"
            " change those of RULES with with_rule and without"
        ),
    ),
    "a rule": (
        lambda: HealthProfile(rules=["loop"]),
        TypeError(
            "rules[0] must be a HealthRule, got 'loop';"
            " change those of RULES with with_rule and without"
        ),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_in_full(name):
    make, expected = MISTAKES[name]
    with pytest.raises(type(expected)) as raised:
        make()
    assert type(raised.value) is type(expected)
    assert str(raised.value) == str(expected)
