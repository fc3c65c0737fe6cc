"""Our own format: one run a line, as plain JSON.

::

    {"run_id": "a1", "steps": [{"tool_name": "search", "arguments": {"q": "cats"},
                                "result": "nothing", "is_error": false, "round": 0}],
     "messages": [{"role": "assistant", "text": "Let me look.", "position": 0}]}

A message of the assistant with ``"thought": true`` is what the model thought before its reply. At
one with ``"summary": true`` the model stops seeing what came before. A step with
``"after_user": true`` comes after a message of the user. A step may have ``started_at``, a time,
and ``duration_s``. A run may have ``client``, the name of a client profile. Further keys are
ignored. A step without ``result`` (or with null) has an unknown one; a step without ``round`` is a
separate round; one with neither ``tool_name`` nor ``arguments`` is like no other.
"""

from itertools import count
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ..._amounts import moment_s, whole_number
from ..._amounts import number as amount
from ..._text.canonical import canonical_json
from ...formats import TextMessage
from ...formats._internal import field_of, items_of, made_unique
from ...loop_detection import Opinion
from ...loop_detection._internal import recorded_opinion
from ...types import Role, ToolCall, ToolResult
from .._recorded_run import RecordedRun
from .._shared.run_under_way import whole_runs
from . import atif

_ROLES = tuple(role.value for role in Role)


def recognizes(value: Any) -> bool:
    """Whether a JSON value is one run of this format."""
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return False
    # A label, by which people judge a run, has the steps that it is about.
    return "is_stuck" not in value and not atif.recognizes(value)


def _runs(value: Dict[str, Any], source: str) -> Iterator[RecordedRun]:
    run_id = value.get("run_id")
    steps = [step if isinstance(step, dict) else {"arguments": step} for step in value["steps"]]
    rounds = _rounds(steps)
    messages = tuple(_messages(value.get("messages"), len(steps)))
    client = value.get("client")
    spoken = {each.position for each in messages if each.role is Role.USER}
    spoken.update(index for index, step in enumerate(steps) if step.get("after_user") is True)
    yield RecordedRun(
        source if run_id is None else _text(run_id),
        tuple(_call(*each) for each in zip(steps, rounds, count())),
        tuple(_result(step) for step in steps),
        tuple(sorted(spoken)),
        source,
        opinions=tuple(_opinions(value.get("opinions"))),
        messages=messages,
        client=client if isinstance(client, str) else None,
    )


read = whole_runs(recognizes, _runs)


def _opinions(listed: Any) -> Iterator[Tuple[int, Opinion]]:
    """Yield the opinions that can be read, each with its step."""
    for each in items_of(listed):
        opinion = recorded_opinion(each)
        if opinion is not None and type(each.get("step")) is int:
            yield each["step"], opinion


def _messages(listed: Any, count: int) -> Iterator[TextMessage]:
    """Read the messages; skip entries that are not messages."""
    last = 0
    for each in items_of(listed):
        role, text, position = (field_of(each, name) for name in ("role", "text", "position"))
        if role not in _ROLES or not isinstance(text, str):
            continue
        last = max(last, min(whole_number(position) or 0, count))
        is_thought = role == Role.ASSISTANT.value and field_of(each, "thought") is True
        is_summary = field_of(each, "summary") is True
        yield TextMessage(Role(role), text, last, is_thought, is_summary)


def _call(step: Dict[str, Any], number: Optional[int], index: int) -> ToolCall:
    tool_name, arguments, call_id = step.get("tool_name"), step.get("arguments"), step.get("id")
    if not (arguments is None or isinstance(arguments, (dict, str))):
        arguments = canonical_json(arguments)
    call = ToolCall(
        "" if tool_name is None else _text(tool_name),
        arguments,
        None if call_id is None else _text(call_id),
        number,
        moment_s(step.get("started_at")),
    )
    return call if call.tool_name else made_unique(call, index)


def _result(step: Dict[str, Any]) -> Optional[ToolResult]:
    result = step.get("result")
    if result is None:
        return None
    took = amount(step.get("duration_s"))
    return ToolResult(_text(result), bool(step.get("is_error")), took)


def _rounds(steps: List[Dict[str, Any]]) -> List[Optional[int]]:
    """Return the round numbers of the steps; other values than numbers are replaced by numbers.

    So is a missing one where the id of the step was there before: a call with the same id and no
    round is the same call, reported again.
    """
    values = [step.get("round") for step in steps]
    free = min((value for value in values if isinstance(value, int)), default=0)
    named: Dict[str, int] = {}
    ids: Set[str] = set()
    for index, (step, value) in enumerate(zip(steps, values)):
        own = canonical_json(step.get("id"))
        name = f"step {index}" if value is None and own in ids else None
        if value is not None and not isinstance(value, int):
            name = canonical_json(value)
        if name is not None:
            values[index] = named.setdefault(name, min(free, 0) - 1 - len(named))
        if own != "null":
            ids.add(own)
    return values


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)
