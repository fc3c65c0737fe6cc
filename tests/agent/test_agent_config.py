import pytest

from antiloop import Agent, AgentConfig, AgentObserver, LoopDetector, ScriptedProvider


def test_the_defaults_detect_no_loops_and_run_calls_in_parallel():
    config = AgentConfig()
    assert config.loop_detector is None
    assert config.parallel_tool_execution is True
    assert config.tool_timeout_s is None
    assert config.system_prompt is None
    assert config.observers == ()


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3"])
def test_iterations_below_one_are_refused_with_the_number(value):
    with pytest.raises(
        ValueError, match=f"max_iterations must be a whole number, 1 or more, got {value!r}"
    ):
        AgentConfig(max_iterations=value)


@pytest.mark.parametrize("value", [-1, True, 0.5])
def test_negative_retries_are_refused_with_the_number(value):
    with pytest.raises(
        ValueError, match=f"max_structured_retries must be a whole number, 0 or more, got {value}"
    ):
        AgentConfig(max_structured_retries=value)


@pytest.mark.parametrize("value", [0, -2.0, float("nan"), float("inf"), True, "5"])
def test_a_timeout_that_is_no_time_is_refused_with_the_number(value):
    with pytest.raises(ValueError, match=f"tool_timeout_s must be .*above 0.* got {value!r}"):
        AgentConfig(tool_timeout_s=value)


def test_the_smallest_settings_are_accepted():
    config = AgentConfig(max_iterations=1, max_structured_retries=0, tool_timeout_s=0.001)
    assert config.max_iterations == 1


@pytest.mark.parametrize("value", [True, LoopDetector, "default"])
def test_what_is_no_loop_detector_is_refused(value):
    with pytest.raises(TypeError, match=r"loop_detector must be a LoopDetector, got .*; pass"):
        AgentConfig(loop_detector=value)


def test_later_changes_of_the_list_of_observers_change_nothing():
    observers = [AgentObserver()]
    config = AgentConfig(observers=observers)
    observers.clear()
    assert len(config.observers) == 1


def test_an_agent_needs_no_config():
    assert Agent([], ScriptedProvider(["Hi"])).run("Hello").text == "Hi"
