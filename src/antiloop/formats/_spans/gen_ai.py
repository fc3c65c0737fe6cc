"""Spans after OpenTelemetry's conventions for generative AI: ``gen_ai.*``.

Arguments and results are opt-in there, and versions of the conventions put them in three places:
attributes of the tool's span, its events, and messages on the model's span. See
https://opentelemetry.io/docs/specs/semconv/gen-ai/.
"""

from dataclasses import replace
from typing import Any, Iterator, List, Mapping, Optional, Tuple, TypeVar

from ..._amounts import number, whole_number
from ...loop_detection._internal import NOTICE_MARKER
from ...types import ToolCall, ToolResult
from .._content import (
    field_of,
    filled_field,
    flag_of,
    items_of,
    optional_text,
    parsed,
    tag_of,
    text_of,
    thoughts_in,
)
from .agent_span import AgentSpan, call_of
from .span import Span

_MODEL = ("chat", "text_completion", "generate_content")
_AGENT = ("invoke_agent", "create_agent", "invoke_workflow")
_DETAILS = "gen_ai.client.inference.operation.details"
NamedAnswer = Tuple[str, ToolResult]
_Message = TypeVar("_Message", bound=Mapping[str, Any])


def from_gen_ai(span: Span) -> Optional[AgentSpan]:
    """Read one span; None if it does not follow these conventions."""
    attributes = span.attributes
    if not any(key.startswith(("gen_ai.", "mcp.method.name")) for key in attributes):
        return None
    operation = tag_of(attributes, "gen_ai.operation.name")
    basis = AgentSpan(
        span,
        "agent" if operation in _AGENT else "",
        conversation_of(attributes),
        optional_text(attributes.get("gen_ai.agent.name")),
    )
    if _is_tool(attributes, operation):
        return _tool(span, basis)
    if operation in _MODEL:
        return _model(span, basis)
    return basis


def conversation_of(attributes: Mapping[str, Any]) -> Optional[str]:
    """Read the id of a conversation or session off the attributes of a span of agents."""
    return optional_text(attributes.get("gen_ai.conversation.id")) or optional_text(
        attributes.get("session.id")
    )


def _is_tool(attributes: Mapping[str, Any], operation: str) -> bool:
    if operation == "execute_tool" or tag_of(attributes, "mcp.method.name") == "tools/call":
        return True
    return not operation and "gen_ai.tool.name" in attributes


def _tool(span: Span, basis: AgentSpan) -> AgentSpan:
    attributes = span.attributes
    # The other names are those of Pydantic AI before the conventions had any.
    given = attributes.get("gen_ai.tool.call.arguments", attributes.get("tool_arguments"))
    returned = attributes.get("gen_ai.tool.call.result", attributes.get("tool_response"))
    for name, event in span.events:
        if name == "gen_ai.tool.message" and given is None:
            given = event.get("content")
        if name == "gen_ai.choice" and returned is None:
            returned = event.get("message")
    named = (attributes.get("gen_ai.tool.name"), given, attributes.get("gen_ai.tool.call.id"))
    return replace(
        basis,
        kind="tool",
        call=call_of(*named),
        knows_arguments=given is not None,
        result=tool_result(span, returned),
    )


def tool_result(span: Span, returned: Any) -> Optional[ToolResult]:
    """Return what a tool's span says of its result; a failure's message counts as one."""
    failed = span.error is not None or flag_of(span.attributes, "error.type")
    if returned is not None:
        return ToolResult(text_of(returned), failed)
    return ToolResult(span.error, True) if span.error else None


def _model(span: Span, basis: AgentSpan) -> AgentSpan:
    attributes = span.attributes
    given, written = _messages(span, "input"), _messages(span, "output")
    requests = [call for message in written for call in _calls_in(message)]
    requests += [call for name, event in span.events for call in _calls_in_event(name, event)]
    thoughts = [thought for message in written for thought in thoughts_in(message.get("parts"))]
    latest = since_the_model_spoke(given)
    answers = [answer for message in latest for answer in _answers_in(message)]
    answers += [answer for name, event in span.events for answer in _answers_in_event(name, event)]
    return replace(
        basis,
        kind="model",
        model=optional_text(attributes.get("gen_ai.response.model"))
        or optional_text(attributes.get("gen_ai.request.model")),
        input_tokens=whole_number(attributes.get("gen_ai.usage.input_tokens")),
        output_tokens=whole_number(attributes.get("gen_ai.usage.output_tokens")),
        cost=number(attributes.get("gen_ai.usage.cost")),
        requests=tuple(requests),
        answers=tuple(answers),
        user_spoke=any(map(_is_of_user, latest)) if given else None,
        heard="\n".join(_words(message) for message in latest if _is_of_user(message)),
        thought="\n".join(thoughts) if given else "",
        said="\n".join(filter(None, map(_words, written))) if given else "",
    )


def _words(message: Mapping[str, Any]) -> str:
    return "\n".join(text_of(part.get("content")) for part in _parts(message, "text"))


def _messages(span: Span, side: str) -> List[Mapping[str, Any]]:
    """Find messages on the span or on its event, as JSON or as JSON text."""
    key = f"gen_ai.{side}.messages"
    details = [event.get(key) for name, event in span.events if name == _DETAILS]
    for found in [span.attributes.get(key), *details]:
        messages = parsed(found)
        if isinstance(messages, list):
            return [message for message in messages if isinstance(message, dict)]
    return []


def since_the_model_spoke(messages: List[_Message]) -> List[_Message]:
    """Return the messages after the last of the assistant."""
    spoken = [i for i, message in enumerate(messages) if tag_of(message, "role") == "assistant"]
    return messages[spoken[-1] + 1 :] if spoken else messages


def _parts(message: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for part in items_of(message.get("parts")):
        if tag_of(part, "type") == kind:
            yield part


def _calls_in(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    for part in _parts(message, "tool_call"):
        yield _call(part)


def _answers_in(message: Mapping[str, Any]) -> Iterator[NamedAnswer]:
    for part in _parts(message, "tool_call_response"):
        returned = part.get("response", part.get("result"))
        if returned is not None:
            yield text_of(part.get("id")), ToolResult(text_of(returned))


def _is_of_user(message: Mapping[str, Any]) -> bool:
    """Whether the user spoke; notices of antiloop and results do not count."""
    texts = [text_of(part.get("content")) for part in _parts(message, "text")]
    if tag_of(message, "role") != "user" or not texts:
        return False
    return not texts[0].startswith(NOTICE_MARKER)


def _calls_in_event(name: str, event: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Read the calls of a choice as the older conventions tell it, in OpenAI's shape."""
    message = parsed(event.get("message")) if name == "gen_ai.choice" else None
    for holder in (message, event if name == "gen_ai.choice" else None):
        for call in items_of(parsed(field_of(holder, "tool_calls"))):
            body = filled_field(call, "function")
            body = call if body is None else body
            yield _call({"id": field_of(call, "id"), **body} if isinstance(body, dict) else {})


def _answers_in_event(name: str, event: Mapping[str, Any]) -> Iterator[NamedAnswer]:
    if name == "gen_ai.tool.message":
        yield text_of(event.get("id")), ToolResult(text_of(event.get("content")))


def _call(part: Mapping[str, Any]) -> ToolCall:
    return call_of(part.get("name"), part.get("arguments"), part.get("id"))
