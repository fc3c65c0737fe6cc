"""Exports of tools for observability, each by its table of columns."""

from dataclasses import replace
from functools import partial
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..._text.canonical import json_or
from ...stability import beta
from .._content import field_of, mapping_of, tag_of, text_of
from .._history import History
from .agent_span import AgentSpan
from .flat_calls import Columns, Row, fits, flat_calls, rows_in, value_at
from .openinference import from_openinference
from .otlp import content_of, without_copies
from .span import Span

_SIDES = ("input_tokens", "output_tokens")
_DEEPEST, _MOST = 12, 100_000
"""Objects inside each other, and entries in all, that are looked at in attributes."""

FlatCall = Tuple[Span, Optional[AgentSpan]]
"""A record with its place in time, and what it says of an agent's run."""

LANGFUSE = Columns(
    kind="type",
    needed=("traceId", "startTime"),
    kinds={"tool": "tool", "generation": "model", "agent": "agent"},
    arguments="input",
    result="output",
    error="statusMessage",
    level="level",
    trace="traceId",
    parent="parentObservationId",
    start="startTime",
    end="endTime",
    session="sessionId",
    model="model",
    input_tokens="usageDetails.input|usage.input",
    output_tokens="usageDetails.output|usage.output",
    cost="totalCost|calculatedTotalCost",
)

LANGSMITH = Columns(
    kind="run_type",
    needed=("inputs",),
    kinds={"tool": "tool", "llm": "model"},
    arguments="inputs",
    result="outputs",
    error="error",
    parent="parent_run_id",
    session="extra.metadata.thread_id|extra.metadata.session_id|thread_id",
    model="extra.metadata.ls_model_name",
    input_tokens="prompt_tokens",
    output_tokens="completion_tokens",
    cost="total_cost",
)

WEAVE = Columns(
    kind="kind",
    needed=("op_name", "trace_id"),
    kinds={"tool": "tool", "llm": "model", "agent": "agent"},
    name="tool",
    arguments="inputs",
    result="output",
    error="exception",
    start="started_at",
    end="ended_at",
    session="thread_id",
    model="model",
    input_tokens="usage.prompt_tokens|usage.input_tokens",
    output_tokens="usage.completion_tokens|usage.output_tokens",
)

PHOENIX = Columns(
    kind="span_kind",
    needed=("context.trace_id", "context.span_id"),
    kinds={},  # the attributes tell it
    error="status_message",
    level="status_code",
    trace="context.trace_id",
    span="context.span_id",
)


MLFLOW = Columns(
    kind="mlflow.spanType",
    needed=("span",),
    kinds={"tool": "tool", "chat_model": "model", "llm": "model", "agent": "agent"},
    arguments="mlflow.spanInputs",
    result="mlflow.spanOutputs",
    error="message",
    level="status",
    trace="trace",
    span="span",
    parent="parent",
    start="start",
    end="end",
    model="mlflow.llm.model",
    input_tokens="mlflow.chat.tokenUsage.input_tokens",
    output_tokens="mlflow.chat.tokenUsage.output_tokens",
)


is_langfuse = partial(fits, columns=LANGFUSE)
is_langsmith = partial(fits, columns=LANGSMITH)
is_phoenix = partial(fits, columns=PHOENIX)
langfuse_calls = partial(flat_calls, columns=LANGFUSE)
langsmith_calls = partial(flat_calls, columns=LANGSMITH)


def weave_calls(rows: Iterable[Row]) -> Iterator[FlatCall]:
    """Read calls of W&B Weave."""
    return flat_calls(_with_kinds(list(rows)), WEAVE)


def phoenix_calls(rows: Iterable[Row]) -> Iterator[FlatCall]:
    """Read spans of Phoenix, whose attributes follow OpenInference."""
    for row in rows:
        for span, _ in flat_calls([row], PHOENIX):
            attributes = _attributes(row)
            kind = text_of(value_at(row, PHOENIX.kind)).upper()
            attributes.setdefault("openinference.span.kind", kind)
            if kind == "TOOL":
                attributes.setdefault("tool.name", value_at(row, PHOENIX.name))
            yield span, from_openinference(replace(span, attributes=attributes))


def mlflow_calls(rows: Iterable[Row]) -> Iterator[FlatCall]:
    """Read spans of MLflow's traces, whose attributes are JSON texts."""
    return flat_calls(map(_of_mlflow, rows), MLFLOW)


def is_mlflow(row: Row) -> bool:
    """Whether a record is a span of MLflow."""
    kind = field_of(row.get("attributes"), MLFLOW.kind)
    return isinstance(json_or(kind, kind), str)


def _of_mlflow(row: Row) -> Row:
    """Return a span of version 2 or 3 in one shape."""
    held = field_of(row, "attributes")
    attributes = {text_of(key): json_or(value, value) for key, value in held.items()}
    usage = attributes.get("mlflow.chat.tokenUsage")
    context = row.get("context") if isinstance(row.get("context"), dict) else row
    status = row.get("status")
    code = row.get("status_code") if status is None else field_of(status, "code")
    return {
        **attributes,
        **{f"mlflow.chat.tokenUsage.{name}": field_of(usage, name) for name in _SIDES},
        "name": row.get("name"),
        "trace": text_of(field_of(context, "trace_id")),
        "span": text_of(field_of(context, "span_id")),
        "parent": row.get("parent_span_id") or row.get("parent_id"),
        "start": row.get("start_time_unix_nano") or row.get("start_time"),
        "end": row.get("end_time_unix_nano") or row.get("end_time"),
        "status": "ERROR" if text_of(code).upper().endswith("ERROR") else "OK",
        "message": row.get("status_message") or field_of(status, "message"),
    }


def is_weave(row: Row) -> bool:
    """Whether a record is a call of W&B Weave, which says nowhere of which kind it is."""
    return isinstance(row.get("op_name"), str) and row.get("trace_id") is not None


def _with_kinds(rows: List[Row]) -> Iterator[Row]:
    """Add the kind of each call.

    An op may be declared as a tool. If none is, a call that calls nothing else and took no tokens
    is a tool.
    """
    rows = [row for row in rows if is_weave(row)]
    parents = {text_of(row.get("parent_id")) for row in rows}
    is_declared = any(_declared(row) for row in rows)
    for row in rows:
        usages = mapping_of(field_of(row.get("summary"), "usage"))
        model, usage = next(iter(usages.items()), ("", {}))
        is_leaf = text_of(row.get("id")) not in parents
        guessed = "llm" if usage else "tool" if is_leaf and not is_declared else ""
        name = row["op_name"].rpartition("/op/")[2].partition(":")[0]
        yield {
            **row,
            "kind": _declared(row) or guessed,
            "tool": name,
            "model": model,
            "usage": usage,
        }


def _declared(row: Row) -> str:
    return tag_of(field_of(row.get("attributes"), "weave"), "kind") or tag_of(
        row.get("attributes"), "kind"
    )


def _attributes(row: Row) -> Dict[str, Any]:
    """Return the attributes of a span as flat keys, from an object or from columns."""
    held = mapping_of(row.get("attributes"))
    flat = dict(_flattened(held, "")) if held else {}
    for key, value in row.items():
        if key.startswith("attributes.") and value is not None:
            flat.update(_flattened(value, key[len("attributes.") :]))
    return flat


def _flattened(value: Any, key: str) -> Iterator[Tuple[str, Any]]:
    """Yield the innermost values, as far as conventions go: an object may hold itself."""
    waiting, count = [(key, value, 0)], 0
    while waiting and count < _MOST:
        key, value, depth = waiting.pop()
        count += 1
        items = _items(value) if depth < _DEEPEST else []
        if not items:
            yield key, value
        waiting += [(f"{key}.{name}" if key else name, each, depth + 1) for name, each in items]


def _items(value: Any) -> List[Tuple[str, Any]]:
    """Return the items of an object, or of a list of objects, with their names or numbers."""
    if isinstance(value, dict):
        return [(text_of(name), each) for name, each in value.items()]
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return [(str(number), each) for number, each in enumerate(value)]
    return []


@beta
def from_langfuse(records: Iterable[Any]) -> History:
    """Read the tool calls of one run out of what Langfuse's API gives.

    Args:
        records: observations, or answers of the API and traces that hold them.

    >>> seen = {"type": "TOOL", "name": "search", "input": {"q": "cats"}, "output": "none",
    ...         "traceId": "t", "id": "a", "startTime": "2026-11-01T10:00:00Z"}
    >>> from_langfuse([{"data": [seen]}]).calls[0].arguments
    {'q': 'cats'}
    """
    return _history(langfuse_calls(_rows(records)))


@beta
def from_langsmith(records: Iterable[Any]) -> History:
    """Read the tool calls of one trace out of its runs in LangSmith."""
    return _history(langsmith_calls(_rows(records)))


@beta
def from_weave(records: Iterable[Any]) -> History:
    """Read the tool calls of one trace out of its calls in W&B Weave."""
    return _history(weave_calls(_rows(records)))


@beta
def from_phoenix(records: Iterable[Any]) -> History:
    """Read the tool calls of one trace out of its spans in Phoenix."""
    return _history(phoenix_calls(_rows(records)))


def _rows(records: Iterable[Any]) -> Iterator[Row]:
    return (row for record in records for row in rows_in(record))


def _history(found: Iterable[FlatCall]) -> History:
    return content_of(without_copies(call for _, call in found if call is not None)).history
