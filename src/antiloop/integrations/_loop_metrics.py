"""The counts of loops, whichever system keeps them."""

import logging
from typing import Dict, Mapping, Optional, Set, Tuple
from weakref import WeakSet

from .._latest import Latest
from .._process_lock import ProcessLock
from .._text.masking import safely_shown
from .._waste import Waste
from ..agent import AgentObserver, ModelReply
from ..loop_detection import CaseFile, LoopAction, LoopDetection, LoopVerdict, Opinion
from ..prices import Prices
from ..stability import beta

RUNS = 1_000
"""The number of runs that are remembered: the latest ones."""
TOOLS = 100
"""The number of tools with a separate label value, because a model may invent names without end."""
REMEMBERED = 200
"""The number of calls of a run that are remembered."""
OTHER = "other"
"""The value that stands for all further tools."""
BEGUN = "begun"
OUTCOMES = (BEGUN, *(each.value for each in LoopAction if each is not LoopAction.CONTINUE))
"""The stages of a run: it began, or an action came. A run counts once for each."""
OPINIONS = ("stuck", "not_stuck", "none")
_LOOP = ("detector", "tool", "action", "preset", "shadow")
COUNTERS: Mapping[str, Tuple[str, Tuple[str, ...], str]] = {
    "runs": ("run", ("outcome", "preset"), "Runs that got this far, each once."),
    "rounds": ("round", ("preset",), "Replies with tool calls that were judged."),
    "errors": ("error", ("preset",), "Errors of detectors, judges, listeners and observers."),
    "webhook_dropped": ("loop", ("preset",), "Loops that a webhook could not post."),
    "loops": ("loop", _LOOP, "Loops that were found, once for each action."),
    "wasted_calls": ("call", _LOOP, "Tool calls of loops that brought nothing new."),
    "wasted_tokens": ("token", _LOOP, "Tokens of these calls' replies."),
    "wasted_cost": ("currency", _LOOP, "What these tokens cost."),
    "questions": ("question", ("opinion", "preset"), "Questions to a judge."),
}
"""For each counter: what it counts, its labels, and its help."""
SUSPICIONS = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Bounds of the histogram of the suspicion."""


class ToolLabels:
    """The names of the first tools, and one value for all further ones."""

    def __init__(self) -> None:
        self._known: Dict[str, None] = {}

    def of(self, name: str) -> str:
        """Return the value of the label of a tool."""
        if name not in self._known and len(self._known) >= TOOLS:
            return OTHER
        self._known[name] = None
        return name


class _RunCounts:
    """The counts of one run."""

    def __init__(self) -> None:
        self.waste = Waste(REMEMBERED)
        self.calls = 0
        self.latest = -1
        self.reported: Dict[str, float] = {}
        self.outcomes: Set[str] = set()

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

    A subclass calls `begin` when it can count. It counts each series of few labels from 0 then: of
    a series that begins at 1 a query for the increase does not see the first increment.

    Args:
        preset: the value of the label ``preset``.
        prices: what tokens cost; without it no money is counted.
        model: the model whose price it is.
    """

    def __init__(
        self, preset: str = "", *, prices: Optional[Prices] = None, model: Optional[str] = None
    ) -> None:
        self._preset, self._prices, self._model = preset, prices, model
        self._lock = ProcessLock()
        self._runs: Latest[str, _RunCounts] = Latest(RUNS)
        self._tools = ToolLabels()

    def begin(self) -> None:
        """Make the series that exist from the start, and count errors of detectors and judges."""
        own = {"preset": self._preset}
        for outcome in OUTCOMES:
            self.count("runs", 0, {"outcome": outcome, **own})
        for opinion in OPINIONS:
            self.count("questions", 0, {"opinion": opinion, **own})
        for name in ("rounds", "errors", "webhook_dropped"):
            self.count(name, 0, own)
        _errors.add(self)

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter.

        Args:
            name: ``runs``, ``rounds``, ``loops``, ``wasted_calls``, ``wasted_tokens``,
                ``wasted_cost``, ``questions``, ``errors`` or ``webhook_dropped``.
            amount: 0 or more; 0 only makes the series.
            labels: the values of its labels.
        """
        raise NotImplementedError

    def suspicion(self, value: float, labels: Mapping[str, str]) -> None:
        """Record the suspicion after a round."""
        raise NotImplementedError

    def on_decision_time(self, seconds: float) -> None:
        """Receive how long a decision took."""
        raise NotImplementedError

    def on_user_message(self, run_id: str, text: str) -> None:
        """Count from here on as another run: many adapters give all runs of an agent one id."""
        with self._lock:
            self._run(run_id).outcomes.clear()

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
        own = {"preset": self._preset}
        self.suspicion(verdict.suspicion, own)
        self.count("rounds", 1, own)
        for outcome in self._reached(run_id, verdict):
            self.count("runs", 1, {"outcome": outcome, **own})
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
        answer = "none" if opinion is None else "stuck" if opinion.stuck else "not_stuck"
        self.count("questions", 1, {"opinion": answer, "preset": self._preset})

    def on_webhook_dropped(self) -> None:
        """Count a loop that was not posted: ``Webhook(on_dropped=metrics.on_webhook_dropped)``."""
        self.count("webhook_dropped", 1, {"preset": self._preset})

    def on_logged_error(self) -> None:
        """Count an error of a detector, a judge, a listener or an observer, which was logged."""
        self.count("errors", 1, {"preset": self._preset})

    def _reached(self, run_id: str, verdict: LoopVerdict) -> Set[str]:
        """Return how far the run got with this verdict for the first time."""
        action = verdict.action.value
        with self._lock:
            run = self._run(run_id)
            new = {BEGUN, *([action] if action in OUTCOMES else [])} - run.outcomes
            run.outcomes |= new
        return new

    def _run(self, run_id: str) -> _RunCounts:
        run = self._runs.get(run_id) or _RunCounts()
        self._runs[run_id] = run
        return run

    def _wasted(self, run_id: str, found: LoopDetection) -> Dict[str, float]:
        """Return what was wasted since the last detection in this run."""
        run = self._run(run_id)
        if run.has_begun_again(found):
            run.waste, run.reported = Waste(REMEMBERED), {}
        run.waste.mark(found.indices, found.wasted_calls)
        waste = run.waste
        now: Dict[str, float] = {
            "wasted_calls": waste.calls,
            "wasted_tokens": waste.tokens or 0,
            "wasted_cost": waste.cost or 0.0,
        }
        before, run.reported = run.reported, now
        return {name: amount - before.get(name, 0) for name, amount in now.items()}

    def _labels(self, found: LoopDetection, verdict: LoopVerdict) -> Dict[str, str]:
        tools = {tool for tool, _ in found.calls} or {str(found.details.get("tool", ""))}
        return {
            "detector": found.detector_name,
            "tool": self._tools.of(safely_shown(min(tools), 80)) if len(tools) == 1 else "several",
            "action": verdict.action.value,
            "preset": self._preset,
            "shadow": "true" if verdict.is_shadow else "false",
        }


class _Errors(logging.Handler):
    """Counts errors that the library logs and goes on after; one handler for all metrics.

    It stays where it is: a handler that leaves its logger while a record is handed round makes the
    next one miss that record.
    """

    def __init__(self) -> None:
        super().__init__()
        self._metrics: WeakSet[LoopMetrics] = WeakSet()

    def add(self, metrics: LoopMetrics) -> None:
        """Count for these metrics too, as long as they are there."""
        self.acquire()
        self._metrics.add(metrics)
        self.release()
        _logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        # A verdict is logged as an error, too, and has no exception.
        if record.levelno >= logging.ERROR and record.exc_info:
            for each in list(self._metrics):
                each.on_logged_error()
        # With this handler Python would no longer print what no other handler takes.
        handlers = (*_logger.handlers, *logging.getLogger().handlers)
        last = logging.lastResort
        if all(each is self for each in handlers) and last and record.levelno >= last.level:
            last.handle(record)


_logger = logging.getLogger("antiloop")
_errors = _Errors()
