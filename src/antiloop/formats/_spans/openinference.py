"""Spans after the OpenInference conventions: ``openinference.span.kind`` and flattened messages.

See https://arize-ai.github.io/openinference/spec/.
"""

import re
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional

from ..._amounts import number, whole_number
from ...loop_detection._internal import NOTICE_MARKER
from ...types import ToolCall, ToolResult
from .._content import arguments_of, field_of, optional_text, tag_of, text_of
from .agent_span import AgentSpan, call_of, tool_message_in
from .gen_ai import since_the_model_spoke, tool_result
from .span import Span

_KIND = "openinference.span.kind"
_HIDDEN = "__REDACTED__"  # in place of what is set not to be recorded
_MESSAGE = re.compile(r"llm\.(input|output)_messages\.(\d{1,6})\.message\.(.+)", re.DOTALL)
_PART = re.compile(r"contents\.(\d{1,6})\.message_content\.text", re.DOTALL)
_CALL = re.compile(r"tool_calls\.(\d{1,6})\.tool_call\.(.+)", re.DOTALL)


def from_openinference(span: Span) -> Optional[AgentSpan]:
    """Read one span; None if it does not follow these conventions."""
    if not isinstance(span.attributes.get(_KIND), str):
        return None
    given = span.attributes
    attributes = {key: given[key] for key in given if tag_of(given, key) != _HIDDEN}
    span = replace(span, attributes=attributes)
    kind = text_of(attributes.get(_KIND)).upper()
    basis = AgentSpan(
        span,
        "agent" if kind == "AGENT" else "",
        optional_text(attributes.get("session.id")),
        optional_text(attributes.get("agent.name")),
    )
    if kind == "TOOL":
        return _tool(span, basis)
    if kind == "LLM":
        return _model(span, basis)
    return basis


def _tool(span: Span, basis: AgentSpan) -> AgentSpan:
    attributes = span.attributes
    given = attributes.get("input.value")
    # Some instrumentations put the tool's schema into tool.parameters, where arguments belong.
    if given is None and not _is_schema(attributes.get("tool.parameters")):
        given = attributes.get("tool.parameters")
    message = tool_message_in(attributes.get("output.value"))
    returned = attributes.get("output.value") if message is None else message["content"]
    result = tool_result(span, returned)
    if result and message and tag_of(message, "status") == "error":
        result = replace(result, is_error=True)
    named = (attributes.get("tool.id"), attributes.get("tool_call.id"))
    ids = map(optional_text, (*named, field_of(message, "tool_call_id")))
    return replace(
        basis,
        kind="tool",
        call=call_of(attributes.get("tool.name"), given, next(filter(None, ids), None)),
        knows_arguments=given is not None,
        result=result,
    )


def _is_schema(value: Any) -> bool:
    parameters = arguments_of(value)
    return isinstance(parameters, dict) and {"properties", "type"} <= parameters.keys()


def _model(span: Span, basis: AgentSpan) -> AgentSpan:
    attributes = span.attributes
    given, written = _messages(attributes, "input"), _messages(attributes, "output")
    latest = since_the_model_spoke(given)
    return replace(
        basis,
        kind="model",
        model=optional_text(attributes.get("llm.model_name")),
        input_tokens=whole_number(attributes.get("llm.token_count.prompt")),
        output_tokens=whole_number(attributes.get("llm.token_count.completion")),
        tokens=whole_number(attributes.get("llm.token_count.total")),
        cost=number(attributes.get("llm.cost.total")),
        requests=tuple(call for message in written for call in _calls_in(message)),
        answers=tuple(
            (text_of(message["tool_call_id"]), ToolResult(text_of(message.get("content"))))
            for message in latest
            if "tool_call_id" in message
        ),
        user_spoke=any(map(_is_of_user, latest)) if given else None,
        heard="\n".join(_words(message) for message in latest if _is_of_user(message)),
        said="\n".join(filter(None, map(_words, written))) if given else "",
    )


def _words(message: Mapping[str, Any]) -> str:
    """Return the text of a message, which may have several parts."""
    parts = {int(match[1]): message[match[0]] for match in map(_PART.fullmatch, message) if match}
    texts = [message.get("content"), *(parts[number] for number in sorted(parts))]
    return "\n".join(filter(None, map(text_of, texts)))


def _messages(attributes: Mapping[str, Any], side: str) -> List[Dict[str, Any]]:
    """Rebuild the flattened messages of one side, in order."""
    found: Dict[int, Dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _MESSAGE.fullmatch(key)
        if match and match[1] == side:
            found.setdefault(int(match[2]), {})[match[3]] = value
    return [found[index] for index in sorted(found)]


def _calls_in(message: Mapping[str, Any]) -> List[ToolCall]:
    found: Dict[int, Dict[str, Any]] = {}
    for key, value in message.items():
        match = _CALL.fullmatch(key)
        if match:
            found.setdefault(int(match[1]), {})[match[2]] = value
    names = ("function.name", "function.arguments", "id")
    return [call_of(*map(found[index].get, names)) for index in sorted(found)]


def _is_of_user(message: Mapping[str, Any]) -> bool:
    if tag_of(message, "role") != "user":
        return False
    return not text_of(message.get("content")).startswith(NOTICE_MARKER)
