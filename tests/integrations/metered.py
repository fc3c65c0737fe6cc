"""Runs that get stuck, for tests of metrics."""

from antiloop import Agent, AgentConfig, LoopDetector, RepeatDetector, ScriptedProvider, ToolCall
from antiloop.agent import ModelReply, Usage
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.prices import Price, Prices

CALL = ToolCall("look", {"at": "a"})
PRICES = Prices({"small": Price(input=10, output=20)})


def look(at: str) -> str:
    return "nothing"


def agent_of(*observers, times=6, **options):
    replies = [ModelReply(tool_calls=(CALL,), usage=Usage(90_000, 5_000)) for _ in range(times)]
    detector = LoopDetector([RepeatDetector(3)], Escalation(), **options)
    config = AgentConfig(loop_detector=detector, observers=observers)
    return Agent([look], ScriptedProvider([*replies, "Done."]), config)


def guarded_run(*observers, times=4, **options):
    detector = LoopDetector([RepeatDetector(3)], Escalation(("notify",)), **options)
    guarded = LoopGuard(detector, observers=observers, run_id="r")(look)
    for _ in range(times):
        guarded("a")
