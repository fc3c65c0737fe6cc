"""The provider over the official Anthropic SDK: messages."""

import inspect
import json
import re
from itertools import takewhile
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..._checks import check_flag, check_threshold
from ..._frozen import thawed
from ...exceptions import ProviderError
from ...loop_detection import system_notice
from ...stability import beta
from ...types import Message, Role, ToolCall
from ._calls import read_arguments, sent_arguments, with_call_ids, with_sent_names
from ._protocol import ModelReply, ModelRequest, ReplyEnd, StreamItem, ToolSchema, Usage
from ._sdk import Collector, SdkProvider, checked_options, clients_of
from ._wire import (
    SCHEMA_PROMPT,
    clean,
    index_of,
    length_text,
    number,
    opaque,
    own_data,
    part,
    plain,
    shortened,
    stream_items,
    words,
)

_RESERVED = "messages system tools stream"

# What the cache took in or gave out is input too; the API counts it apart.
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_SOURCE = "anthropic"

# The API refuses a turn that ends with one of these.
_THOUGHTS = ("thinking", "redacted_thinking")

# The last two are of a compaction, which would say nothing without them.
_IN_PIECES = ("thinking", "signature", "content", "encrypted_content")

# Other models have other ids, such as "functions.search:0", which this API refuses.
_ID = re.compile(r"[A-Za-z0-9_-]+")

# The API wants a number. This one is above what older models allow, who then name their own.
_MOST = 64_000
_TOO_MANY = re.compile(r"max_tokens: \d+ > (?P<most>\d+)")
_TOO_MANY_HERE = re.compile(r"context limit: (?P<sent>\d+) \+ \d+ > (?P<most>\d+)")

_ENDS = {
    "max_tokens": ReplyEnd.LENGTH,
    "model_context_window_exceeded": ReplyEnd.LENGTH,
    "refusal": ReplyEnd.WITHHELD,
    "pause_turn": ReplyEnd.PAUSED,
}


@beta
class AnthropicProvider(SdkProvider):
    """A Claude model behind Anthropic's messages.

    Args:
        model: the model's name, e.g. ``"claude-sonnet-5"``.
        client: your own ``anthropic.Anthropic``; by default the provider makes one when it needs
            it.
        async_client: your own ``anthropic.AsyncAnthropic``, likewise.
        client_options: keywords for the clients that this provider makes, e.g. ``base_url``.
        max_tokens: the longest reply, in tokens; None for as long as the model allows.
        native_schema: send a response schema as ``output_config``, which newer models are held
            to and older ones refuse. Otherwise the system prompt asks for it.
        options: further keywords of every request, e.g. ``temperature=0``. None leaves a
            keyword out.

    Raises:
        ImportError: if the SDK is needed and not installed; it says what to install.
        ValueError: if an option is one that every request sets for itself, or `max_tokens` is not
            a whole number of 1 or more.

    Thinking blocks, with their signatures, are part of the conversation and go back to the API.
    """

    def __init__(
        self,
        model: str,
        *,
        client: Optional[Any] = None,
        async_client: Optional[Any] = None,
        client_options: Optional[Mapping[str, Any]] = None,
        max_tokens: Optional[int] = None,
        native_schema: bool = False,
        **options: Any,
    ) -> None:
        check_flag("native_schema", native_schema)
        if max_tokens is not None:
            check_threshold("max_tokens", max_tokens, 1)
        self._clients = clients_of("Anthropic", client_options, client, async_client)
        self._model = model
        self._native_schema = native_schema
        self._max_tokens = max_tokens
        self._most = _MOST
        self._options: Dict[str, Any] = {"model": model, **checked_options(options, _RESERVED)}

    def _endpoint(self, client: Any) -> Callable[..., Any]:
        endpoint: Callable[..., Any] = client.messages.create
        return endpoint if self._max_tokens is not None else self._within_limits(endpoint)

    def _within_limits(self, endpoint: Callable[..., Any]) -> Callable[..., Any]:
        """Return an endpoint that asks again with fewer tokens where the model allows fewer."""

        def ask(**arguments: Any) -> Any:
            try:
                answer = endpoint(**arguments)
            except Exception as error:  # noqa: BLE001 - raised again unless it names a limit
                return endpoint(**self._lowered(arguments, error))
            return later(answer, arguments) if inspect.isawaitable(answer) else answer

        async def later(answer: Awaitable[Any], arguments: Dict[str, Any]) -> Any:
            try:
                return await answer
            except Exception as error:  # noqa: BLE001 - raised again unless it names a limit
                return await endpoint(**self._lowered(arguments, error))

        return ask

    def _lowered(self, arguments: Dict[str, Any], error: Exception) -> Dict[str, Any]:
        """Return the arguments within the limit that a refusal names, or raise the refusal."""
        text = str(error) if part(error, "status_code") == 400 else ""
        own, here = _TOO_MANY.search(text), _TOO_MANY_HERE.search(text)
        if own is not None:
            self._most = int(own["most"])
            return {**arguments, "max_tokens": self._most}
        if here is not None and int(here["most"]) > int(here["sent"]):
            return {**arguments, "max_tokens": int(here["most"]) - int(here["sent"])}
        raise error

    def _arguments(self, request: ModelRequest, stream: bool, client: Any) -> Dict[str, Any]:
        system, messages = anthropic_messages(request.messages, request.tools)
        arguments = {"max_tokens": self._max_tokens or self._most, **self._options}
        arguments["messages"] = messages
        if stream:
            arguments["stream"] = True
        else:
            # The SDK refuses a large max_tokens where no time limit is given with the request.
            arguments.setdefault("timeout", part(client, "timeout"))
        if request.tools:
            arguments["tools"] = anthropic_tools(request.tools)
            if not request.may_call:
                arguments["tool_choice"] = {"type": "none"}
        schema = request.response_schema
        if schema is not None and self._native_schema:
            arguments.update(_native_format(arguments, schema))
        elif schema is not None:
            system = _joined([system, SCHEMA_PROMPT + json.dumps(dict(schema))])
        arguments["system"] = system or None
        return {name: value for name, value in arguments.items() if value is not None}

    def _reply(self, answer: Any, client: Any) -> ModelReply:  # noqa: ARG002
        content = part(answer, "content")
        if not isinstance(content, list):
            raise ProviderError(f"the reply has no content: {shortened(answer)}")
        blocks = [_ContentBlock(block) for block in content]
        return self._finished(blocks, [part(answer, "usage")], part(answer, "stop_reason"))

    def _collector(self, client: Any) -> Collector:  # noqa: ARG002
        return _MessageEvents(self._finished)

    def _finished(
        self, blocks: Sequence["_ContentBlock"], reports: Sequence[Any], reason: Any
    ) -> ModelReply:
        end = _ENDS.get(reason, ReplyEnd.COMPLETE) if isinstance(reason, str) else ReplyEnd.COMPLETE
        detail = ""
        if end is ReplyEnd.LENGTH:
            is_own = reason == "max_tokens" and self._max_tokens is not None
            detail = length_text(f"max_tokens={self._max_tokens}" if is_own else "")
        elif end is ReplyEnd.WITHHELD:
            detail = f"the model broke the reply off (stop_reason {reason!r})"
        return ModelReply(
            "".join(block.text for block in blocks),
            tuple(call for block in blocks for call in block.calls()),
            _usage(reports),
            end,
            detail,
            _kept(blocks),
        )


def anthropic_messages(
    messages: Sequence[Message], tools: Sequence[ToolSchema] = ()
) -> Tuple[str, List[Dict[str, Any]]]:
    """Return a conversation as the system prompt and the turns of user and assistant.

    Leading system messages make the prompt. Tool results and later system messages belong to the
    user's turn; a turn begins with its tool results, as the API asks. Neighbors of one role make
    one turn, and what is empty is left out.
    """
    leading = list(takewhile(lambda message: message.role is Role.SYSTEM, messages))
    turns: List[Dict[str, Any]] = []
    sent = with_call_ids(with_sent_names(messages, tools), _ID.fullmatch)
    for message in sent[len(leading) :]:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"].sort(key=lambda block: part(block, "type") != "tool_result")
    return _joined([clean(message.content) for message in leading]), turns


def anthropic_tools(tools: Sequence[ToolSchema]) -> List[Dict[str, Any]]:
    """Return the tools as the API takes them."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
        for tool in tools
    ]


def _native_format(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Dict[str, Any]:
    form = {"type": "json_schema", "schema": dict(schema)}
    config = {**(arguments.get("output_config") or {}), "format": form}
    # Older SDKs do not know the keyword, but pass an extra body on all the same.
    body = {**(arguments.get("extra_body") or {}), "output_config": config}
    return {"output_config": None, "extra_body": body}


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def _blocks(message: Message) -> List[Dict[str, Any]]:
    text = clean(message.content)
    if message.role is Role.TOOL:
        return _result(message, text)
    calls = [_call(call) for call in message.tool_calls]
    if message.role is Role.SYSTEM and text.strip():
        text = system_notice(text)
    layout = own_data(message.provider_data, _SOURCE).get("blocks")
    if message.role is Role.ASSISTANT and isinstance(layout, list):
        blocks = _laid_out(layout, text, calls)
        # A reply that was cut off while it thought, or thought and then said nothing.
        while blocks and part(blocks[-1], "type") in _THOUGHTS:
            blocks.pop()
        return blocks
    return [*_image_blocks(message), *_text_blocks(text), *calls]


def _text_blocks(text: str) -> List[Dict[str, Any]]:
    # The API refuses a text block without text.
    return [{"type": "text", "text": text}] if text.strip() else []


def _laid_out(
    layout: Sequence[Any], text: str, calls: Sequence[Dict[str, Any]]
) -> List[Dict[str, Any]]:
    """Return the blocks of a reply in their order: the API checks where thinking stands.

    A message that was changed since then no longer fits: its thinking comes first.
    """
    lengths = [each for each in layout if isinstance(each, int)]
    uses = [each for each in layout if each is None]
    opaque_blocks = [thawed(each) for each in layout if isinstance(each, Mapping)]
    if sum(lengths) != len(text) or len(uses) != len(calls):
        return [*opaque_blocks, *_text_blocks(text), *calls]
    blocks: List[Dict[str, Any]] = []
    at, left = 0, iter(calls)
    for each in layout:
        if isinstance(each, Mapping):
            blocks.append(thawed(each))
        elif each is None:
            blocks.append(next(left))
        elif isinstance(each, int):
            blocks += _text_blocks(text[at : at + each])
            at += each
    return blocks


def _result(message: Message, text: str) -> List[Dict[str, Any]]:
    block: Dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    images = _image_blocks(message)
    if message.is_error:
        # An error without text is refused, and so is an image in one.
        return [{**block, "is_error": True, "content": text or "(no output)"}, *images]
    return [{**block, "content": [*_text_blocks(text), *images] if images else text}]


def _image_blocks(message: Message) -> List[Dict[str, Any]]:
    return [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": each.media_type, "data": each.data},
        }
        for each in message.images
    ]


def _call(call: ToolCall) -> Dict[str, Any]:
    given = dict(sent_arguments(call.arguments))
    return {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": given}


class _ContentBlock:
    """A content block, whole or while it arrives."""

    def __init__(self, block: Any) -> None:
        self.text = words(block, "text") if part(block, "type") == "text" else ""
        self._use = block if part(block, "type") == "tool_use" else None
        self._json = ""
        given = None if part(block, "type") in ("text", "tool_use") else plain(block)
        self._opaque: Dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}

    def begun(self) -> List[StreamItem]:
        """Return what a block of a stream begins with; mostly nothing."""
        return stream_items(self.text, words(self._opaque, "thinking"))

    def add(self, delta: Any) -> List[StreamItem]:
        text = words(delta, "text") if part(delta, "type") == "text_delta" else ""
        self.text += text
        self._json += words(delta, "partial_json")
        for name in _IN_PIECES:
            if words(delta, name):
                self._opaque[name] = words(self._opaque, name) + words(delta, name)
        return stream_items(text, words(delta, "thinking"))

    def layout(self) -> Any:
        """Return what stands here: the length of a text, None for a call, or an opaque block."""
        if self._use is not None:
            return None
        if not self._opaque:
            return len(self.text)
        if self._json:  # a tool of the server's own
            return {**self._opaque, "input": sent_arguments(self._json)}
        return self._opaque

    def calls(self) -> List[ToolCall]:
        if self._use is None:
            return []
        arguments = read_arguments(self._json or part(self._use, "input"))
        return [ToolCall(words(self._use, "name"), arguments, words(self._use, "id") or None)]


def _kept(blocks: Sequence[_ContentBlock]) -> Optional[Mapping[str, Any]]:
    """Return the order of the blocks, and those that only the API reads; None for none of these."""
    layout = [block.layout() for block in blocks]
    return opaque(_SOURCE, blocks=layout) if any(isinstance(x, dict) for x in layout) else None


def _usage(reports: Sequence[Any]) -> Usage:
    # A stream repeats the counts; the last of the output is the whole. Some servers send 0 at the
    # end for the input that they counted before.
    spent = sum(max((number(each, name) for each in reports), default=0) for name in _INPUT)
    output = [part(each, "output_tokens") for each in reports]
    last = next((each for each in reversed(output) if each is not None), 0)
    return Usage(spent, last if isinstance(last, int) else 0)


class _MessageEvents:
    """Joins the events of one stream."""

    def __init__(self, finished: Callable[..., ModelReply]) -> None:
        self._finished = finished
        self._blocks: Dict[Any, _ContentBlock] = {}
        self._reports: List[Any] = []
        self._reason: Any = None
        self._complete = False

    def add(self, event: Any) -> List[StreamItem]:
        kind = part(event, "type")
        if kind == "content_block_start":
            block = _ContentBlock(part(event, "content_block"))
            self._blocks[index_of(event)] = block
            return block.begun()
        if kind == "content_block_delta":
            block = self._blocks.setdefault(index_of(event), _ContentBlock(None))
            return block.add(part(event, "delta"))
        self._reports.append(part(part(event, "message"), "usage") or part(event, "usage"))
        self._reason = part(part(event, "delta"), "stop_reason") or self._reason
        self._complete = self._complete or kind in ("message_delta", "message_stop")
        return []

    def reply(self) -> ModelReply:
        if not self._complete:
            raise ProviderError("the stream ended before the reply was complete")
        return self._finished(list(self._blocks.values()), self._reports, self._reason)
