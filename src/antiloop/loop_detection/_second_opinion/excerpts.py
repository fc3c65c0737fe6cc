"""The texts of the last rounds, kept for a judge."""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Collection, Deque, Dict, Iterator, Mapping, Optional, Sequence

from ..._text.canonical import copied, parsed_arguments, plain, text_of
from ..._text.difference import opened
from ..._text.masking import Masking
from ..._text.shortening import NAME_LENGTH, ends_of
from ...types import ToolCall, ToolResult
from .._evidence.compared import Result

MAX_ROUNDS = 20
"""The number of rounds that are kept."""
MAX_CALLS = 100
"""The number of calls that they may have together."""
_KEPT_TEXT = 16_000
"""Characters of one text that are kept: both of its ends."""
_WORDS = 600
"""Characters of what the model or the user said last that are kept."""
_TOOLS = 20
"""The number of tools that are counted by name."""
_SAVED_TEXT = 240
"""Characters of one text that a snapshot keeps."""


@dataclass(frozen=True)
class Excerpt:
    """One call; its texts may be shown once they are masked."""

    index: int
    """The number of the call, counted from 0 over the run."""
    round: int
    """The number of its round; equal for the calls of one reply."""
    tool: str
    arguments: Any
    """A text once it is masked."""
    result: Optional[str]
    """None where it is not known."""
    is_error: bool = False
    after_user: bool = False
    """Whether the user has spoken just before this round."""
    is_masked: bool = field(default=False, compare=False)


class Excerpts:
    """The texts of the last calls of one run; most are masked when they are read."""

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._kept: Deque[Excerpt] = deque(maxlen=MAX_CALLS)
        self._after_user = False
        self._counts: Dict[str, int] = {}
        self._loaded: Dict[str, int] = {}  # by masked name
        self.words = self.user = ""
        """The last words of the model and of the user, masked; empty if they are not known."""

    def add(
        self,
        first: int,
        number: int,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        failed: Collection[int] = (),
    ) -> None:
        """Keep the calls of a round.

        Args:
            first: the index of the first call.
            number: of the round.
            calls: in order.
            results: ``results[i]`` belongs to ``calls[i]``; they may be fewer.
            failed: indices of calls that failed, whatever their results say of it.
        """
        for index, (call, result) in enumerate(zip_longest(calls, results), first):
            text = result.text if isinstance(result, ToolResult) else result
            name = self._kept_name(text_of(call.tool_name))
            # A model can make up names without end.
            if name in self._counts or len(self._counts) < _TOOLS:
                self._counts[name] = self._counts.get(name, 0) + 1
            self._kept.append(
                Excerpt(
                    index,
                    number,
                    name,
                    self._kept_arguments(copied(parsed_arguments(call.arguments))),
                    None if text is None else self._kept_text(text_of(text)),
                    index in failed or (isinstance(result, ToolResult) and bool(result.is_error)),
                    self._after_user,
                )
            )
        self._after_user = False
        while self._kept and self._kept[0].round <= number - MAX_ROUNDS:
            self._kept.popleft()

    def user_message(self, text: str = "") -> None:
        """Take note of what the user has said, as far as it is known."""
        self._after_user = True
        self.user = self._shown_words(text)

    def said(self, text: str) -> None:
        """Take note of what the model has said last."""
        self.words = self._shown_words(text) or self.words

    @property
    def counts(self) -> Dict[str, int]:
        """The calls of each tool in the whole run, by masked name; the first tools only."""
        # Two names may be the same once they are masked, and a snapshot knows only masked ones.
        counts = Counter(self._loaded)
        for name, count in self._counts.items():
            counts[self._masking.name(name)] += count
        return dict(counts.most_common(_TOOLS))

    def masked(self) -> Iterator[Excerpt]:
        """Yield the calls, oldest first, as they may be shown."""
        # Masking takes long, and most calls leave before a judge is asked.
        return map(self._shown, self._kept)

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON, masked and shortened."""
        said = [ends_of(text, _SAVED_TEXT) for text in (self.words, self.user)]
        calls = [
            [
                *(each.index, each.round, each.tool),
                ends_of(each.arguments, _SAVED_TEXT),
                None if each.result is None else ends_of(each.result, _SAVED_TEXT),
                *(each.is_error, each.after_user),
            ]
            for each in self.masked()
        ]
        return {"calls": calls, "counts": self.counts, "said": said}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self.words, self.user = map(str, state["said"])
        self._loaded = {str(name): int(count) for name, count in state["counts"].items()}
        for index, number, tool, arguments, result, is_error, after_user in state["calls"]:
            # A snapshot holds nothing unmasked, so nothing is masked again.
            text = None if result is None else str(result)
            shown = (str(tool), str(arguments), text, bool(is_error), bool(after_user))
            self._kept.append(Excerpt(int(index), int(number), *shown, is_masked=True))

    def _shown_words(self, text: str) -> str:
        return ends_of(self._masking.text(text), _WORDS)

    def _kept_name(self, name: str) -> str:
        return name if len(name) <= NAME_LENGTH else self._masking.name(name)

    def _kept_text(self, text: str) -> str:
        """Return both ends of a text; it is masked first, as half a secret looks like none."""
        if len(text) <= _KEPT_TEXT:
            return text
        # Opened before it is cut: half an object cannot be read, and only its wrapping would
        # be left.
        return ends_of(self._opened(text), _KEPT_TEXT)

    def _opened(self, text: str) -> str:
        """Return a masked text, JSON as lines; these are masked, too, as they escape nothing."""
        masked = self._masking.text(text)
        lines = opened(masked)
        return masked if lines == masked else self._masking.text(lines)

    def _kept_arguments(self, arguments: Any) -> Any:
        # Arguments of usual length stay as they are, and are masked when they are shown.
        bounded = _bounded(arguments)
        if bounded == arguments:
            return arguments
        return _bounded(plain(self._masking.arguments(arguments)))

    def _shown(self, kept: Excerpt) -> Excerpt:
        if kept.is_masked:
            return kept
        return replace(
            kept,
            tool=self._masking.name(kept.tool),
            arguments=_written(plain(self._masking.arguments(kept.arguments))),
            result=None if kept.result is None else self._opened(kept.result),
            is_masked=True,
        )


def _written(arguments: Any) -> str:
    """Write arguments for a reader: a field a line, texts as they are."""
    if not isinstance(arguments, Mapping):
        return text_of(arguments)
    return "\n".join(f"{name}: {text_of(value)}" for name, value in sorted(arguments.items()))


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return ends_of(value, _KEPT_TEXT)
    if isinstance(value, dict):
        bounded: Dict[str, Any] = {name: _bounded(item) for name, item in value.items()}
        return bounded
    return [_bounded(item) for item in value] if isinstance(value, list) else value
