"""The requests of the core loop to its driver.

The loop is a generator that yields requests and is sent the answers; it does no I/O itself. The
helpers here are used with ``yield from``, so that each answer has the type of its question.
"""

from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    Generator,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)

from ..exceptions import ProviderError
from ..loop_detection import CaseFile, Opinion, SecondOpinion
from ..types import ToolResult
from ._drivers.asking import opinion_in
from ._events import AgentEvent, TextDelta
from ._tools.toolbox import Invocation
from .providers._protocol import ModelReply, ModelRequest, Provider, Thought
from .providers._wire import shortened

ReplyPiece = Union[str, Thought]
"""A piece of a stream, before the whole reply."""


@dataclass(frozen=True)
class AskModel:
    """Ask the model; the answer is its reply. What the provider raises is thrown in."""

    request: ModelRequest
    is_enough: Callable[[ReplyPiece], bool]
    """For a streamed reply: takes each piece of text or of thoughts, and says whether to end
    the stream there. What was said until then is the reply."""
    provider: Optional[Provider] = None
    """The model to ask; None for that of the agent."""


@dataclass(frozen=True)
class RunTools:
    """Run these calls at the same time; the answer is their results, in this order."""

    invocations: Tuple[Invocation, ...]


@dataclass(frozen=True)
class CallUser:
    """Call a function of the user's, for a limited time; the answer is what it returned.

    None is answered where it raises or takes too long, which is logged.
    """

    function: Any
    argument: Any
    name: str
    timeout_s: Optional[float]


@dataclass(frozen=True)
class Tell:
    """Notify the observers; the answer is None."""

    hook: str
    """Name of the sync method, e.g. ``"on_tool_start"``."""
    arguments: Tuple[Any, ...]


@dataclass(frozen=True)
class Emit:
    """Yield an event to the reader of the stream; the answer is None."""

    event: AgentEvent


Question = Union[AskModel, RunTools, CallUser, Tell]
"""A request that a driver answers."""
Request = Union[Question, Emit]
"""A request that the loop yields."""
T = TypeVar("T")
Steps = Generator[Request, Any, T]
"""A part of the loop that ends with a T; the helpers below give the answers their types."""


def ask_model(
    request: ModelRequest,
    is_enough: Callable[[ReplyPiece], bool],
    provider: Optional[Provider] = None,
) -> Steps[ModelReply]:
    """Ask the model; see `AskModel`.

    Raises:
        ProviderError: if the answer is not a reply.
    """
    reply = yield AskModel(request, is_enough, provider)
    if not isinstance(reply, ModelReply):
        raise ProviderError(f"the provider returned {shortened(reply)}, not a ModelReply")
    return reply


def run_tools(invocations: Sequence[Invocation]) -> Steps[Sequence[ToolResult]]:
    """Run calls at the same time; results come back in the order of the calls."""
    return cast(Sequence[ToolResult], (yield RunTools(tuple(invocations))))


def ask_judge(options: SecondOpinion, case: CaseFile) -> Steps[Optional[Opinion]]:
    """Ask for a second opinion; None for no opinion."""
    return opinion_in((yield CallUser(options.judge, case, "the judge", options.timeout)))


def tell(hook: str, *arguments: Any) -> Steps[None]:
    yield Tell(hook, arguments)


@dataclass(frozen=True)
class Response:
    """The response to a request: an answer, or the exception that it met."""

    answer: Any = None
    error: Optional[Exception] = None


def advance(loop: Steps[None], response: Response) -> Optional[Request]:
    """Send the loop a response and return its next request; None when it is done."""
    try:
        if response.error is not None:  # an exception may be empty, and false
            return loop.throw(response.error)
        return loop.send(response.answer)
    except StopIteration:
        return None


class StreamedReply:
    """The reply that a model's stream has brought so far, for sync and async drivers alike."""

    def __init__(self, question: AskModel) -> None:
        self.response = Response()
        """The reply, or the error that ended the stream; no answer if it has brought neither."""
        self.is_over = False
        """Whether the rest need not be read."""
        self._is_enough = question.is_enough
        self._said: List[str] = []

    def take(self, item: Union[ReplyPiece, ModelReply, None]) -> Iterator[TextDelta]:
        """Take the next item of the stream, and yield the event that it is, if any."""
        if isinstance(item, ModelReply):
            self.response = Response(item)
            return
        if item is None:  # an API sends null where a piece of the reply holds no text
            return
        if not isinstance(item, Thought):
            self._said.append(item)
            yield TextDelta(item)
        if self._is_enough(item):
            self.response = Response(ModelReply("".join(self._said)))
            self.is_over = True
