"""OpenAI Responses: items such as ``function_call`` and ``function_call_output``."""

from typing import Any, Iterable, Optional

from ...stability import beta
from ...types import ToolResult
from .._content import (
    arguments_of,
    field_of,
    first_field,
    is_compaction,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    thoughts_in,
)
from .._history import History
from .._history_builder import HistoryBuilder

_ARGUMENTS = ("arguments", "input", "action", "actions", "operation", "queries", "code")
_RESULTS = ("output", "outputs", "results", "error")


@beta
def from_openai_responses(items: Iterable[Any]) -> History:
    """Read the tool calls and results of an OpenAI Responses conversation.

    Any item whose type ends in ``_call`` is a call, also of the tools that OpenAI runs itself; of
    those the result is known where the item holds it. See
    https://platform.openai.com/docs/api-reference/responses.

    Args:
        items: input and output items, oldest first, as JSON objects or as the SDK's own; whole
            responses may be among them. Anything else is skipped.

    Returns:
        All calls with their results. The calls of one response are one round. In a list of
        items, a round ends with the first result after a call, or with a user message.

    >>> history = from_openai_responses([
    ...     {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
    ...     {"type": "function_call_output", "call_id": "c1", "output": "nothing found"},
    ... ])
    >>> history.calls[0].tool_name, history.results[0].text
    ('search', 'nothing found')
    """
    history = ItemsBuilder()
    for item in items:
        history.add_item(item)
    return history.build()


def is_call(item: Any) -> bool:
    """Whether an item is a call of a tool."""
    return tag_of(item, "type").endswith("_call")


def is_hosted_call(item: Any) -> bool:
    """Whether an item is a call of a tool other than a function."""
    return is_call(item) and tag_of(item, "type") != "function_call"


def is_result(item: Any) -> bool:
    """Whether an item is what came back from a tool."""
    return tag_of(item, "type").endswith("_call_output")


def is_response(item: Any) -> bool:
    """Whether a value is a whole response, which holds items."""
    return tag_of(item, "object") == "response" and isinstance(field_of(item, "output"), list)


def is_message(item: Any) -> bool:
    """Whether an item is what the model said."""
    return tag_of(item, "role") == "assistant"


def tool_of(item: Any) -> str:
    """Name the tool that an item calls; tools of OpenAI's own are named by its type."""
    return text_of(field_of(item, "name")) or tag_of(item, "type")[: -len("_call")]


def result_of(item: Any) -> ToolResult:
    """Read a result; the format marks a failure only if OpenAI ran the tool."""
    failed = tag_of(item, "status") == "failed" or field_of(item, "error") is not None
    return ToolResult(text_of(first_field(item, *_RESULTS)), failed)


class ItemsBuilder(HistoryBuilder):
    """Collects calls and results, item by item."""

    def __init__(self, client: Optional[str] = None) -> None:
        super().__init__(client)
        self._items = 0
        self._round = 0
        self._first = 0
        self._is_round_over = True

    def add_item(self, item: Any, at: Optional[float] = None) -> None:
        """Add one item, or all items of a response; what is neither is passed over."""
        if is_response(item):
            self._is_round_over = True
            for inner in field_of(item, "output"):
                self._add_item(inner, at)
            self._is_round_over = True
        else:
            self._add_item(item, at)
        self._items += 1

    def add_user_message(self, *texts: str) -> None:
        """Note that the user spoke, which ends a round."""
        super().add_user_message(*texts)
        self._is_round_over = True

    def _add_item(self, item: Any, at: Optional[float]) -> None:
        if is_call(item):
            self._add_request(item, at)
        elif is_result(item):
            self.add_result(self._read_result(item), _id_of(item), ended_at=at)
            self._is_round_over = True
        elif is_message(item):
            said = texts_in(field_of(item, "content"))
            self.add_reply(*said, position=self._position())
        elif is_compaction(item):
            self.add_summary()
        elif tag_of(item, "type") == "reasoning":
            self.add_thoughts(*thoughts_in([item]), position=self._position())
        elif tag_of(item, "role") == "user":
            self.add_user_message(text_of(field_of(item, "content")))

    def _read_result(self, item: Any) -> ToolResult:
        return result_of(item)

    def _position(self) -> Optional[int]:
        """Return where words stand; those between calls and results belong to the calls."""
        return None if self._is_round_over else self._first

    def _add_request(self, item: Any, at: Optional[float]) -> None:
        if self._is_round_over:
            self._round, self._first = self._items, len(self)
        self._is_round_over = False
        arguments = arguments_of(first_field(item, *_ARGUMENTS))
        self.add_call(tool_of(item), arguments, _id_of(item), self._round, at)
        if first_field(item, *_RESULTS) is not None:
            self.add_result(self._read_result(item), _id_of(item))


def _id_of(item: Any) -> Optional[str]:
    return optional_text(field_of(item, "call_id")) or optional_text(field_of(item, "id"))
