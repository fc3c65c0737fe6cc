"""The looser ways to compare a call and its answer, by name: what each of them looks at."""

from typing import Any

from .amount import amount_left
from .effect import asks_of_a_job
from .fingerprint import KEY_LENGTH, text_fingerprint
from .kept_text import KeptText
from .noise import near_arguments, speaks_of_a_job, template, wording
from .outcome import WAITING, Outcome

LOOSER = ("steady", "wording", "near", "template", "left")
NOT_SAID = "f" * KEY_LENGTH
"""The amount left where an answer names none."""


def looser_key(name: str, tool: str, arguments: Any, text: KeptText, kind: Outcome) -> str:
    """Return the key by which a call and its answer are compared in one of the looser ways."""
    if name == "left":
        left = amount_left(text.begin)
        return NOT_SAID if left is None else f"{left:0{KEY_LENGTH}x}"
    return text_fingerprint(_compared(name, tool, arguments, text, kind))[:KEY_LENGTH]


def _compared(name: str, tool: str, arguments: Any, text: KeptText, kind: Outcome) -> str:
    if name == "near":
        return near_arguments(arguments)
    if name == "wording":
        return wording(text.begin, arguments) if kind.says_something else ""
    if name == "template":
        return template(text.begin)
    waits = kind is WAITING or asks_of_a_job(tool, arguments)
    return text.without_noise(waits or speaks_of_a_job(text.begin), kind.is_failure)
