"""The record of one run: what the agent did, step by step, as plain data."""

import json
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Dict, List, Mapping, Tuple

from .short_repr import counted, quoted, short_repr
from .stability import beta

_DEPTH = 40
_SCALARS = (str, int, float, bool, type(None))


@beta
class StepType(str, Enum):
    """What kind of thing happened."""

    RUN_START = "run_start"
    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    GRAPH_LOOP_DETECTED = "graph_loop_detected"
    """A loop other than a stall; ``data`` holds its details and the action taken."""
    GRAPH_STALL = "graph_stall"
    """A stall: calls that differ while what comes back stays the same."""
    NOTICE_INJECTED = "notice_injected"
    """The model was told about a loop."""
    STRUCTURED_RETRY = "structured_retry"
    """The final answer did not fit the response format and was asked for again."""
    ERROR = "error"
    RUN_END = "run_end"


@beta
@dataclass(frozen=True)
class TraceStep:
    """One thing that happened."""

    type: StepType
    summary: str = ""
    """What happened, for a person."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What happened, as plain JSON; values of other types are turned into it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", to_plain(self.data))

    def __repr__(self) -> str:
        return short_repr(self, self.type.value, quoted(self.summary))

    def to_dict(self) -> Dict[str, Any]:
        """Give the step as plain JSON data."""
        return {"type": self.type.value, "summary": self.summary, "data": dict(self.data)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TraceStep":
        """Read what `to_dict` wrote.

        Raises:
            ValueError: if it is something else; the message says what.
        """
        _expect(data, Mapping, "a trace step", "an object")
        _expect(data.get("summary", ""), str, "the summary of a trace step", "a string")
        _expect(data.get("data", {}), Mapping, "the data of a trace step", "an object")
        return cls(_step_type(data.get("type")), data.get("summary", ""), data.get("data", {}))


@beta
@dataclass(frozen=True)
class AgentTrace:
    r"""What a run did, oldest step first.

    >>> step = TraceStep(StepType.TOOL_CALL, data={"tool_name": "get", "result": "404"})
    >>> AgentTrace("r1", (step,)).to_jsonl()
    '{"run_id": "r1", "steps": [{"tool_name": "get", "result": "404"}]}\n'
    """

    run_id: str
    steps: Tuple[TraceStep, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.run_id), counted(len(self.steps), "step"))

    def of_type(self, *types: StepType) -> List[TraceStep]:
        """Give the steps of these types, in order."""
        return [step for step in self.steps if step.type in types]

    def to_dict(self) -> Dict[str, Any]:
        """Give the trace as plain JSON data."""
        return {"run_id": self.run_id, "steps": [step.to_dict() for step in self.steps]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AgentTrace":
        """Read what `to_dict` wrote.

        Raises:
            ValueError: if it is something else; the message says what.
        """
        _expect(data, Mapping, "a trace", "an object")
        _expect(data.get("run_id"), str, "the run_id of a trace", "a string")
        _expect(data.get("steps"), (list, tuple), "the steps of a trace", "a list")
        return cls(data["run_id"], tuple(TraceStep.from_dict(step) for step in data["steps"]))

    def to_jsonl(self) -> str:
        """Give the run's tool calls as one line of JSON, newline included.

        This is the format that recorded runs are read from, one run a line.
        """
        calls = [step.data for step in self.of_type(StepType.TOOL_CALL)]
        return json.dumps({"run_id": self.run_id, "steps": calls}) + "\n"


@beta
def to_plain(value: Any, depth: int = _DEPTH) -> Any:
    """Turn any value into plain JSON data; what JSON does not know becomes its text."""
    if isinstance(value, Enum):
        return to_plain(value.value, depth - 1)
    if isinstance(value, _SCALARS):
        return value
    if depth <= 0:
        return "..."
    if isinstance(value, Mapping):
        return {_key(key): to_plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item, depth - 1) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name), depth - 1) for f in fields(value)}
    return str(value)


def _key(key: Any) -> str:
    return key if type(key) is str else str(to_plain(key))


def _step_type(value: Any) -> StepType:
    try:
        return StepType(value)
    except ValueError:
        choices = ", ".join(kind.value for kind in StepType)
        raise ValueError(f"unknown trace step type {value!r}; expected one of {choices}") from None


def _expect(value: Any, kind: Any, what: str, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{what} must be {expected}, got {value!r}")
