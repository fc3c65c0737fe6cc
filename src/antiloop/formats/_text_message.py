"""The words of a run, beside its calls."""

from dataclasses import dataclass
from typing import Iterable, List

from .._short_repr import repr_of_fields
from ..stability import beta
from ..types import Role


@beta
@dataclass(frozen=True)
class TextMessage:
    """One text of a conversation, and where it stands among the calls."""

    role: Role
    """The speaker: the model is the assistant; a notice, or a client's text, is of the system."""
    text: str
    """The whole of it."""
    position: int = 0
    """The number of calls before it in the run; calls of the same reply come after it."""
    is_thought: bool = False
    """Whether it is what the model thought before its reply; thoughts are never judged."""
    is_summary: bool = False
    """Whether the context was cut down here: the model no longer sees what came before."""

    __repr__ = repr_of_fields


def without_thoughts(messages: Iterable[TextMessage]) -> List[TextMessage]:
    """Return what was said, which is all that is judged."""
    return [each for each in messages if not each.is_thought]
