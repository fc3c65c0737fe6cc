"""The reply of a model while it is streamed."""

from typing import Iterator, List, Union

from ..events import TextDelta
from ..providers.protocol import ModelReply
from ..requests import AskModel, Outcome


class StreamedReply:
    """What a model's stream has brought so far, for sync and async drivers alike."""

    def __init__(self, question: AskModel) -> None:
        self.outcome = Outcome()
        """The reply, or the error that ended the stream; no answer if it has brought neither."""
        self.is_over = False
        """Whether the rest need not be read."""
        self._is_enough = question.is_enough
        self._said: List[str] = []

    def take(self, item: Union[str, ModelReply, None]) -> Iterator[TextDelta]:
        """Take the next item of the stream, and yield the event that it is, if any."""
        if isinstance(item, ModelReply):
            self.outcome = Outcome(item)
            return
        if item is None:  # an API sends null where a piece of the reply holds no text
            return
        self._said.append(item)
        yield TextDelta(item)
        if self._is_enough(item):
            self.outcome = Outcome(ModelReply("".join(self._said)))
            self.is_over = True
