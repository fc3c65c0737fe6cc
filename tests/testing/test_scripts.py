import pytest

from antiloop import Agent, AgentConfig, LoopDetector, RunStatus
from antiloop.loop_detection import (
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
)
from antiloop.testing import (
    ScriptedProvider,
    ToolCall,
    ping_pong_script,
    repeating_script,
    stall_script,
)


def look(at: str = "") -> str:
    return "nothing new"


def run(script, detector=None):
    found = detector and LoopDetector([detector], LoopPolicy.STOP)
    return Agent([look], ScriptedProvider(script), AgentConfig(loop_detector=found)).run("Go")


A, B = ToolCall("look", {"at": "a"}), ToolCall("look", {"at": "b"})
SCRIPTS = [
    (repeating_script(A, times=5), RepeatDetector(3)),
    (ping_pong_script(A, B, times=3), PingPongDetector(2, 3)),
    (stall_script("look", "at", times=5), StallDetector(3)),
]


@pytest.mark.parametrize(("script", "detector"), SCRIPTS)
def test_each_looping_run_is_found_by_its_detector(script, detector):
    assert run(script, detector).detection.detector_name == detector.name


@pytest.mark.parametrize(("script", "detector"), SCRIPTS)
def test_each_looping_run_ends_with_an_answer_where_nobody_looks(script, detector):
    result = run(script)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Done.")
