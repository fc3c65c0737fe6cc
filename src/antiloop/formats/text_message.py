"""What was said in a run, beside its calls."""

from dataclasses import dataclass

from ..short_repr import repr_of_fields
from ..stability import beta
from ..types import Role


@beta
@dataclass(frozen=True)
class TextMessage:
    """One text of a conversation, and where it stands among the calls."""

    role: Role
    """Who said it: the model is the assistant, antiloop's own notices are of the system."""
    text: str
    """The whole of it."""
    position: int = 0
    """How many calls of the run came before it; calls of the same reply come after it."""

    __repr__ = repr_of_fields
