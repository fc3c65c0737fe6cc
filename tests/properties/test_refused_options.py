"""What cannot be meant is refused where it is given, and the message names the option."""

import inspect
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiloop
from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    LoopDetector,
    PingPongDetector,
    RepeatDetector,
    ScriptedProvider,
    StallDetector,
    ToolCall,
    agent,
    health,
    loop_detection,
    presets,
    testing,
    tool,
    traces,
)
from antiloop.agent import ModelReply
from antiloop.agent.providers import AnthropicProvider
from antiloop.integrations import gateway
from antiloop.integrations._guard import Guard
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection import (
    BaseDetector,
    CallLimitDetector,
    Escalation,
    RecurrenceDetector,
    SecondOpinion,
    ToolPolicy,
)
from antiloop.loop_detection._registry import DETECTORS
from antiloop.traces import RecordedRun

DETECTOR = LoopDetector.default()
OPTIONS = {
    (AgentConfig, "parallel_tool_execution"): (),
    (AnthropicProvider, "native_schema"): ("model",),
    (CallLimitDetector, "per_turn"): (1,),
    (Escalation, "per_lap"): (),
    (Escalation, "resumes"): (),
    (Guard, "across_turns"): (),
    (LoopDetector, "log_verdicts"): ([RepeatDetector()],),
    (LoopDetector, "shadow"): ([RepeatDetector()],),
    **{(DETECTOR.monitor, flag): () for flag in ("live", "logs", "can_ask")},
    (LoopDetector.default, "shadow"): (),
    (LoopDetector.escalating, "shadow"): (),
    (RecurrenceDetector, "leave_cycles"): (),
    (RepeatDetector, "require_same_result"): (),
    (ScriptedProvider, "repeat_last"): (["Hello!"],),
    (SecondOpinion, "confirm"): (print,),
    (StallDetector, "only_fruitless"): (),
    (ToolPolicy, "exempt"): (),
    (health.HealthProfile, "needs_evidence"): (),
    (health.HealthRule, "can_end"): ("loop", 1.0, 2, "", "", ""),
    (gateway.GatewayGuard, "across_turns"): (),
    (gateway.judge_request, "across_turns"): ({"messages": []}, "openai_chat"),
    (health.evaluate, "literal"): (RecordedRun("r", (ToolCall("look"),)),),
    (presets.budgeted, "shadow"): (),
    (presets.cycles, "shadow"): (),
    (presets.literal, "shadow"): (),
    (presets.patient, "shadow"): (),
}
"""What takes a flag, the flag, and the arguments that it cannot do without."""

VALUES = {
    *("CaseCall", "CaseRound", "HealthWarning", "JudgedCall", "LoopDetection", "LoopVerdict"),
    *("Message", "ModelRequest", "Opinion", "RecordedRun", "ToolResult"),
}
"""What a run, a model or a recording makes: their flags are not options."""
MADE_BY = {f"LoopMonitor {flag}": f"monitor {flag}" for flag in ("live", "logs", "can_ask")}

NO_FLAGS = st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.lists(st.booleans()))
NO_TEXTS = st.one_of(st.integers(), st.binary(), st.booleans(), st.lists(st.text()))
BLANK = st.text(" \t\n\u2003")
"""Texts that no one could read."""


def look():
    return "No results."


def flags_of(thing):
    if inspect.isclass(thing) and issubclass(thing, (Exception, dict)):
        return []
    parameters = inspect.signature(thing).parameters.values()
    return [each.name for each in parameters if each.annotation in (bool, "bool")]


def test_no_flag_is_left_out():
    packages = (antiloop, agent, health, loop_detection, presets, testing, traces)
    public = [vars(each).get("__all__", dir(each)) for each in packages]
    things = [getattr(each, name) for each, names in zip(packages, public) for name in names]
    flags = {
        f"{thing.__name__} {flag}"
        for thing in things
        if inspect.isfunction(thing) or inspect.isclass(thing)
        if thing.__name__ not in VALUES
        for flag in flags_of(thing)
    }
    assert {MADE_BY.get(flag, flag) for flag in flags} <= {
        f"{thing.__name__} {flag}" for thing, flag in OPTIONS
    }


@pytest.mark.parametrize(("option", "arguments"), OPTIONS.items(), ids=lambda each: str(each[-1:]))
@given(NO_FLAGS)
def test_a_flag_is_true_or_false(option, arguments, value):
    thing, flag = option
    with pytest.raises(TypeError, match=f"^{flag} must be True or False, got "):
        thing(*arguments, **{flag: value})


NUMBERS = {
    Escalation: ("every", "max_interventions"),
    SecondOpinion: ("suspicion", "gap", "limit", "timeout", "confidence"),
}


@pytest.mark.parametrize("value", [True, False, math.nan, -1, "2"])
@pytest.mark.parametrize(
    ("thing", "option"), [(thing, each) for thing, listed in NUMBERS.items() for each in listed]
)
def test_a_number_is_none_of_these(thing, option, value):
    first = (print,) if thing is SecondOpinion else ()
    with pytest.raises((TypeError, ValueError), match=f"^{option} must be "):
        thing(*first, **{option: value})


@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_taken(value):
    for (thing, flag), arguments in OPTIONS.items():
        if thing is not AnthropicProvider:  # its SDK may be missing
            thing(*arguments, **{flag: value})


NAMED = st.sampled_from([RepeatDetector, PingPongDetector])


@given(NAMED, st.one_of(st.none(), NO_TEXTS))
def test_the_name_of_a_detector_is_a_text(kind, name):
    with pytest.raises(TypeError, match=r"^name must be a text, got "):
        kind(name=name)


@given(st.one_of(NAMED, st.just(tool)), BLANK)
def test_a_name_is_not_blank(kind, name):
    named = kind if isinstance(kind, type) else lambda name: tool(look, name=name)
    with pytest.raises(ValueError, match=r"^name must not be blank, got "):
        named(name=name)


@given(NO_TEXTS)
def test_the_name_and_the_description_of_a_tool_are_texts(value):
    with pytest.raises(TypeError, match=r"^name must be a text, got "):
        tool(look, name=value)
    with pytest.raises(TypeError, match=r"^description must be a text or None, got "):
        tool(look, description=value)


def test_a_lambda_needs_a_name():
    with pytest.raises(TypeError, match=r"lambda.* has no name; give one with tool\(name=\.\.\.\)"):
        Agent([lambda: "No results."], ScriptedProvider(["Hello!"]))
    assert tool(lambda: "No results.", name="search").name == "search"


NO_OBSERVERS = st.one_of(st.just(print), st.none(), NO_TEXTS, st.dictionaries(st.text(), st.none()))


@given(st.integers(0, 3), NO_OBSERVERS)
def test_what_hears_nothing_is_not_an_observer(before, value):
    observers = [*[AgentObserver()] * before, value]
    with pytest.raises(TypeError, match=rf"^observers\[{before}\] must be an AgentObserver, got "):
        AgentConfig(observers=observers)
    with pytest.raises(TypeError, match=rf"^observers\[{before}\] must be an AgentObserver, got "):
        LoopGuard(observers=observers)


@pytest.mark.parametrize("method", ["on_verdict", "on_tool_loop_detected", "on_decision_time"])
def test_an_observer_needs_the_methods_only_that_it_uses(method):
    observer = type("Hears", (), {method: lambda *_: None})()
    assert AgentConfig(observers=[observer]).observers == (observer,)
    assert LoopGuard(observers=[observer]).observers == (observer,)


NO_LISTS = st.one_of(
    st.none(),
    st.integers(),
    st.builds(ToolCall, st.just("look")),
    st.just({"Hello!": 1}),
    st.text(),
)


@given(NO_LISTS)
def test_a_script_is_a_list(value):
    with pytest.raises(TypeError, match=r"^replies must be a list of replies, got "):
        ScriptedProvider(value)


@given(st.one_of(NO_TEXTS, st.just({})), st.booleans())
def test_what_is_said_is_a_text(value, enabled):
    monitor = LoopDetector.escalating().monitor()
    monitor.enabled = enabled
    for method in ("said", "saying"):
        with pytest.raises(TypeError, match=rf"^{method} takes a text or None, got "):
            getattr(monitor, method)(value)


@given(NO_TEXTS, st.sampled_from([LoopDetector.default(), LoopDetector.escalating()]))
def test_what_a_provider_says_that_is_not_a_text_ends_no_run(value, detector):
    provider = ScriptedProvider([ModelReply(value, (ToolCall("look"),)), "Done."])
    assert Agent([], provider, AgentConfig(loop_detector=detector)).run("Go").text == "Done."


@given(st.sampled_from([bytes, bytearray, memoryview]), st.binary())
def test_bytes_are_not_a_list_of_results(kind, value):
    monitor = LoopDetector.default().monitor()
    with pytest.raises(TypeError, match=r"^after takes a list of results, got .*; pass \[result\]"):
        monitor.after([ToolCall("look")], kind(value))
    with pytest.raises(TypeError, match=r"^after takes a list of calls, got "):
        monitor.after(kind(value), [])


@given(st.one_of(NO_TEXTS, st.none(), st.binary()))
def test_a_result_in_the_list_may_be_anything(value):
    monitor = LoopDetector.default().monitor()
    for _ in range(2):
        monitor.after([ToolCall("look")], [value])
    assert monitor.call_count == 2


BY_NAME = {
    "call_limit": CallLimitDetector(5),
    **{each.name: each for each in LoopDetector.escalating().detectors},
}
NAMES = {each.name for each in LoopDetector.escalating().detectors}


@given(st.text(min_size=1).filter(lambda name: name not in NAMES | {"stall", "call_limit"}))
def test_a_threshold_of_a_run_names_a_detector_that_exists(name):
    declared = {"thresholds": {name: 5}}
    config = AgentConfig(loop_detector=LoopDetector.default())
    told = rf"^tools: look: no detector {re.escape(repr(name))}; there are repeat, stall, ping_pong"
    with pytest.raises(ValueError, match=told):
        LoopDetector.default().monitor({"look": ToolPolicy(**declared)})
    with pytest.raises(ValueError, match=told):
        Agent([tool(look, name="look", **declared)], ScriptedProvider(["Hello!"]), config)


@given(st.sampled_from(sorted(NAMES - {"chant", "monologue"})))
def test_a_tool_may_serve_several_detectors(name):
    policy = ToolPolicy(thresholds={name: 5})
    assert LoopDetector.default().monitor({"look": policy}).call_count == 0
    mine = LoopDetector([RepeatDetector(name="mine")])
    assert mine.monitor({"look": ToolPolicy(thresholds={"mine": 5})}).call_count == 0


class Own(BaseDetector):
    name = "own"

    def check(self, tool_calls, tool_results):
        return None


@given(
    st.sampled_from([*(BY_NAME[each] for each in ("chant", "monologue", "call_limit")), Own()]),
    st.integers(2, 50),
    st.booleans(),
)
def test_a_threshold_of_a_tool_is_refused_where_nobody_looks_at_it(detector, threshold, is_first):
    tools = {"look": ToolPolicy(thresholds={detector.name: threshold})}
    told = rf"^tools: look: {detector.name} has no thresholds of tools"
    with pytest.raises(ValueError, match=told):
        LoopDetector([detector], tools=tools)
    if detector.name in DETECTORS:
        listed = [detector] if is_first else [RepeatDetector()]
        with pytest.raises(ValueError, match=told):
            LoopDetector(listed).monitor(tools)


LEAST_CALLS = {"ping_pong": 2}
"""By detector: the calls that a threshold of 1 stands for at least; 1 of all others."""


@given(
    st.sampled_from(sorted(NAMES - {"chant", "monologue"})),
    st.integers(40, 60),
    st.integers(0, 9),
    st.booleans(),
)
def test_a_threshold_of_a_tool_fits_into_the_window(name, room, missing, of_run):
    needed = room * LEAST_CALLS.get(name, 1)
    tools = {"look": ToolPolicy(thresholds={name: room})}

    def make(window):
        own = {"tools": tools} if not of_run else {}
        return LoopDetector.escalating(window=window, **own).monitor(tools if of_run else None)

    assert make(needed + missing).call_count == 0
    if needed - 1 - missing >= 36:  # what the preset needs by itself
        told = rf"^tools: look: threshold {room} of {name} is more .*; set window={needed} or more$"
        with pytest.raises(ValueError, match=told):
            make(needed - 1 - missing)


@given(st.one_of(st.none(), st.integers(), st.binary(), st.booleans()))
def test_a_budget_is_of_a_tool_with_a_name(name):
    told = rf"^per_tool must be a mapping of names, got {re.escape(repr(name))} as a name$"
    with pytest.raises(TypeError, match=told):
        CallLimitDetector(5, per_tool={"look": 3, name: 1})
