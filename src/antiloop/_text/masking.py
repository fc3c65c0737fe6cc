"""Secrets kept out of everything that is shown or kept.

Values are never masked before they are compared or hashed.
"""

import copy
import logging
from typing import Any, Callable, Dict, Union

from ..stability import beta
from .canonical import text_of
from .shortening import MASK, NAME_LENGTH, shortened, visible

MaskRule = Union[str, Callable[[Any], Any]]
"""``"secrets"``, ``"arguments"``, or a function from a value to what may be shown of it."""

_logger = logging.getLogger("antiloop")


@beta
def mask_secrets(value: Any) -> Any:
    """Replace the secrets in a text or in plain JSON values with ``***``.

    Secrets are the values under keys that name one, and texts that look like one, also inside JSON
    text and command lines.

    >>> mask_secrets({"user": "bob", "password": "hunter2"})
    {'user': 'bob', 'password': '***'}
    >>> mask_secrets("curl -H 'Authorization: Bearer abc' https://bob:hunter2@example.org")
    "curl -H 'Authorization: ***' https://bob:***@example.org"
    """
    # Imported here: compiling the patterns takes longer than most runs ever need to wait for them.
    from .secret_values import without_secrets

    return without_secrets(value)


class Masking:
    """A rule that says what may be shown; one that raises shows nothing.

    Args:
        rule: a function that is given a text or plain JSON values, and gives them without what must
            not be shown.
    """

    shows_answers = True
    """Whether a finding may quote what a tool answered."""

    def __init__(self, rule: Callable[[Any], Any]) -> None:
        self._rule = rule

    def arguments(self, arguments: Any) -> Any:
        """Return what may be shown of a call's arguments."""
        return self.value(arguments)

    def value(self, value: Any) -> Any:
        """Return what may be shown of any other value."""
        try:
            # A rule of the user's own may change what it is given, and that is still compared.
            is_ours = self._rule is mask_secrets
            return self._rule(value if is_ours else copy.deepcopy(value))
        except Exception as error:  # noqa: BLE001 - its message may hold what is to be masked
            _logger.error("mask= raised %s; %s is shown instead", type(error).__name__, MASK)
            return MASK

    def text(self, text: str) -> str:
        """Return what may be shown of a text."""
        return text_of(self.value(text))

    def name(self, name: str) -> str:
        """Return what may be shown of a name, which a model makes as long as it likes."""
        return shortened(self.text(name), NAME_LENGTH)


class _NoArguments(Masking):
    """Shows no arguments at all, and no secrets elsewhere."""

    shows_answers = False  # an answer often repeats what was asked

    def arguments(self, arguments: Any) -> Any:  # noqa: ARG002 - whatever they are
        return MASK


SECRETS = Masking(mask_secrets)
"""The masking that is in use where nothing else is asked for."""


def safely_shown(text: str, length: int = 300) -> str:
    """Return a text of a run for a log, a label or a message: without secrets, and `visible`."""
    return visible(SECRETS.text(text), length)


MASKINGS: Dict[str, Masking] = {"secrets": SECRETS, "arguments": _NoArguments(mask_secrets)}
"""The maskings that may be asked for by name."""


def masking_of(rule: MaskRule) -> Masking:
    """Return the masking for a rule.

    Raises:
        ValueError: for a name that is not known.
        TypeError: for what is neither a name nor a function.
    """
    if isinstance(rule, str):
        if rule not in MASKINGS:
            names = ", ".join(MASKINGS)
            raise ValueError(f"unknown mask {rule!r}; choose from {names}, or give a function")
        return MASKINGS[rule]
    if not callable(rule):
        raise TypeError(f"mask must be a name or a function, got {rule!r}")
    return Masking(rule)
