"""Names, ids and arguments of calls, as every API takes them.

Pure functions. What a model or a server produced never makes them raise.
"""

import json
import re
from dataclasses import replace
from functools import partial
from typing import (
    Any,
    Callable,
    Container,
    List,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

from ..._trace import to_plain
from ...types import Message, Role, ToolCall
from ._protocol import ToolSchema
from ._wire import clean

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def read_arguments(raw: Any) -> Union[Mapping[str, Any], str]:
    """Return a call's arguments as a mapping, or the raw text if it is not a JSON object.

    >>> read_arguments('{"a": 1}'), read_arguments('{"a": 1'), read_arguments(None)
    ({'a': 1}, '{"a": 1', {})
    """
    if isinstance(raw, Mapping):
        return dict(raw)
    text = raw if isinstance(raw, str) else write_arguments(raw)
    try:
        value = json.loads(text.strip() or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    # Some servers say "null" for a call without arguments.
    return {} if value is None else value if isinstance(value, dict) else text


def write_arguments(arguments: Any) -> str:
    """Return a call's arguments as JSON text; raw text stays as it is.

    >>> write_arguments({"a": 1}), write_arguments("{broken"), write_arguments(None)
    ('{"a": 1}', '{broken', '{}')
    """
    if isinstance(arguments, str):
        return clean(arguments) or "{}"
    if arguments is None:
        return "{}"
    value = dict(arguments) if isinstance(arguments, Mapping) else arguments
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # odd keys, or a value inside itself
        text = json.dumps(to_plain(value), ensure_ascii=False)
    return clean(text)


def sent_arguments(arguments: Any) -> Mapping[str, Any]:
    """Return a call's arguments as an object, as APIs want them.

    If the model wrote something else, it is shown to the model as it was. Many servers parse the
    arguments of earlier calls, and would refuse the conversation from then on.

    >>> sent_arguments({"a": 1}), sent_arguments('{"a": ')
    ({'a': 1}, {'raw_arguments': '{"a": '})
    """
    read = read_arguments(write_arguments(arguments))
    return {"raw_arguments": read} if isinstance(read, str) else read


def sent_name(name: str) -> str:
    """Return a name with what APIs take in names alone."""
    return _NOT_IN_NAMES.sub("_", name)[:64]


def with_sent_names(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> List[Message]:
    """Return the messages with names of tools that every API takes.

    Models invent names, such as "multi_tool_use.parallel", that their own API refuses in a
    conversation. The names of the given tools are sent as they are.
    """
    names = {tool.name for tool in tools}
    return [
        replace(message, tool_calls=tuple(_named(call, names) for call in message.tool_calls))
        for message in messages
    ]


def _named(call: ToolCall, names: Container[str]) -> ToolCall:
    if call.tool_name in names:
        return call
    return replace(call, tool_name=sent_name(call.tool_name) or "unnamed")


def _made_id(place: int, position: int) -> str:
    return f"antiloop_{place}_{position}"


def with_call_ids(
    messages: Sequence[Message],
    is_id: Callable[[str], Any] = bool,
    made_id: Callable[[int, int], str] = _made_id,
) -> List[Message]:
    """Return the messages with an id on every call and every result, each used once.

    A call without an id, or with one that was used before (weak servers count from zero in every
    reply), gets one made of its place in the conversation: it stays the same while the
    conversation grows. Results that name no open call answer the open calls in order.
    """
    paired: List[Message] = []
    used: Set[str] = set()
    unanswered: List[Tuple[Optional[str], str]] = []
    for place, message in enumerate(messages):
        if message.tool_calls:
            calls = _identified(message.tool_calls, used, is_id, partial(made_id, place))
            unanswered = [(old.id, new.id or "") for old, new in zip(message.tool_calls, calls)]
            message = replace(message, tool_calls=calls)
        elif message.role is Role.TOOL:
            answered = _answered(message.tool_call_id, unanswered)
            message = replace(message, tool_call_id=answered or made_id(place, 0))
        paired.append(message)
    return paired


def _identified(
    calls: Sequence[ToolCall],
    used: Set[str],
    is_id: Callable[[str], Any],
    made_id: Callable[[int], str],
) -> Tuple[ToolCall, ...]:
    identified = []
    for position, call in enumerate(calls):
        if not call.id or call.id in used or not is_id(call.id):
            call = replace(call, id=made_id(position))
        used.add(call.id or "")
        identified.append(call)
    return tuple(identified)


def _answered(call_id: Optional[str], unanswered: List[Tuple[Optional[str], str]]) -> Optional[str]:
    for position, (old, new) in enumerate(unanswered):
        if old == call_id:
            del unanswered[position]
            return new
    return unanswered.pop(0)[1] if unanswered else call_id


def _no_constant(name: str) -> NoReturn:
    # NaN and Infinity are not JSON: a request that repeats them would be refused.
    raise ValueError(name)
