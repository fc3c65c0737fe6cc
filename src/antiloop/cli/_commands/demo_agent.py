"""The agent of the demo, and the observer that writes down what it does."""

# ruff: noqa: ARG002 - an observer receives more than this one writes down

from typing import Any, List, Mapping

from ...agent import Agent, AgentConfig, AgentObserver, AgentResult, ModelRequest, ScriptedProvider
from ...loop_detection import Escalation, LoopDetector, RepeatDetector
from ...types import Role, ToolCall, ToolResult


def stuck_agent(timeline: "DemoTimeline") -> Agent:
    """Make an agent that ignores the notice, as many models do."""
    script = [ToolCall("list_files"), *[ToolCall("search", {"query": "return period"})] * 9]
    detector = LoopDetector([RepeatDetector(3)], policy=Escalation(("notify", "stop")))
    config = AgentConfig(loop_detector=detector, observers=[timeline])
    return Agent([list_files, search], ScriptedProvider(script), config)


def list_files() -> str:
    """List all files."""
    return "faq.md, returns.md"


def search(query: str) -> str:  # noqa: ARG001 - nothing is ever found
    """Search the files for words."""
    return "No results."


class DemoTimeline(AgentObserver):
    """Write down each call, each finding and what is done about it.

    It does not print: errors in an observer are logged, so a closed pipe would go unnoticed.
    """

    def __init__(self) -> None:
        self.lines: List[str] = []

    def on_model_start(self, run_id: str, request: ModelRequest) -> None:
        """Note what the model reads."""
        last = request.messages[-1]
        if last.role is Role.SYSTEM:
            quoted = (f"     | {line}" for line in last.content.splitlines())
            self.lines += ["     The model reads:", *quoted]

    def on_tool_end(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """Note a call and what came back."""
        arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        self.lines.append(f"{call.round:>3}  {call.tool_name}({shown}) -> {result.text}")

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Note that the agent is stuck."""
        self.lines.append(f"     The detector {detector_name!r} finds that the agent is stuck.")

    def on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Note how it ended."""
        why = result.detection.summary if result.detection else result.text
        self.lines.append(f"     The run ends with status {result.status.value}: {why}")
