"""One run of an agent, as it was recorded."""

import json
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from .._checks import check_kind
from .._lazy import lazy_method
from .._short_repr import Shown, counted, quoted, short_repr
from .._text.canonical import plain
from ..formats import TextMessage, rounds_of
from ..loop_detection import ClientProfile, Opinion
from ..prices import Prices
from ..stability import beta, stable
from ..types import ToolCall, ToolResult


@beta
@dataclass(frozen=True, repr=False)
class RunEvent(Shown):
    """One event of a recorded run, beside its calls and results.

    Detectors look only at calls and results. Events help to judge a run as a whole: what it cost,
    what failed, which agent handed over to which. A tool call is also an event if the format
    records more of it, e.g. how long it took. Fields that were not recorded are None.
    """

    type: str
    """``tool_call_completed``, ``llm_call_completed``, ``retry_triggered``, ``state_updated``,
    ``memory_write``, ``handoff_started``, ``user_message``, ``run_failed``, or a recorder's own
    word."""
    step: int = 0
    """The number of calls before it; for a tool call: its index in the run's calls."""
    tool: Optional[str] = None
    """The tool that the event is about."""
    agent: Optional[str] = None
    """The agent that did it."""
    to_agent: Optional[str] = None
    """For a handoff: who goes on."""
    model: Optional[str] = None
    """The model that answered."""
    time_s: Optional[float] = None
    """The time at which it began, in seconds since 1970."""
    latency_ms: Optional[float] = None
    """The time that it took."""
    cost: Optional[float] = None
    """The cost, in the recorder's currency."""
    input_tokens: Optional[int] = None
    """The tokens that the model read."""
    output_tokens: Optional[int] = None
    """The tokens that the model wrote."""
    tokens: Optional[int] = None
    """Both together; also known where the parts are not."""
    error: Optional[str] = None
    """The error; empty text where only that one occurred is known."""
    input: Any = None
    """The input, as JSON; not repeated for tool calls, which have it among the run's calls."""
    output: Any = None
    """The output, as JSON; not repeated for tool calls."""
    cached_tokens: Optional[int] = None
    """The part of the tokens read by the model that came from a cache."""

    @property
    def latency_s(self) -> Optional[float]:
        """Return the time that it took, in seconds."""
        return None if self.latency_ms is None else self.latency_ms / 1000

    def cost_by(self, prices: Prices, model: Optional[str] = None) -> Optional[float]:
        """Return the cost: as recorded, otherwise by the prices; None if neither is known.

        Args:
            prices: the prices of models.
            model: the model of the run, for an event that names none.
        """
        if self.cost is not None:
            return self.cost
        amounts = self.input_tokens, self.output_tokens, self.cached_tokens
        return prices.cost(self.model or model, *amounts)


Client = Union[str, ClientProfile, None]


@stable
@dataclass(frozen=True)
class RecordedRun:
    """One run of an agent: what it called, and what came back."""

    run_id: str
    """The id in the file, or ``name:line`` where the file gives none."""
    calls: Tuple[ToolCall, ...] = ()
    """One for each step, oldest first."""
    results: Tuple[Optional[ToolResult], ...] = ()
    """As long as ``calls``; None where no result is known."""
    turn_starts: Tuple[int, ...] = ()
    """For each user message: how many calls came before it."""
    source: str = ""
    """The place where the run was read, as ``name:line``."""
    events: Tuple[RunEvent, ...] = ()
    """The other events of the run, oldest first; empty where the format tells only calls."""
    agent: Optional[str] = None
    """The agent that ran, or the first of several; None where unknown, as in all that follows."""
    model: Optional[str] = None
    """The model that answered, or the first of several."""
    input_tokens: Optional[int] = None
    """The tokens that the models read, over the whole run."""
    output_tokens: Optional[int] = None
    """The tokens that the models wrote, over the whole run."""
    cost: Optional[float] = None
    """The cost of the run, in the recorder's currency."""
    opinions: Tuple[Tuple[int, Opinion], ...] = ()
    """The opinions of judges while the run went on, each with the step that it was asked at."""
    failed: bool = False
    """Whether the recording says that the run as a whole ended in an error."""
    messages: Tuple[TextMessage, ...] = ()
    """The words of user and model, and its thoughts, oldest first; empty where not known."""
    cached_tokens: Optional[int] = None
    """The part of the tokens read by the models that came from a cache, over the whole run."""

    client: Client = None
    """The `ClientProfile` of the program that ran the agent, or its name; None where unknown."""

    def __repr__(self) -> str:
        steps = counted(len(self.calls), "call")
        return short_repr(self, quoted(self.run_id), steps, quoted(self.source))

    _repr_html_ = lazy_method("report._notebook.pictures", "run_html")

    def __len__(self) -> int:
        return len(self.calls)

    def to_jsonl(self) -> str:
        """Return the run as one line of antiloop's own format, without events and amounts."""
        value: Dict[str, Any] = {"run_id": self.run_id, "steps": list(self._steps())}
        if self.client is not None:
            value["client"] = getattr(self.client, "name", self.client)
        if self.messages:
            value["messages"] = list(map(_message, self.messages))
        if self.opinions:
            opinions = ({"step": step, **each.to_dict()} for step, each in self.opinions)
            value["opinions"] = list(opinions)
        return json.dumps(value) + "\n"

    def _steps(self) -> Iterator[Dict[str, Any]]:
        users = set(self.turn_starts)
        for index, (call, result) in enumerate(zip(self.calls, self.results)):
            yield _step(call, result, is_after_user=index in users)

    def rounds(self) -> Iterator[Tuple[int, int]]:
        """Yield where each round starts and stops, as for a slice of calls and results."""
        return rounds_of(self.calls)

    def priced(self, prices: Optional[Prices]) -> "RecordedRun":
        """Return the run with the costs of its replies, and of the whole if only sums are known.

        A cost that was recorded stays. Replies without a model are those of the run's.

        Args:
            prices: the prices of models; None changes nothing.
        """
        if prices is None:
            return self
        costs = [event.cost_by(prices, self.model) for event in self.events]
        events = tuple(
            event if cost == event.cost else replace(event, cost=cost)
            for event, cost in zip(self.events, costs)
        )
        whole = self.cost
        if whole is None and not any(cost is not None for cost in costs):
            whole = prices.cost(
                self.model, self.input_tokens, self.output_tokens, self.cached_tokens
            )
        return replace(self, events=events, cost=whole)


def check_run(function: str, given: Any) -> None:
    """Raise TypeError for anything but a recorded run."""
    remedy = "read_runs(path) yields them"
    check_kind(f"{function} takes a RecordedRun", given, RecordedRun, remedy)


def _message(message: TextMessage) -> Dict[str, Any]:
    value = {"role": message.role.value, "text": message.text, "position": message.position}
    if message.is_summary:
        value["summary"] = True
    return {**value, "thought": True} if message.is_thought else value


def _step(
    call: ToolCall, result: Optional[ToolResult], *, is_after_user: bool = False
) -> Dict[str, Any]:
    """Return a call and its result, None where it is not known, as plain JSON."""
    step: Dict[str, Any] = {"tool_name": call.tool_name, "arguments": plain(call.arguments)}
    if call.id is not None:
        step["id"] = call.id
    if call.round is not None:
        step["round"] = call.round
    if call.started_at is not None:
        step["started_at"] = call.started_at
    if result is not None:
        step["result"] = result.text
    if result is not None and result.duration_s is not None:
        step["duration_s"] = result.duration_s
    if result is not None and result.is_error:
        step["is_error"] = True
    if is_after_user:
        step["after_user"] = True
    return step
