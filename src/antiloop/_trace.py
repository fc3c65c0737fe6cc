"""The record of one run: what the agent did, step by step, as plain data."""

import json
from collections import deque
from collections.abc import ItemsView, KeysView, ValuesView
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Set, Tuple, TypeVar

from ._frozen import frozen, thawed
from ._short_repr import counted, quoted, short_repr
from ._text_enum import TextEnum
from .stability import beta

__all__ = ["AgentTrace", "StepType", "TraceStep", "to_plain"]

_T = TypeVar("_T")

_DEPTH = 40
_LENGTH = 2_000_000  # characters of JSON, roughly: no model and no person reads more
_ITEM = 20  # characters for a number, a bracket, what surrounds a text
_MORE = "..."
_SCALARS = (str, int, float, bool, type(None))
_LISTS = (list, tuple, deque, KeysView, ValuesView, ItemsView)


@beta
class StepType(TextEnum):
    """The kind of a trace step."""

    RUN_START = "run_start"
    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    GRAPH_LOOP_DETECTED = "graph_loop_detected"
    """A loop other than a stall; ``data`` holds its details and the action taken."""
    GRAPH_STALL = "graph_stall"
    """A stall: calls that differ while what comes back stays the same."""
    NOTICE_INJECTED = "notice_injected"
    """The model received a notice about a loop."""
    SECOND_OPINION = "second_opinion"
    """A judge was asked whether the run is stuck; ``data`` holds the step and what it said."""
    STRUCTURED_RETRY = "structured_retry"
    """The final answer did not fit the response format and was asked for again."""
    ERROR = "error"
    RUN_END = "run_end"


_SPEAKERS = {StepType.MODEL_CALL: "assistant", StepType.NOTICE_INJECTED: "system"}


@beta
@dataclass(frozen=True)
class TraceStep:
    """One step of a trace."""

    type: StepType
    summary: str = ""
    """A description of what happened, for a person."""
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The facts as plain JSON that cannot be changed; other values are turned into it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", frozen(to_plain(self.data)))

    def __repr__(self) -> str:
        return short_repr(self, self.type.value, quoted(self.summary))

    def to_dict(self) -> Dict[str, Any]:
        """Return the step as plain JSON data."""
        return {"type": self.type.value, "summary": self.summary, "data": thawed(self.data)}

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
    r"""The steps of a run, oldest first.

    >>> step = TraceStep(StepType.TOOL_CALL, data={"tool_name": "get", "result": "404"})
    >>> AgentTrace("r1", (step,)).to_jsonl()
    '{"run_id": "r1", "steps": [{"tool_name": "get", "result": "404"}]}\n'
    """

    run_id: str
    steps: Tuple[TraceStep, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.run_id), counted(len(self.steps), "step"))

    def of_type(self, *types: StepType) -> List[TraceStep]:
        """Return the steps of these types, in order."""
        return [step for step in self.steps if step.type in types]

    def loops(self) -> List[TraceStep]:
        """Return the steps about loops, in order: ``GRAPH_LOOP_DETECTED``, and ``GRAPH_STALL``."""
        return self.of_type(StepType.GRAPH_LOOP_DETECTED, StepType.GRAPH_STALL)

    def to_dict(self) -> Dict[str, Any]:
        """Return the trace as plain JSON data."""
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
        """Return the run's tool calls, and what was said, as one line of JSON, newline included.

        This is the format that recorded runs are read from, one run a line.
        """
        calls = [step.data for step in self.of_type(StepType.TOOL_CALL)]
        run: Dict[str, Any] = {"run_id": self.run_id, "steps": calls}
        said = [step.data for step in self.of_type(StepType.SECOND_OPINION)]
        opinions = [thawed(each) for each in said if "stuck" in each]
        if opinions:
            run["opinions"] = opinions
        messages = list(self._messages())
        if messages:
            run["messages"] = messages
        return json.dumps(run) + "\n"

    def _messages(self) -> Iterator[Dict[str, Any]]:
        """Yield the model's replies and its notices, each with the number of calls before it."""
        position = 0
        for step in self.steps:
            position += step.type is StepType.TOOL_CALL
            if step.data.get("is_compacted"):
                yield {"role": "system", "text": "", "position": position, "summary": True}
            role = _SPEAKERS.get(step.type)
            if role and step.data.get("text"):
                yield {"role": role, "text": step.data["text"], "position": position}


def to_plain(value: Any, read: Callable[[Any], Any] = lambda each: each) -> Any:
    """Turn any value into plain JSON data; other values than JSON's become their text.

    An endless or far too long value ends in ``"..."``: objects inside themselves, more than 40
    levels, more than about two million characters.

    Args:
        value: any value.
        read: returns what to take in the place of a value, at any depth.
    """
    return _Plain(read).of(value)


class _Plain:
    """Makes plain data of one value, with a bound on the whole.

    The result repeats a shared object for each reference to it, which can exceed any memory. For
    this reason the bound counts what is written, not what is read.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read
        self._left = _LENGTH
        self._inside: Set[int] = set()

    def of(self, value: Any, depth: int = _DEPTH) -> Any:
        value = self._read(value)
        if isinstance(value, Enum):
            return self.of(value.value, depth - 1)
        if isinstance(value, _SCALARS):
            return self._counted(value)
        members = _members(value)
        if members is None:
            return self._counted(_text_of(value))
        if depth <= 0 or id(value) in self._inside:
            return self._counted(_MORE)
        self._left -= _ITEM
        self._inside.add(id(value))
        try:
            return self._filled(members, depth - 1)
        finally:
            self._inside.discard(id(value))

    def _filled(self, members: Any, depth: int) -> Any:
        if isinstance(members, _LISTS):
            return [self.of(item, depth) for item in self._until_full(members, _MORE)]
        pairs = self._until_full(members.items(), (_MORE, _MORE))
        return {self._key(key, depth): self.of(item, depth) for key, item in pairs}

    def _until_full(self, items: Iterable[_T], more: _T) -> Iterator[_T]:
        for item in items:
            if self._left <= 0:
                yield more
                return
            yield item

    def _key(self, key: Any, depth: int) -> str:
        plain = self.of(key, depth)
        return plain if type(plain) is str else str(plain)

    def _counted(self, value: Any) -> Any:
        self._left -= _ITEM + (len(value) if isinstance(value, str) else 0)
        return value


def _text_of(value: Any) -> str:
    """Return the text of an object without its address, which would tell equal answers apart."""
    text = str(value)
    for address in (f" at 0x{id(value):x}", f" at 0x{id(value):016X}"):
        text = text.replace(address, "")
    return text


def _members(value: Any) -> Any:
    """Return the members of a mapping or a list; None for any other value."""
    if isinstance(value, (set, frozenset)):
        return _in_order(value)
    if isinstance(value, (Mapping, *_LISTS)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    dump = getattr(type(value), "model_dump", None)
    if callable(dump):  # a pydantic model
        try:
            return dict(dump(value, mode="json"))
        except Exception:  # noqa: BLE001 - foreign code ran: its text is taken instead
            return None
    return None


def _in_order(members: Any) -> List[Any]:
    """Return the members of a set of scalars in an order that is the same for equal sets.

    The text of anything else may be endless, or hold an address.
    """
    are_scalars = all(isinstance(member, _SCALARS) for member in members)
    return sorted(members, key=repr) if are_scalars else list(members)


def _step_type(value: Any) -> StepType:
    try:
        return StepType(value)
    except ValueError:
        choices = ", ".join(kind.value for kind in StepType)
        raise ValueError(f"unknown trace step type {value!r}; expected one of {choices}") from None


def _expect(value: Any, kind: Any, what: str, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{what} must be {expected}, got {value!r}")
