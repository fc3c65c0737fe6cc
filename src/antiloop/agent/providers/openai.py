"""The provider over the official OpenAI SDK: chat completions, of compatible servers too."""

import logging
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ...exceptions import ProviderError
from ...stability import beta
from ...types import Message, Role, ToolCall
from .protocol import ModelReply, ModelRequest, ToolSchema, Usage
from .sdk import Clients, Collector, SdkProvider, checked_options
from .wire import (
    clean,
    index_of,
    items,
    number,
    part,
    read_arguments,
    shortened,
    with_call_ids,
    words,
    write_arguments,
)

_logger = logging.getLogger("antiloop")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED = "messages tools stream response_format"


@beta
class OpenAIProvider(SdkProvider):
    """A model behind the chat completions of OpenAI or of a server that is compatible with it.

    Args:
        model: the model's name, e.g. ``"gpt-5.4-mini"``.
        client: your own ``openai.OpenAI``; by default the provider makes one when it needs it.
        async_client: your own ``openai.AsyncOpenAI``, likewise.
        client_options: keywords for the clients that this provider makes, e.g. ``base_url``.
        options: further keywords of every request, e.g. ``temperature=0``. None leaves a keyword
            out, so ``stream_options=None`` serves servers that do not know it.

    Raises:
        ImportError: if the SDK is needed and not installed; it says what to install.
        ValueError: if an option is one that every request sets for itself.

    A system message keeps its place in the conversation. A few compatible servers take one
    only at the start; send them notices as the user.
    """

    def __init__(
        self,
        model: str,
        *,
        client: Optional[Any] = None,
        async_client: Optional[Any] = None,
        client_options: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> None:
        if client is None and async_client is None:
            _sdk()
        self._model = model
        self._options = checked_options(options, _RESERVED)
        self._clients = Clients(
            lambda: _sdk().OpenAI(**(client_options or {})),
            lambda: _sdk().AsyncOpenAI(**(client_options or {})),
            client,
            async_client,
        )

    def _endpoint(self, client: Any) -> Callable[..., Any]:
        endpoint: Callable[..., Any] = client.chat.completions.create
        return endpoint

    def _arguments(self, request: ModelRequest, stream: bool) -> Dict[str, Any]:
        arguments: Dict[str, Any] = {"model": self._model}
        if stream:
            arguments.update(stream=True, stream_options={"include_usage": True})
        arguments.update(self._options)
        if not stream:
            arguments.pop("stream_options", None)
        arguments["messages"] = openai_messages(request.messages)
        if request.tools:
            arguments["tools"] = openai_tools(request.tools)
        if request.response_schema is not None:
            arguments["response_format"] = openai_response_format(request.response_schema)
        return {name: value for name, value in arguments.items() if value is not None}

    def _reply(self, answer: Any) -> ModelReply:
        choices = items(answer, "choices")
        message = part(choices[0], "message") if choices else None
        if message is None:
            raise ProviderError(f"the reply has no choice with a message: {shortened(answer)}")
        calls = [_Draft(call) for call in items(message, "tool_calls")]
        return ModelReply(
            _text(message), tuple(call.finished() for call in calls), _usage(part(answer, "usage"))
        )

    def _collector(self) -> Collector:
        return _Chunks()


def openai_messages(messages: Sequence[Message]) -> List[Dict[str, Any]]:
    """Return a conversation as chat completion messages, in the same order.

    Assistant messages that say nothing and call nothing are left out: servers refuse them.
    """
    return [
        _message(message)
        for message in with_call_ids(messages)
        if message.role is not Role.ASSISTANT or message.content or message.tool_calls
    ]


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
    name = _NOT_IN_NAMES.sub("_", str(schema.get("title") or "answer"))[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


def _message(message: Message) -> Dict[str, Any]:
    text = clean(message.content)
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if not message.tool_calls:
        return {"role": message.role.value, "content": text}
    # No text is null and not "": that is how replies without text come, and what servers take.
    calls = [_call(call) for call in message.tool_calls]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _call(call: ToolCall) -> Dict[str, Any]:
    function = {"name": call.tool_name, "arguments": write_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _text(message: Any) -> str:
    content = part(message, "content")
    if isinstance(content, list):  # some compatible servers send parts, as requests may
        content = "".join(words(piece, "text") for piece in content)
    # A refusal is all that the model says then.
    return content if content and isinstance(content, str) else words(message, "refusal")


def _usage(usage: Any) -> Usage:
    return Usage(number(usage, "prompt_tokens"), number(usage, "completion_tokens"))


class _Draft:
    """A tool call, whole or while it arrives."""

    def __init__(self, call: Any) -> None:
        self.id = ""
        self.name = ""
        self._arguments = ""
        self.add(call)

    def add(self, delta: Any) -> None:
        function = part(delta, "function")
        self.id = self.id or words(delta, "id")
        self.name = self.name or words(function, "name")
        arguments = part(function, "arguments")
        if arguments is not None:
            self._arguments += (
                arguments if isinstance(arguments, str) else write_arguments(arguments)
            )

    def is_other(self, delta: Any) -> bool:
        """Whether a delta for this place begins a new call.

        Some servers give every parallel call of a reply the index 0, or no index at all.
        """
        call_id = words(delta, "id")
        if not words(part(delta, "function"), "name") or not self.name:
            return False
        return call_id != self.id if call_id and self.id else index_of(delta) is None

    def finished(self) -> ToolCall:
        return ToolCall(self.name, read_arguments(self._arguments), self.id or None)


class _Chunks:
    """Joins the chunks of one stream."""

    def __init__(self) -> None:
        self._answered = self._finished = False
        self._text: List[str] = []
        self._calls: List[_Draft] = []
        self._by_index: Dict[Any, _Draft] = {}
        self._usage: Any = None

    def add(self, chunk: Any) -> str:
        self._usage = part(chunk, "usage") or self._usage
        # With several choices asked for, the first is the reply, as without streaming.
        choices = [c for c in items(chunk, "choices") if index_of(c) in (0, None)]
        self._finished = self._finished or any(part(each, "finish_reason") for each in choices)
        text = "".join(self._add_delta(part(choice, "delta")) for choice in choices)
        self._text.append(text)
        return text

    def _add_delta(self, delta: Any) -> str:
        self._answered = True
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

    def reply(self) -> ModelReply:
        if not self._answered:
            raise ProviderError("the stream ended without a choice")
        # The count of tokens comes last, so it is a sign of the end, too; some send neither.
        if not self._finished and self._usage is None:
            _logger.warning("the stream ended without a finish_reason; the reply may be incomplete")
        calls = tuple(call.finished() for call in self._calls)
        return ModelReply("".join(self._text), calls, _usage(self._usage))


def _sdk() -> Any:
    try:
        import openai
    except ImportError as error:
        raise ImportError(
            'OpenAIProvider needs the OpenAI SDK: pip install "antiloop[openai]"'
        ) from error
    return openai
