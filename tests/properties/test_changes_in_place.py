"""Whatever a tool, an observer or the caller changes in place, the run stays as without it."""

import asyncio
import contextlib
import copy
import threading
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    LoopDetectedError,
    LoopDetector,
    Message,
    Role,
    ScriptedProvider,
    ToolCall,
    ToolResult,
)
from antiloop._frozen import frozen, thawed
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection import LoopDetection

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["look", "alook", "nothing"]),
    st.fixed_dictionaries({"items": st.sampled_from([[], [1], {"a": []}]) | json_values}),
)
detectors = st.sampled_from([LoopDetector.default, LoopDetector.escalating])
scripts = st.lists(st.lists(calls, min_size=1, max_size=3), min_size=1, max_size=3)


def spoil(thing, depth=12):
    """Change whatever can be changed in a value, and in what it refers to."""
    if isinstance(thing, (str, int, float, type(None))) or depth == 0:
        return
    if isinstance(thing, dict):
        inner = list(thing.values())
        attempt(lambda: thing.update(spoiled=True))
        attempt(lambda: thing.pop(next(iter(thing))))
    elif isinstance(thing, (list, tuple)):
        inner = list(thing)
        attempt(lambda: thing.append("spoiled"))
        attempt(lambda: thing.__setitem__(0, "spoiled"))
    elif is_dataclass(thing):
        inner = [getattr(thing, each.name) for each in fields(thing)]
    else:
        return
    for item in inner:
        spoil(item, depth - 1)


def attempt(change):
    with contextlib.suppress(AttributeError, TypeError, StopIteration):
        change()


def keep(thing):
    """Change nothing."""


class Watcher(AgentObserver):
    def __init__(self, touch):
        for name in dir(AgentObserver):
            if name.startswith("on_") and name != "on_error":
                setattr(self, name, lambda *told: [touch(each) for each in told])


def agent_of(script, touch, detector):
    def look(items):
        touch(items)
        return "No results."

    async def alook(items):
        touch(items)
        return ToolResult("No results.")

    provider = ScriptedProvider([*copy.deepcopy(script) * 4, "Done."])
    watchers = [Watcher(touch), Watcher(keep), Watcher(touch)]
    config = AgentConfig(loop_detector=detector(), observers=watchers, max_iterations=12)
    return Agent([look, alook], provider, config)


def prompt_of(call):
    return [
        Message(Role.USER, "Go"),
        Message(Role.ASSISTANT, "", (copy.deepcopy(call),)),
        Message(Role.TOOL, "No results."),
    ]


async def streamed(agent, prompt, touch):
    last = None
    async for event in agent.astream(prompt):
        last = copy.deepcopy(event)
        touch(event)
        touch(prompt)
    return last.result


def outcome(run):
    """Return all that is recorded of a run, apart from its random id."""
    try:
        result, error = run(), None
    except LoopDetectedError as raised:
        result, error = raised.partial_result, (str(raised), raised.details)
    told = result.detection and (result.detection.message, result.detection.details)
    steps = [step.to_dict() for step in result.trace.steps]
    return (
        result.status,
        result.messages,
        result.tool_calls,
        result.tool_results,
        steps,
        told,
        error,
    )


@given(detector=detectors, script=scripts)
def test_a_run_is_the_same_whoever_changes_what_it_shows(detector, script):
    def run(touch):
        return outcome(lambda: agent_of(script, touch, detector).run(prompt_of(script[0][0])))

    assert run(spoil) == run(keep)


@given(script=scripts)
def test_a_stream_is_the_same_whoever_changes_its_events(script):
    def run(touch):
        agent = agent_of(script, touch, LoopDetector.escalating)
        return outcome(lambda: asyncio.run(streamed(agent, prompt_of(script[0][0]), touch)))

    assert run(spoil) == run(keep)


@given(detector=detectors, arguments=st.lists(json_values, min_size=1, max_size=3))
def test_a_guarded_function_may_change_its_arguments(detector, arguments):
    def verdicts(touch):
        guard = LoopGuard(detector(), observers=[Watcher(touch)])
        guard.run.add_listener(touch)
        found = []

        @guard
        def look(items, *more, **named) -> str:
            touch([items, more, named])
            return "No results."

        for items in copy.deepcopy(arguments) * 8:
            try:
                found.append(look(copy.deepcopy(items), [1], named={"a": []}))
            except LoopDetectedError as error:
                found.append((str(error), copy.deepcopy(error.details)))
            found.append(guard.verdict.action)
        return found

    assert verdicts(spoil) == verdicts(keep)


def test_what_a_model_said_is_shown_as_it_was_said():
    call = ToolCall("look", {"items": [{"a": 1}]})
    result = agent_of([[call]], spoil, LoopDetector.escalating).run("Go")
    assert result.messages[1].tool_calls[0].arguments == {"items": [{"a": 1}]}


@given(json_values)
def test_a_frozen_value_is_equal_to_what_it_was_and_thaws(value):
    held = copy.deepcopy(value)
    kept = frozen(value)
    spoil(kept)
    assert kept == held
    given_back = thawed(kept)
    assert given_back == held
    spoil(value)
    spoil(given_back)
    assert kept == held


def test_what_cannot_be_copied_is_shared():
    lock, inside = threading.Lock(), []
    inside.append(inside)
    assert frozen({"lock": lock})["lock"] is lock
    assert frozen(inside) is inside


@pytest.mark.parametrize("value", [{"a": [1]}, [{"a": 1}]])
def test_a_copy_of_a_frozen_value_can_be_changed(value):
    for made in (copy.copy(frozen(value)), copy.deepcopy(frozen(value)), frozen(value).copy()):
        assert type(made) is type(value)
        assert made == value
    assert type(thawed((frozen(value),))) is tuple


def test_the_details_of_a_detection_cannot_be_changed():
    with pytest.raises(TypeError, match=r"this dict of 1 item is recorded.*copy\.deepcopy"):
        LoopDetection("mine", "stuck", {"a": 1}).details["b"] = 2
    with pytest.raises(TypeError, match="this list of 2 items is recorded"):
        frozen([1, 2]).append(3)
