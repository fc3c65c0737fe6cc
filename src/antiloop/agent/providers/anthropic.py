"""The provider over the official Anthropic SDK: messages."""

import json
from itertools import takewhile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ...exceptions import ProviderError
from ...loop_detection.messages import system_notice
from ...loop_detection.threshold import check_flag
from ...stability import beta
from ...types import Message, Role, ToolCall
from .protocol import ModelReply, ModelRequest, ToolSchema, Usage
from .sdk import Clients, Collector, SdkProvider, checked_options
from .wire import (
    clean,
    index_of,
    number,
    part,
    read_arguments,
    shortened,
    with_call_ids,
    words,
    write_arguments,
)

_RESERVED = "messages system tools stream"

# What the cache took in or gave out is input too; the API counts it apart.
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_SCHEMA_PROMPT = (
    "When you give your final answer, give one JSON value that meets this JSON schema and nothing "
    "else, no prose and no code fence:\n"
)


@beta
class AnthropicProvider(SdkProvider):
    """A Claude model behind Anthropic's messages.

    Args:
        model: the model's name, e.g. ``"claude-sonnet-5"``.
        client: your own ``anthropic.Anthropic``; by default the provider makes one when it needs
            it.
        async_client: your own ``anthropic.AsyncAnthropic``, likewise.
        client_options: keywords for the clients that this provider makes, e.g. ``base_url``.
        max_tokens: the longest reply, in tokens.
        native_schema: send a response schema as ``output_config``, which newer models are held
            to and older ones refuse. Otherwise the system prompt asks for it.
        options: further keywords of every request, e.g. ``temperature=0``. None leaves a
            keyword out.

    Raises:
        ImportError: if the SDK is needed and not installed; it says what to install.
        ValueError: if an option is one that every request sets for itself.

    Thinking blocks are not kept between rounds.
    """

    def __init__(
        self,
        model: str,
        *,
        client: Optional[Any] = None,
        async_client: Optional[Any] = None,
        client_options: Optional[Mapping[str, Any]] = None,
        max_tokens: int = 8192,
        native_schema: bool = False,
        **options: Any,
    ) -> None:
        check_flag("native_schema", native_schema)
        if client is None and async_client is None:
            _sdk()
        self._model = model
        self._native_schema = native_schema
        self._options: Dict[str, Any] = {"model": model, "max_tokens": max_tokens}
        self._options.update(checked_options(options, _RESERVED))
        self._clients = Clients(
            lambda: _sdk().Anthropic(**(client_options or {})),
            lambda: _sdk().AsyncAnthropic(**(client_options or {})),
            client,
            async_client,
        )

    def _endpoint(self, client: Any) -> Callable[..., Any]:
        endpoint: Callable[..., Any] = client.messages.create
        return endpoint

    def _arguments(self, request: ModelRequest, stream: bool) -> Dict[str, Any]:
        system, messages = anthropic_messages(request.messages)
        arguments = {**self._options, "messages": messages}
        if stream:
            arguments["stream"] = True
        if request.tools:
            arguments["tools"] = anthropic_tools(request.tools)
        schema = request.response_schema
        if schema is not None and self._native_schema:
            arguments.update(_native_format(arguments, schema))
        elif schema is not None:
            system = _joined([system, _SCHEMA_PROMPT + json.dumps(dict(schema))])
        arguments["system"] = system or None
        return {name: value for name, value in arguments.items() if value is not None}

    def _reply(self, answer: Any) -> ModelReply:
        content = part(answer, "content")
        if not isinstance(content, list):
            raise ProviderError(f"the reply has no content: {shortened(answer)}")
        blocks = [_Block(block) for block in content]
        return _finished(blocks, [part(answer, "usage")])

    def _collector(self) -> Collector:
        return _Events()


def anthropic_messages(messages: Sequence[Message]) -> Tuple[str, List[Dict[str, Any]]]:
    """Return a conversation as the system prompt and the turns of user and assistant.

    Leading system messages make the prompt. Tool results and later system messages belong to the
    user's turn; a turn begins with its tool results, as the API asks. Neighbors of one role make
    one turn, and what is empty is left out.
    """
    leading = list(takewhile(lambda message: message.role is Role.SYSTEM, messages))
    turns: List[Dict[str, Any]] = []
    for message in with_call_ids(messages)[len(leading) :]:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
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
        return [_result(message, text)]
    calls = [_call(call) for call in message.tool_calls]
    if not text.strip():  # the API refuses a text block without text
        return calls
    if message.role is Role.SYSTEM:
        text = system_notice(text)
    return [{"type": "text", "text": text}, *calls]


def _result(message: Message, text: str) -> Dict[str, Any]:
    block: Dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    if message.is_error:
        # An error without content is refused.
        return {**block, "content": text or "(no output)", "is_error": True}
    return {**block, "content": text}


def _call(call: ToolCall) -> Dict[str, Any]:
    arguments = read_arguments(write_arguments(call.arguments))
    # The API takes only an object; what the model wrote instead of one is shown to it as it was.
    given = {"raw_arguments": arguments} if isinstance(arguments, str) else dict(arguments)
    return {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": given}


class _Block:
    """A content block, whole or while it arrives."""

    def __init__(self, block: Any) -> None:
        self.text = words(block, "text") if part(block, "type") == "text" else ""
        self._use = block if part(block, "type") == "tool_use" else None
        self._json = ""

    def add(self, delta: Any) -> str:
        text = words(delta, "text") if part(delta, "type") == "text_delta" else ""
        self.text += text
        self._json += words(delta, "partial_json")
        return text

    def calls(self) -> List[ToolCall]:
        if self._use is None:
            return []
        arguments = read_arguments(self._json or part(self._use, "input"))
        return [ToolCall(words(self._use, "name"), arguments, words(self._use, "id") or None)]


def _finished(blocks: Sequence[_Block], reports: Sequence[Any]) -> ModelReply:
    text = "".join(block.text for block in blocks)
    return ModelReply(text, tuple(call for b in blocks for call in b.calls()), _usage(reports))


def _usage(reports: Sequence[Any]) -> Usage:
    # A stream repeats the counts; the last of each is the whole.
    names = (*_INPUT, "output_tokens")
    last = {name: number(r, name) for r in reports for name in names if part(r, name) is not None}
    output = last.pop("output_tokens", 0)
    return Usage(sum(last.values()), output)


class _Events:
    """Joins the events of one stream."""

    def __init__(self) -> None:
        self._blocks: Dict[Any, _Block] = {}
        self._reports: List[Any] = []
        self._complete = False

    def add(self, event: Any) -> str:
        kind = part(event, "type")
        if kind == "content_block_start":
            block = _Block(part(event, "content_block"))
            self._blocks[index_of(event)] = block
            return block.text
        if kind == "content_block_delta":
            block = self._blocks.setdefault(index_of(event), _Block(None))
            return block.add(part(event, "delta"))
        self._reports.append(part(part(event, "message"), "usage") or part(event, "usage"))
        self._complete = self._complete or kind in ("message_delta", "message_stop")
        return ""

    def reply(self) -> ModelReply:
        if not self._complete:
            raise ProviderError("the stream ended before the reply was complete")
        return _finished(list(self._blocks.values()), self._reports)


def _sdk() -> Any:
    try:
        import anthropic
    except ImportError as error:
        raise ImportError(
            'AnthropicProvider needs the Anthropic SDK: pip install "antiloop[anthropic]"'
        ) from error
    return anthropic
