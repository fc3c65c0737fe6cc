"""OpenAI's chat completions, which compatible servers speak, too."""

import json
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

from ..._frozen import thawed
from ..._mistral import BRIDGE, is_of_mistral
from ...exceptions import ProviderError
from ...loop_detection import system_notice
from ...types import Image, Message, Role, ToolCall
from ._calls import (
    read_arguments,
    sent_arguments,
    sent_name,
    with_call_ids,
    with_sent_names,
    write_arguments,
)
from ._protocol import ModelReply, ModelRequest, ReplyEnd, StreamItem, ToolSchema, Usage
from ._sdk import Collector
from ._wire import (
    SCHEMA_PROMPT,
    clean,
    index_of,
    items,
    joined,
    length_text,
    number,
    opaque,
    own_data,
    part,
    plain,
    shortened,
    stream_items,
    thought_of,
    words,
)

# What servers say of their reasoning beside the text, and refuse to go on without: DeepSeek and
# Moonshot the first, vLLM the second, OpenRouter the third, Gemini the last, also on each call.
_OPAQUE = ("reasoning_content", "reasoning", "reasoning_details", "extra_content")

# A tool's message takes text alone, so its images follow all results of the round.
_OF_RESULTS = "The images of the results above, in their order:"
_NINE = re.compile("[A-Za-z0-9]{9}")  # the ids of Mistral
_ENDS = {
    "length": ReplyEnd.LENGTH,
    "model_length": ReplyEnd.LENGTH,  # Mistral
    "content_filter": ReplyEnd.WITHHELD,
    "sensitive": ReplyEnd.WITHHELD,  # Zhipu
    "error": ReplyEnd.BROKEN,  # OpenRouter, Mistral
    "network_error": ReplyEnd.BROKEN,  # Zhipu
    "insufficient_system_resource": ReplyEnd.BROKEN,  # DeepSeek
    "abort": ReplyEnd.BROKEN,  # vLLM, SGLang
}
_LIMITS = ("max_completion_tokens", "max_tokens")


class OpenAIApi(NamedTuple):
    """The settings of a provider that both APIs of OpenAI take."""

    options: Mapping[str, Any]
    """The keywords of every request."""
    native_schema: bool
    """Whether a response schema is sent as such, and not in words."""
    has_end_mark: bool
    """Whether a stream says where it ends."""
    model: str
    """The name of the model."""


class ChatApi(OpenAIApi):
    """Make requests, and read replies."""

    source = "openai"
    reserved = "messages tools stream response_format"

    def endpoint(self, client: Any) -> Callable[..., Any]:
        """Return the method of the SDK's client that asks the model."""
        endpoint: Callable[..., Any] = client.chat.completions.create
        return endpoint

    def arguments(self, request: ModelRequest, source: str, *, stream: bool) -> Dict[str, Any]:
        """Return the keywords for the endpoint; those that are None are left out."""
        arguments: Dict[str, Any] = {}
        if stream:
            arguments.update(stream=True, stream_options={"include_usage": True})
        arguments.update(self.options)
        if not stream:
            arguments.pop("stream_options", None)
        written = mistral_messages if is_of_mistral(self.model) else openai_messages
        arguments["messages"] = written(request.messages, source, request.tools)
        if request.tools:
            arguments["tools"] = openai_tools(request.tools)
            if not request.may_call:
                arguments["tool_choice"] = "none"
        schema = request.response_schema
        if schema is not None and self.native_schema:
            arguments["response_format"] = openai_response_format(schema)
        elif schema is not None:
            ask_in_words(arguments["messages"], schema)
        return arguments

    def reply(self, answer: Any, source: str) -> ModelReply:
        choices = items(answer, "choices")
        message = part(choices[0], "message") if choices else None
        if message is None:
            raise ProviderError(f"the reply has no choice with a message: {shortened(answer)}")
        whole = _Choice(source)
        text = whole.take(message)
        end, detail = self._end(part(choices[0], "finish_reason"), is_over=True)
        return whole.reply(text, part(answer, "usage"), end, detail)

    def collector(self, source: str) -> Collector:
        """Return what reads the chunks of a stream."""
        return _Chunks(source, self._end)

    def _end(self, reason: Any, is_over: bool) -> Tuple[ReplyEnd, str]:
        """Return why a reply ended, and what to do about it.

        Args:
            reason: the ``finish_reason``.
            is_over: whether there is any sign that the reply is complete.
        """
        if not (reason or is_over or not self.has_end_mark):
            return ReplyEnd.BROKEN, (
                "the stream ended without a finish_reason; ask again, or pass has_end_mark=False if"
                " this server never sends one"
            )
        end = _ENDS.get(reason, ReplyEnd.COMPLETE) if isinstance(reason, str) else ReplyEnd.COMPLETE
        if end is ReplyEnd.COMPLETE:
            return end, ""
        if end is ReplyEnd.WITHHELD:
            return end, f"the server's {reason} withheld the rest of the reply"
        if end is ReplyEnd.BROKEN:
            return end, f"the server ended the reply early ({reason}); ask again"
        limits = [f"{name}={self.options[name]}" for name in _LIMITS if self.options.get(name)]
        return end, length_text(limits[0] if limits else "")


def ask_in_words(messages: List[Dict[str, Any]], schema: Mapping[str, Any]) -> None:
    """Ask for a schema in the first system message: some servers take only one."""
    wanted = SCHEMA_PROMPT + json.dumps(dict(schema))
    if messages and messages[0].get("role") == "system":
        messages[0]["content"] += f"\n\n{wanted}"
    else:
        messages.insert(0, {"role": "system", "content": wanted})


def openai_messages(
    messages: Sequence[Message], source: str = "", tools: Sequence[ToolSchema] = ()
) -> List[Dict[str, Any]]:
    """Return a conversation as chat completion messages, in the same order.

    Assistant messages that say nothing and call nothing are left out: servers refuse them.

    Args:
        messages: the conversation.
        source: the API that asks; it gets back the provider data that it sent.
        tools: the tools of the request.
    """
    return _written(with_call_ids(with_sent_names(messages, tools)), source)


def mistral_messages(
    messages: Sequence[Message], source: str = "", tools: Sequence[ToolSchema] = ()
) -> List[Dict[str, Any]]:
    """Return what `openai_messages` does, in an order and with ids that Mistral's API takes.

    After results only the model may speak, and a system message may not follow what it said.
    """
    made: List[Dict[str, Any]] = []
    named = with_call_ids(with_sent_names(messages, tools), _NINE.fullmatch, _nine)
    for message in _written(named, source):
        if message["role"] == "system" and any(each["role"] != "system" for each in made):
            message = {"role": "user", "content": system_notice(message["content"])}
        if message["role"] == "user" and made and made[-1]["role"] == "tool":
            made.append({"role": "assistant", "content": BRIDGE})
        made.append(message)
    return made


def _nine(place: int, position: int) -> str:
    return f"{place:06}{position:03}"


def _written(messages: Sequence[Message], source: str) -> List[Dict[str, Any]]:
    made: List[Dict[str, Any]] = []
    seen: List[Image] = []
    for message in messages:
        if seen and message.role is not Role.TOOL:
            made.append(_shown(_OF_RESULTS, seen))
            seen = []
        if message.role is Role.TOOL:
            seen += message.images
        if message.role is not Role.ASSISTANT or message.content or message.tool_calls:
            made.append(_message(message, source))
    return [*made, _shown(_OF_RESULTS, seen)] if seen else made


def _shown(text: str, images: Sequence[Image]) -> Dict[str, Any]:
    """Return a message of the user's with images."""
    urls = (f"data:{each.media_type};base64,{each.data}" for each in images)
    shown = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": [{"type": "text", "text": text}, *shown]}


def openai_tools(tools: Sequence[ToolSchema]) -> List[Dict[str, Any]]:
    """Return the tools as chat completion functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def openai_response_format(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a JSON schema as a response format.

    Not `strict`: that refuses every schema with an optional or an open-ended part.
    """
    name = sent_name(str(schema.get("title") or "answer"))
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


def _message(message: Message, source: str) -> Dict[str, Any]:
    text = clean(message.content)
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if message.images and message.role is Role.USER:
        return _shown(text, message.images)
    own = _own_fields(message, source)
    if not message.tool_calls:
        # A turn that is over: older reasoning models refuse to be shown what they thought in it.
        own = {name: own[name] for name in own if name not in ("reasoning_content", "reasoning")}
        return {"role": message.role.value, "content": text, **own}
    # No text is null and not "": that is how replies without text come, and what servers take.
    calls = [_call(call, source) for call in message.tool_calls]
    return {"role": "assistant", "content": text or None, "tool_calls": calls, **own}


def _call(call: ToolCall, source: str) -> Dict[str, Any]:
    function = {
        "name": call.tool_name,
        "arguments": write_arguments(sent_arguments(call.arguments)),
    }
    own = _own_fields(call, source)
    return {"id": call.id, "type": "function", "function": function, **own}


def _own_fields(thing: Union[Message, ToolCall], source: str) -> Dict[str, Any]:
    data = own_data(thing.provider_data, source)
    return {name: thawed(data[name]) for name in _OPAQUE if name in data}


def _text(message: Any) -> str:
    content = part(message, "content")
    if isinstance(content, list):  # some compatible servers send parts, as requests may
        content = "".join(words(piece, "text") for piece in content)
    # A refusal is all that the model says then.
    return content if content and isinstance(content, str) else words(message, "refusal")


class _Draft:
    """A tool call, whole or while it arrives."""

    def __init__(self, call: Any) -> None:
        self.id = ""
        self.name = ""
        self._arguments = ""
        self._opaque: Dict[str, Any] = {}
        self.add(call)

    def add(self, delta: Any) -> None:
        function = part(delta, "function")
        self.id = self.id or words(delta, "id")
        self.name = self.name or words(function, "name")
        _take_opaque(self._opaque, delta)
        arguments = part(function, "arguments")
        if arguments is not None:
            self._arguments += (
                arguments if isinstance(arguments, str) else write_arguments(arguments)
            )

    def is_other(self, delta: Any) -> bool:
        """Whether a delta for this place begins a new call.

        Some servers give every parallel call of a reply the index 0, or no index at all, and some
        the same id, or none. They send such calls whole: nothing can follow a whole object.
        """
        call_id, function = words(delta, "id"), part(delta, "function")
        if not words(function, "name") or not self.name:
            return False
        if call_id != self.id if call_id and self.id else index_of(delta) is None:
            return True
        is_whole = self._arguments.endswith("}") and part(function, "arguments")
        return bool(is_whole) and isinstance(read_arguments(self._arguments), Mapping)

    def finished(self, source: str) -> ToolCall:
        arguments, own = read_arguments(self._arguments), opaque(source, **self._opaque)
        return ToolCall(self.name, arguments, self.id or None, provider_data=own)


def _take_opaque(kept: Dict[str, Any], delta: Any) -> None:
    """Add what a piece of a reply brings of the fields that are kept for the server."""
    for name in _OPAQUE:
        piece = plain(part(delta, name))
        if isinstance(piece, (str, list)) and isinstance(kept.get(name), type(piece)):
            kept[name] = joined(kept[name], piece)
        elif isinstance(piece, Mapping) and isinstance(kept.get(name), Mapping):
            kept[name] = {**kept[name], **piece}
        elif piece:
            kept[name] = piece


class _Choice:
    """A reply, whole or while it arrives."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._calls: List[_Draft] = []
        self._by_index: Dict[Any, _Draft] = {}
        self._opaque: Dict[str, Any] = {}
        self._refused = ""

    def take(self, message: Any) -> str:
        """Take the whole message, and return its text."""
        _take_opaque(self._opaque, message)
        self._refused = words(message, "refusal")
        # Not joined by id: weak servers give every call the same.
        self._calls = [_Draft(call) for call in items(message, "tool_calls")]
        return _text(message)

    def add(self, delta: Any) -> str:
        """Take the next piece of the message, and return its text."""
        _take_opaque(self._opaque, delta)
        self._refused += words(delta, "refusal")
        for call in items(delta, "tool_calls"):
            self._add_call(call)
        return _text(delta)

    def _add_call(self, call: Any) -> None:
        index = index_of(call)
        draft = self._by_index.get(index)
        if index is None and self._calls:
            draft = self._calls[-1]
        if draft is None or draft.is_other(call):
            draft = _Draft(call)
            self._calls.append(draft)
        else:
            draft.add(call)
        self._by_index[index] = draft

    def reply(self, text: str, usage: Any, end: ReplyEnd, detail: str) -> ModelReply:
        calls = tuple(call.finished(self._source) for call in self._calls)
        own = opaque(self._source, **self._opaque)
        if self._refused and end is ReplyEnd.COMPLETE:
            end, detail = ReplyEnd.WITHHELD, "the model refused to answer"
        spent = Usage(number(usage, "prompt_tokens"), number(usage, "completion_tokens"))
        return ModelReply(text, calls, spent, end, detail, own)


class _Chunks:
    """Joins the chunks of one stream."""

    def __init__(self, source: str, end: Callable[[Any, bool], Tuple[ReplyEnd, str]]) -> None:
        self._end = end
        self._choice = _Choice(source)
        self._answered = False
        self._reason: Any = None
        self._text: List[str] = []
        self._usage: Any = None

    def add(self, chunk: Any) -> List[StreamItem]:
        self._usage = part(chunk, "usage") or self._usage
        # With several choices asked for, the first is the reply, as without streaming.
        choices = [c for c in items(chunk, "choices") if index_of(c) in (0, None)]
        brought: List[StreamItem] = []
        for choice in choices:
            self._answered = True
            self._reason = part(choice, "finish_reason") or self._reason
            delta = part(choice, "delta")
            self._text.append(self._choice.add(delta))
            brought += stream_items(self._text[-1], thought_of(delta))
        return brought

    def reply(self) -> ModelReply:
        if not self._answered:
            raise ProviderError("the stream ended without a choice")
        # The count of tokens comes last, so it is a sign of the end, too.
        end, detail = self._end(self._reason, self._usage is not None)
        return self._choice.reply("".join(self._text), self._usage, end, detail)
