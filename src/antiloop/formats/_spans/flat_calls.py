"""Flat records of calls, as tools for observability export them: a table of columns for each tool.

A record is a call of a tool or of a model, or something around them. They come as a list, inside an
object, one a line, or as a data frame written as JSON.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..._amounts import number, whole_number
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of
from .agent_span import AgentSpan, call_of, tool_message_in
from .span import Span, nanoseconds_of

Row = Mapping[str, Any]
_LISTS = ("data", "runs", "calls", "spans", "observations", "objs")
"""The keys at which an object has its records."""


@dataclass(frozen=True)
class Columns:
    """The fields of a tool's records; a dot leads into an object, a bar names the next choice."""

    kind: str
    needed: Tuple[str, ...]
    """Columns that tell the records of this tool from others, beside the kind."""
    kinds: Mapping[str, str]
    """The words for it, each as ``tool``, ``model``, ``agent``, or empty for all else."""
    name: str = "name"
    arguments: str = ""
    result: str = ""
    error: str = ""
    trace: str = "trace_id"
    span: str = "id"
    parent: str = "parent_id"
    start: str = "start_time"
    end: str = "end_time"
    session: str = ""
    model: str = ""
    input_tokens: str = ""
    output_tokens: str = ""
    cost: str = ""
    level: str = ""
    """The column that says that a call failed, if an error column alone does not mean that."""


def rows_in(value: Any) -> List[Row]:
    """Return the records in a JSON value; the fields around them count for each of them.

    A record may contain records, as its ``child_runs``.
    """
    waiting = _outer_rows(value)[::-1]
    found: Dict[int, Row] = {}
    while waiting:
        row = waiting.pop()
        if id(row) not in found:  # an object may hold itself
            found[id(row)] = row
            waiting += [each for each in items_of(row.get("child_runs")) if isinstance(each, dict)]
    return list(found.values())


def _outer_rows(value: Any) -> List[Row]:
    if isinstance(value, list):
        return [row for row in value if isinstance(row, dict)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("columns"), list):
        names = list(map(text_of, value["columns"]))
        lines = (each for each in items_of(value.get("data")) if isinstance(each, list))
        return [dict(zip(names, each)) for each in lines]
    if isinstance(value.get("data"), dict):
        return _outer_rows(value["data"])
    listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if listed is not None:
        around = {key: value[key] for key in ("sessionId",) if value.get(key)}
        rows = (row for row in listed if isinstance(row, dict))
        return [{**around, **{k: v for k, v in row.items() if v is not None}} for row in rows]
    return _transposed(value) or [value]


def _transposed(value: Row) -> List[Row]:
    """Return the rows of a data frame that is written column by column."""
    columns = list(value.values())
    if not columns or not all(isinstance(each, dict) for each in columns):
        return []
    first = columns[0].keys()
    if len(columns) < 2 or any(each.keys() != first for each in columns):
        return []
    return [{name: value[name][index] for name in value} for index in first]


def value_at(row: Row, path: str) -> Any:
    """Return the value of a column: under its whole name, or inside the objects that it names.

    >>> value_at({"a.b": 1}, "a.b"), value_at({"a": {"b": 1}}, "x|a.b"), value_at({}, "a")
    (1, 1, None)
    """
    for choice in path.split("|"):
        found: Any = row.get(choice)
        if found is None and "." in choice:
            found = row
            for name in choice.split("."):
                found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def fits(row: Row, columns: Columns) -> bool:
    """Whether a record has the columns of a tool."""
    if not isinstance(value_at(row, columns.kind), str):
        return False
    return all(value_at(row, path) is not None for path in columns.needed)


def flat_calls(rows: Iterable[Row], columns: Columns) -> Iterator[Tuple[Span, Optional[AgentSpan]]]:
    """Yield each record with its place in time, and what it says of an agent's run."""
    for row in rows:
        if fits(row, columns):
            span = _span(row, columns)
            yield span, flat_agent_span(row, columns, span)


def _span(row: Row, columns: Columns) -> Span:
    start, end = (nanoseconds_of(value_at(row, each)) for each in (columns.start, columns.end))
    error, level = value_at(row, columns.error), text_of(value_at(row, columns.level)).upper()
    has_failed = level == "ERROR" if columns.level else error not in (None, "")
    return Span(
        text_of(value_at(row, columns.trace)),
        text_of(value_at(row, columns.span)),
        text_of(value_at(row, columns.parent)),
        start,
        max(start, end),
        {},
        error=text_of(error) if has_failed else None,
    )


def flat_agent_span(row: Row, columns: Columns, span: Span) -> AgentSpan:
    """Return what a record says of an agent's run."""
    kind = columns.kinds.get(text_of(value_at(row, columns.kind)).lower(), "")
    session = optional_text(value_at(row, columns.session))
    if kind == "tool":
        return _tool(row, columns, span, session)
    if kind == "model":
        return AgentSpan(
            span,
            "model",
            session,
            model=optional_text(value_at(row, columns.model)),
            input_tokens=whole_number(value_at(row, columns.input_tokens)),
            output_tokens=whole_number(value_at(row, columns.output_tokens)),
            cost=number(value_at(row, columns.cost)),
        )
    agent = optional_text(value_at(row, columns.name)) if kind == "agent" else None
    return AgentSpan(span, kind, session, agent)


def _tool(row: Row, columns: Columns, span: Span, session: Optional[str]) -> AgentSpan:
    given, returned = (
        _only(value_at(row, columns.arguments), "input"),
        value_at(row, columns.result),
    )
    message = tool_message_in(returned)
    returned = _only(returned, "output") if message is None else message["content"]
    failed = span.error is not None or tag_of(message, "status") == "error"
    if span.error and returned in (None, "", {}, []):
        returned = span.error
    result = None if returned is None else ToolResult(text_of(returned), failed)
    return AgentSpan(
        span,
        "tool",
        session,
        call=call_of(value_at(row, columns.name), given, field_of(message, "tool_call_id")),
        knows_arguments=given is not None,
        result=result,
    )


def _only(value: Any, key: str) -> Any:
    """Return what an object holds that has nothing but this key."""
    return value[key] if isinstance(value, dict) and list(value) == [key] else value
