"""What is counted of loops, whichever system keeps the counts."""

from threading import Lock
from typing import Dict, Mapping, Optional

from ...agent import AgentObserver
from ...agent.providers.protocol import ModelReply
from ...latest import Latest
from ...loop_detection import CaseFile, LoopAction, LoopDetection, LoopVerdict, Opinion
from ...loop_detection.detection import named_calls
from ...loop_detection.text.shortening import visible
from ...prices import Prices
from ...stability import beta
from ...waste import Waste

RUNS = 1_000
"""How many runs are remembered; those heard of last."""
TOOLS = 100
"""How many tools get a separate label value, because a model may invent names without end."""
REMEMBERED = 200
"""How many calls of a run are remembered."""
OTHER = "other"
"""The value that stands for all further tools."""


class _Run:
    """What is known of one run."""

    def __init__(self) -> None:
        self.waste = Waste(REMEMBERED)
        self.calls = 0
        self.latest = -1
        self.reported: Dict[str, float] = {}

    def has_begun_again(self, found: LoopDetection) -> bool:
        """Whether calls are counted from 0 again: for a new turn, or another run of this id.

        A detection is about the latest round. An agent whose replies are known has an id for
        each run, and counts through.
        """
        latest, self.latest = self.latest, max(found.indices, default=self.latest)
        return bool(found.indices) and not self.calls and self.latest <= latest


@beta
class LoopMetrics(AgentObserver):
    """An observer that counts; a subclass says where.

    Args:
        preset: the value of the label ``preset``.
        prices: what tokens cost; without it no money is counted.
        model: the model whose price it is.
    """

    def __init__(
        self, preset: str = "", *, prices: Optional[Prices] = None, model: Optional[str] = None
    ) -> None:
        self._preset, self._prices, self._model = preset, prices, model
        self._lock = Lock()
        self._runs: Latest[str, _Run] = Latest(RUNS)
        self._tools: Dict[str, None] = {}

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter: loops, wasted_calls, wasted_tokens, wasted_cost or questions."""
        raise NotImplementedError

    def gauge(self, suspicion: float, labels: Mapping[str, str]) -> None:
        """Set the suspicion."""
        raise NotImplementedError

    def on_decision_time(self, seconds: float) -> None:
        """Receive how long a decision took."""
        raise NotImplementedError

    def on_model_end(self, run_id: str, reply: ModelReply) -> None:
        """Note what a reply took, for the first call that it asks for."""
        usage = reply.usage
        tokens = usage.input_tokens + usage.output_tokens
        cost = None
        if self._prices is not None:
            cost = self._prices.cost(self._model, usage.input_tokens, usage.output_tokens)
        with self._lock:
            run = self._run(run_id)
            if tokens:
                run.waste.add(run.calls, tokens, cost)
            run.calls += len(reply.tool_calls)

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Count a loop, and note how suspicious the run looks."""
        self.gauge(verdict.suspicion, {"preset": self._preset})
        found = verdict.detection
        if found is None or verdict.action is LoopAction.CONTINUE:
            return
        with self._lock:
            labels = self._labels(found, verdict)
            wasted = self._wasted(run_id, found)
        self.count("loops", 1, labels)
        for name, amount in wasted.items():
            if amount > 0:
                self.count(name, amount, labels)

    def on_second_opinion(self, run_id: str, case: CaseFile, opinion: Optional[Opinion]) -> None:
        """Count a question to a judge."""
        said = "none" if opinion is None else "stuck" if opinion.stuck else "not_stuck"
        self.count("questions", 1, {"opinion": said, "preset": self._preset})

    def _run(self, run_id: str) -> _Run:
        run = self._runs.get(run_id) or _Run()
        self._runs[run_id] = run
        return run

    def _wasted(self, run_id: str, found: LoopDetection) -> Dict[str, float]:
        """Return what was wasted since the last detection in this run."""
        run = self._run(run_id)
        if run.has_begun_again(found):
            run.waste, run.reported = Waste(REMEMBERED), {}
        run.waste.mark(found.indices[len(found.indices) - found.wasted_calls :])
        waste = run.waste
        now: Dict[str, float] = {
            "wasted_calls": waste.calls,
            "wasted_tokens": waste.tokens or 0,
            "wasted_cost": waste.cost or 0.0,
        }
        before, run.reported = run.reported, now
        return {name: amount - before.get(name, 0) for name, amount in now.items()}

    def _labels(self, found: LoopDetection, verdict: LoopVerdict) -> Dict[str, str]:
        tools = {tool for tool, _ in named_calls(found.details)} or {
            str(found.details.get("tool", ""))
        }
        return {
            "detector": found.detector_name,
            "tool": self._tool(visible(min(tools), 80)) if len(tools) == 1 else "several",
            "action": verdict.action.value,
            "preset": self._preset,
            "shadow": "true" if verdict.is_shadow else "false",
        }

    def _tool(self, name: str) -> str:
        if name not in self._tools and len(self._tools) >= TOOLS:
            return OTHER
        self._tools[name] = None
        return name
