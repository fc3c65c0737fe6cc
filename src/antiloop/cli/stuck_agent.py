"""The agent of the demo, and the observer that writes down what it does."""

# ruff: noqa: ARG002 - an observer is told more than is written here

from typing import Any, List, Mapping

from ..agent import (
    Agent,
    AgentConfig,
    AgentObserver,
    AgentResult,
    ModelRequest,
    ScriptedProvider,
)
from ..loop_detection import Escalation, LoopDetector, RepeatDetector
from ..types import Role, ToolCall, ToolResult


def stuck_agent(timeline: "Timeline") -> Agent:
    """Make an agent that is told and does not listen; many models do not."""
    script = [ToolCall("list_files"), *[ToolCall("search", {"query": "return period"})] * 9]
    detector = LoopDetector([RepeatDetector(3)], policy=Escalation(("notify", "stop")))
    config = AgentConfig(loop_detector=detector, observers=[timeline])
    return Agent([list_files, search], ScriptedProvider(script), config)


def list_files() -> str:
    """List the files that there are."""
    return "faq.md, returns.md"


def search(query: str) -> str:  # noqa: ARG001 - nothing is ever found
    """Search the files for words."""
    return "No results."


class Timeline(AgentObserver):
    """Write down each call, each finding and what is done about it.

    An observer that fails is logged and the run goes on, so it is no place to print from.
    """

    def __init__(self) -> None:
        self.lines: List[str] = []

    def on_model_start(self, run_id: str, request: ModelRequest) -> None:
        """Note what the model is told."""
        last = request.messages[-1]
        if last.role is Role.SYSTEM:
            told = (f"     | {line}" for line in last.content.splitlines())
            self.lines += ["     The model is told:", *told]

    def on_tool_end(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """Note a call and what came back."""
        arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        self.lines.append(f"{call.round:>3}  {call.tool_name}({shown}) -> {result.text}")

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Note that the agent is stuck."""
        self.lines.append(f"     The agent is stuck, says the detector {detector_name!r}.")

    def on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Note how it ended."""
        why = result.detection.message if result.detection else result.text
        self.lines.append(f"     The run ends, {result.status.value}: {why}")
