"""OpenAI's Responses API: a conversation as items, with the reasoning between them.

A reply is a list of items: reasoning, messages and calls. The API wants the reasoning back as it
was, before the item that it led to, and refuses the conversation otherwise. So a message keeps the
order of its items, whole if only the API reads them; of messages and calls it keeps what is not in
the message itself.
"""

from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..._frozen import thawed
from ...exceptions import ProviderError
from ...types import Image, Message, Role, ToolCall
from ._calls import read_arguments, sent_arguments, with_call_ids, with_sent_names, write_arguments
from ._openai_chat import OpenAIApi, ask_in_words, openai_response_format, openai_tools
from ._protocol import ModelReply, ModelRequest, ReplyEnd, StreamItem, ToolSchema, Usage
from ._sdk import Collector
from ._wire import (
    clean,
    items,
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

_REASONING = "reasoning.encrypted_content"
_LENGTH = "antiloop_length"
"""The length of the part of a message that an item holds; no field of the API."""
_SAID_ELSEWHERE = ("content", "name", "arguments", "call_id")

_IS_OVER = ("response.completed", "response.incomplete", "response.failed")
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ARGUMENTS = "response.function_call_arguments.delta"


class ResponsesApi(OpenAIApi):
    """Make requests, and read replies."""

    source = "openai-responses"
    reserved = "input tools stream previous_response_id conversation"

    def endpoint(self, client: Any) -> Callable[..., Any]:
        """Return the method of the SDK's client that asks the model."""
        responses = part(client, "responses")
        if responses is None:
            raise ImportError('api="responses" needs openai 1.66 or later: pip install -U openai')
        endpoint: Callable[..., Any] = responses.create
        return endpoint

    def arguments(self, request: ModelRequest, source: str, *, stream: bool) -> Dict[str, Any]:
        """Return the keywords for the endpoint; those that are None are left out."""
        arguments: Dict[str, Any] = {"store": False, "include": [_REASONING], **self.options}
        if stream:
            arguments["stream"] = True
        wanted = self.options.get("include")
        if wanted is not None and _REASONING not in wanted:
            arguments["include"] = [*wanted, _REASONING]
        arguments["input"] = responses_input(request.messages, source, request.tools)
        if request.tools:
            arguments["tools"] = responses_tools(request.tools)
            if not request.may_call:
                arguments["tool_choice"] = "none"
        schema = request.response_schema
        if schema is not None and self.native_schema:
            form = {"type": "json_schema", **openai_response_format(schema)["json_schema"]}
            text = self.options.get("text") or {}
            arguments["text"] = {**text, "format": {**form, "strict": False}}
        elif schema is not None:
            ask_in_words(arguments["input"], schema)
        return arguments

    def reply(self, answer: Any, source: str) -> ModelReply:
        if not isinstance(part(answer, "output"), list):
            raise ProviderError(f"the reply has no output: {shortened(answer)}")
        return self._read(answer, items(answer, "output"), source)

    def collector(self, source: str) -> Collector:
        """Return what reads the events of a stream."""
        return _ResponseEvents(lambda answer, output: self._read(answer, output, source))

    def _read(self, answer: Any, output: Sequence[Any], source: str) -> ModelReply:
        """Read a reply.

        Args:
            answer: the response; None for a stream that ended without saying that it is over.
            output: the items of the reply.
            source: the API that sent it.
        """
        status = words(answer, "status")
        if status and status not in ("completed", "incomplete"):
            raise ProviderError(f"the reply has the status {status!r}: {shortened(answer)}")
        end, detail = self._end(answer)
        if end is ReplyEnd.COMPLETE and any(map(_is_refused, output)):
            end, detail = ReplyEnd.WITHHELD, "the model refused to answer"
        usage = part(answer, "usage")
        return ModelReply(
            "".join(map(_text_of, output)),
            tuple(_call_of(item) for item in output if _kind(item) == "function_call"),
            Usage(number(usage, "input_tokens"), number(usage, "output_tokens")),
            end,
            detail,
            opaque(source, items=[_kept(item) for item in output]),
        )

    def _end(self, answer: Any) -> Tuple[ReplyEnd, str]:
        """Return why a reply ended, and what to do about it."""
        if answer is None and self.has_end_mark:
            return ReplyEnd.BROKEN, (
                "the stream ended without a response.completed; ask again, or pass"
                " has_end_mark=False if this server never sends one"
            )
        if words(answer, "status") != "incomplete":
            return ReplyEnd.COMPLETE, ""
        reason = words(part(answer, "incomplete_details"), "reason")
        if reason == "content_filter":
            return ReplyEnd.WITHHELD, f"the server's {reason} withheld the rest of the reply"
        if reason == "max_output_tokens":
            most = self.options.get(reason)
            return ReplyEnd.LENGTH, length_text(f"{reason}={most}" if most else "")
        return ReplyEnd.BROKEN, f"the server ended the reply early ({reason or 'no reason given'})"


def responses_input(
    messages: Sequence[Message], source: str = "", tools: Sequence[ToolSchema] = ()
) -> List[Dict[str, Any]]:
    """Return a conversation as items, in the same order; what says nothing is left out."""
    sent = with_call_ids(with_sent_names(messages, tools))
    return [item for message in sent for item in _items(message, source)]


def responses_tools(tools: Sequence[ToolSchema]) -> List[Dict[str, Any]]:
    """Return the tools as functions.

    Not strict, which is the default here: that refuses a schema with an optional part.
    """
    functions = (each["function"] for each in openai_tools(tools))
    return [{"type": "function", **each, "strict": False} for each in functions]


def _items(message: Message, source: str) -> List[Dict[str, Any]]:
    text = clean(message.content)
    if message.role is Role.TOOL:
        output = _with_images(text, message.images)
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
    if message.role is not Role.ASSISTANT:
        return [{"role": message.role.value, "content": _with_images(text, message.images)}]
    calls = [_call(call) for call in message.tool_calls]
    layout = items(own_data(message.provider_data, source), "items")
    return _laid_out([each for each in layout if isinstance(each, Mapping)], text, calls)


def _with_images(text: str, images: Sequence[Image]) -> Any:
    if not images:
        return text
    urls = (f"data:{each.media_type};base64,{each.data}" for each in images)
    shown = [{"type": "input_image", "image_url": url} for url in urls]
    return [{"type": "input_text", "text": text}, *shown] if text else shown


def _call(call: ToolCall) -> Dict[str, Any]:
    arguments = write_arguments(sent_arguments(call.arguments))
    named = {"call_id": call.id, "name": call.tool_name, "arguments": arguments}
    return {"type": "function_call", **named}


def _laid_out(
    layout: Sequence[Mapping[str, Any]], text: str, calls: Sequence[Dict[str, Any]]
) -> List[Dict[str, Any]]:
    """Return the items of a reply in their order.

    A message that was changed since then no longer fits: its reasoning comes first. Reasoning that
    led to nothing, since the reply was cut off in it, is refused, so it is left out.
    """
    lengths = [number(each, _LENGTH) for each in layout]
    made: List[Dict[str, Any]] = []
    if sum(lengths) != len(text) or len(calls) != sum(map(_is_call, layout)):
        made += [thawed(each) for each in layout if _LENGTH not in each and not _is_call(each)]
        made += [{"role": "assistant", "content": text}] if text else []
        return _without_loose_ends([*made, *calls])
    at, left = 0, iter(calls)
    for each in layout:
        if _is_call(each):
            made.append({**thawed(each), **next(left)})
        elif _LENGTH in each:
            stop = at + number(each, _LENGTH)
            made += _message(each, text[at:stop])
            at = stop
        else:
            made.append(thawed(each))
    return _without_loose_ends(made)


def _message(shell: Mapping[str, Any], text: str) -> List[Dict[str, Any]]:
    if not text:
        return []
    own = {name: value for name, value in thawed(shell).items() if name != _LENGTH}
    return [{**own, "content": [{"type": "output_text", "text": text, "annotations": []}]}]


def _without_loose_ends(made: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    while made and _kind(made[-1]) == "reasoning":
        made.pop()
    return made


def _kind(item: Any) -> str:
    return words(item, "type")


def _is_call(item: Any) -> bool:
    return _kind(item) == "function_call"


def _is_refused(item: Any) -> bool:
    return any(_kind(each) == "refusal" for each in items(item, "content"))


def _text_of(item: Any) -> str:
    """Return what an item says; a refusal is all that the model says then."""
    if _kind(item) != "message":
        return ""
    return "".join(
        words(each, "refusal" if _kind(each) == "refusal" else "text")
        for each in items(item, "content")
    )


def _call_of(item: Any) -> ToolCall:
    call_id = words(item, "call_id") or words(item, "id") or None
    return ToolCall(words(item, "name"), read_arguments(part(item, "arguments")), call_id)


def _kept(item: Any) -> Any:
    """Return what is kept of an item: what its message and its call do not say themselves."""
    kept = plain(item)
    if not isinstance(kept, Mapping) or _kind(item) not in ("message", "function_call"):
        return kept
    kept = {name: value for name, value in kept.items() if name not in _SAID_ELSEWHERE}
    return kept if _is_call(item) else {**kept, _LENGTH: len(_text_of(item))}


def _rest(text: str, known: str) -> str:
    """Return what is said beyond what was streamed: some servers stream no pieces."""
    return text[len(known) :] if text.startswith(known) else ""


class _ResponseEvents:
    """Joins the events of one stream; the last one brings the whole reply."""

    def __init__(self, read: Callable[[Any, Sequence[Any]], ModelReply]) -> None:
        self._read = read
        self._whole: Any = None
        self._said: List[str] = []
        self._items: Dict[int, Any] = {}
        self._unfinished: Dict[int, str] = {}
        """The pieces of items that are not whole yet, by their place."""

    def add(self, event: Any) -> List[StreamItem]:
        kind, at, delta = _kind(event), number(event, "output_index"), words(event, "delta")
        if kind == "error":
            raise ProviderError(words(event, "message") or shortened(event))
        said = ""
        if kind in _IS_OVER:
            self._whole = part(event, "response")
            text = "".join(map(_text_of, items(self._whole, "output")))
            said = _rest(text, "".join(self._said))
        elif kind == "response.output_item.added":
            self._items[at], self._unfinished[at] = part(event, "item"), ""
        elif kind == "response.output_item.done":
            self._items[at] = part(event, "item")
            said = _rest(_text_of(self._items[at]), self._unfinished.pop(at, ""))
        elif kind == _ARGUMENTS or kind in _TEXT:
            self._unfinished[at] = self._unfinished.get(at, "") + delta
            said = delta if kind in _TEXT else ""
        self._said.append(said)
        return stream_items(said, delta if kind in _THOUGHT else "")

    def reply(self) -> ModelReply:
        if self._whole is None and not self._items:
            raise ProviderError("the stream ended without a reply")
        # Some servers leave the output out of the last event.
        output = items(self._whole, "output") or list(filter(None, map(self._item, self._items)))
        reply = self._read(self._whole, output)
        return replace(reply, text="".join(self._said))

    def _item(self, at: int) -> Optional[Any]:
        """Return an item that came; of one that is not whole, what there is."""
        if at not in self._unfinished:
            return self._items[at]
        item, said = plain(self._items[at]), self._unfinished[at]
        if _is_call(item):
            return {**item, "arguments": said}
        if _kind(item) == "message":
            return {**item, "content": [{"type": "output_text", "text": said}]}
        return None  # reasoning that is not whole is refused
