"""The texts of the last rounds, kept for a judge."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, Iterable, Iterator, List, Mapping, Sequence

from ...types import ToolCall, ToolResult
from ..evidence.compared import Result
from ..text.canonical import canonical_json, copied, parsed_arguments, plain, text_of
from ..text.masking import Masking
from ..text.shortening import NAME_LENGTH, ends_of

MAX_ROUNDS = 20
"""How many rounds are kept."""
MAX_CALLS = 100
"""How many calls they may have together."""
_KEPT_TEXT = 16_000
"""Characters of one text that are kept: both of its ends."""
_SAVED_TEXT = 240
"""Characters of one text that a snapshot keeps."""


@dataclass(frozen=True)
class Excerpt:
    """One call, with texts as they may be shown."""

    index: int
    """The number of the call, counted from 0 over the run."""
    round: int
    """The number of its round; equal for the calls of one reply."""
    tool: str
    arguments: str
    result: str
    """Empty where it is not known, too."""
    is_error: bool = False
    is_known: bool = True
    """Whether the result is known."""
    after_user: bool = False
    """Whether the user has spoken just before this round."""


@dataclass
class _Kept:
    index: int
    round: int
    tool: str
    arguments: Any
    result: Any
    is_error: bool
    after_user: bool
    is_masked: bool = False


class Excerpts:
    """The texts of the last calls of one run; most are masked when they are read."""

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._kept: Deque[_Kept] = deque(maxlen=MAX_CALLS)
        self._after_user = False

    def add(
        self, first: int, number: int, calls: Sequence[ToolCall], results: Sequence[Result]
    ) -> None:
        """Keep the calls of a round, the first of which has this index."""
        for place, call in enumerate(calls):
            result = results[place] if place < len(results) else None
            text = result.text if isinstance(result, ToolResult) else result
            self._kept.append(
                _Kept(
                    first + place,
                    number,
                    self._kept_name(text_of(call.tool_name)),
                    self._kept_arguments(copied(parsed_arguments(call.arguments))),
                    None if text is None else self._kept_text(text_of(text)),
                    isinstance(result, ToolResult) and bool(result.is_error),
                    self._after_user,
                )
            )
        self._after_user = False
        while self._kept and self._kept[0].round <= number - MAX_ROUNDS:
            self._kept.popleft()

    def user_message(self) -> None:
        """Take note that the user has spoken."""
        self._after_user = True

    def masked(self) -> Iterator[Excerpt]:
        """Yield the calls, oldest first, as they may be shown."""
        return map(self._shown, self._kept)

    def to_list(self) -> List[List[Any]]:
        """Return the state as plain JSON, masked and shortened."""
        return [
            [
                *(each.index, each.round, each.tool),
                ends_of(each.arguments, _SAVED_TEXT),
                ends_of(each.result, _SAVED_TEXT) if each.is_known else None,
                *(each.is_error, each.after_user),
            ]
            for each in self.masked()
        ]

    def load(self, listed: Iterable[Sequence[Any]]) -> None:
        """Take over a state that `to_list` gave."""
        for index, number, tool, arguments, result, is_error, after_user in listed:
            text = None if result is None else str(result)
            shown = (str(tool), str(arguments), text, bool(is_error), bool(after_user))
            self._kept.append(_Kept(int(index), int(number), *shown, is_masked=True))

    def _kept_name(self, name: str) -> str:
        return name if len(name) <= NAME_LENGTH else self._masking.name(name)

    def _kept_text(self, text: str) -> str:
        """Return both ends of a text; it is masked first, as half a secret looks like none."""
        return text if len(text) <= _KEPT_TEXT else ends_of(self._masking.text(text), _KEPT_TEXT)

    def _kept_arguments(self, arguments: Any) -> Any:
        bounded = _bounded(arguments)
        if bounded == arguments:
            return arguments
        return _bounded(plain(self._masking.arguments(arguments)))

    def _shown(self, kept: _Kept) -> Excerpt:
        if kept.is_masked:
            tool, arguments, result = kept.tool, kept.arguments, kept.result
        else:
            tool = self._masking.name(kept.tool)
            arguments = _written(plain(self._masking.arguments(kept.arguments)))
            result = None if kept.result is None else self._masking.text(kept.result)
        return Excerpt(
            kept.index,
            kept.round,
            tool,
            arguments,
            result or "",
            kept.is_error,
            result is not None,
            kept.after_user,
        )


def _written(arguments: Any) -> str:
    """Write arguments for a reader: a field a line, texts as they are."""
    if not isinstance(arguments, Mapping):
        return arguments if isinstance(arguments, str) else canonical_json(arguments)
    return "\n".join(f"{name}: {_value(value)}" for name, value in sorted(arguments.items()))


def _value(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return ends_of(value, _KEPT_TEXT)
    if isinstance(value, dict):
        bounded: Dict[str, Any] = {name: _bounded(item) for name, item in value.items()}
        return bounded
    return [_bounded(item) for item in value] if isinstance(value, list) else value
