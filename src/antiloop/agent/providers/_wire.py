"""The means to put a conversation on the wire and to read a reply off it, for every provider.

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

from ..._frozen import frozen
from ..._text.masking import SECRETS
from ..._trace import to_plain
from ...types import Message, Role, ToolCall
from ._protocol import StreamItem, Thought, ToolSchema

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_GROWS = ("text", "summary", "data", "signature")
"""Fields of a block that come in pieces."""
SCHEMA_PROMPT = (
    "When you give your final answer, give one JSON value that meets this JSON schema and nothing "
    "else, no prose and no code fence:\n"
)


def part(thing: Any, name: str) -> Any:
    """Return a member of an SDK object or a mapping, or None.

    The SDKs build their objects without checking them, so what a lenient server left out is
    missing, and what it added as an object may be a plain dict.
    """
    if isinstance(thing, Mapping):
        return thing.get(name)
    return getattr(thing, name, None)


def number(thing: Any, name: str) -> int:
    """Return a member that should be a count; 0 if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, int) else 0


def words(thing: Any, name: str) -> str:
    """Return a member that should be a text; empty if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, str) else ""


def items(thing: Any, name: str) -> Sequence[Any]:
    """Return a member that should be a list; empty if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, (list, tuple)) else ()


def index_of(thing: Any) -> Optional[int]:
    """Return the place of a piece of a stream, or None."""
    value = part(thing, "index")
    return value if isinstance(value, int) else None


def clean(text: str) -> str:
    """Return the text without lone surrogates, which no JSON request can carry as UTF-8.

    File names and the output of processes bring them in.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(thing: Any) -> Any:
    """Return an SDK object as the JSON that it was made of, unknown fields included."""
    dump = getattr(thing, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_unset=True) if callable(dump) else thing


def stream_items(text: str, thought: str) -> List[StreamItem]:
    """Return what an event of a stream brought, without what is empty."""
    thoughts: List[StreamItem] = [Thought(thought)] if thought else []
    return [*thoughts, text] if text else thoughts


def joined(known: Any, more: Any) -> Any:
    """Return what two pieces of a stream say together: texts, or lists of blocks.

    The pieces of one block share its type and its ``index``, and servers want the whole block back.

    >>> joined([{"index": 0, "text": "So"}], [{"index": 0, "text": "?"}, {"index": 1, "text": "A"}])
    [{'index': 0, 'text': 'So?'}, {'index': 1, 'text': 'A'}]
    """
    if not isinstance(known, list):
        return known + more
    blocks = list(known)
    for each in more:
        last = blocks[-1] if blocks else None
        place = (index_of(each), part(each, "type"))
        if place[0] is not None and place == (index_of(last), part(last, "type")):
            blocks[-1] = _grown(last, each)
        else:
            blocks.append(each)
    return blocks


def _grown(block: Any, more: Any) -> Any:
    texts = {name: words(block, name) + words(more, name) for name in _GROWS}
    return {**block, **more, **{name: text for name, text in texts.items() if text}}


def thought_of(delta: Any) -> str:
    """Return what the model thinks in a piece of a chat completion.

    A server that says it in several fields says the same in all of them.
    """
    said = words(delta, "reasoning_content") or words(delta, "reasoning")
    details = () if said else items(delta, "reasoning_details")
    return said + "".join(words(each, "text") or words(each, "summary") for each in details)


def length_text(limit: str) -> str:
    """Say that a reply was cut off for its length, and what to do.

    Args:
        limit: the option that limits it, e.g. ``"max_tokens=77"``; empty for the model's own limit.
    """
    if limit:
        return f"the reply was cut off at {limit}; raise it in the options of the provider"
    return (
        "the reply was cut off at the most tokens that the model allows; "
        "shorten the conversation, or ask for less at once"
    )


def opaque(provider: str, **data: Any) -> Optional[Mapping[str, Any]]:
    """Return provider data of what was found, or None for nothing."""
    found = {name: value for name, value in data.items() if value}
    kept: Mapping[str, Any] = frozen(to_plain({"provider": provider, **found}))
    return kept if found else None


def own_data(data: Any, provider: str) -> Mapping[str, Any]:
    """Return a message's or a call's provider data, empty if it is of another provider."""
    is_own = isinstance(data, Mapping) and data.get("provider") == provider
    return data if is_own else {}


def shows_compaction(data: Any) -> bool:
    """Whether provider data says that the API has cut the context down before the reply."""
    listed = data.values() if isinstance(data, Mapping) else ()
    kept = (each for some in listed if isinstance(some, (list, tuple)) for each in some)
    return any(
        part(each, "type") == "compaction"
        and bool(part(each, "content") or part(each, "encrypted_content"))
        for each in kept
    )


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

    What the model wrote instead of one is shown to it as it was. Many servers parse the arguments
    of earlier calls, and would refuse the conversation from then on.

    >>> sent_arguments({"a": 1}), sent_arguments('{"a": ')
    ({'a': 1}, {'raw_arguments': '{"a": '})
    """
    read = read_arguments(write_arguments(arguments))
    return {"raw_arguments": read} if isinstance(read, str) else read


def shortened(answer: Any, limit: int = 300) -> str:
    """Return an unusable answer for an error's text: what it says went wrong, else all of it."""
    # Masked before it is cut: half a secret would not be recognized as one.
    text = SECRETS.text(repr(part(answer, "error") or answer))
    return text if len(text) <= limit else text[:limit] + "..."


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
