"""The messages to the model.

Text from a model or a tool is untrusted: it is shortened, its control characters are escaped, and
results are never quoted, so no tool can forge or break a notice.
"""

import logging
import re
from typing import Any, Callable, List, Mapping, Sequence, Union

from .._text.shortening import visible
from ..stability import beta
from ._detection import LoopDetection
from ._evidence.outcome import REFUSED_MARKER

NOTICE_MARKER = "[antiloop] Notice:"
"""The beginning of every notice, by which it is recognized in any history."""

MessageRule = Union[str, Callable[[LoopDetection], str], None]
"""A text from the user, a function that makes one, or None for the built-in text."""

_logger = logging.getLogger("antiloop")
_FIRST = (
    "use what you already know instead of asking again",
    "try a different tool, or clearly different arguments",
    "if you cannot get further, say what is missing and finish with what you have",
)
_ADVICE: Mapping[str, Sequence[str]] = {
    "failing": (
        "read the error and change what it names, not something else",
        "check your assumption with a different tool before you try again",
        "if the failure is not in your hands, report it and finish with what you have",
    ),
    "empty": (
        "nothing is there: accept that as the answer",
        "look for it in another place or by another name",
        "say that it could not be found and finish with what you have",
    ),
    "waiting": (
        "wait before you ask again, and work on something else meanwhile",
        "look for what holds it up with a different tool",
        "report that it is still under way and finish with what you have",
    ),
    "cycle": (
        "decide which of these calls is the one that matters and act on its result",
        "take a step that is not one of them",
        "if they contradict each other, say so and finish with what you have",
    ),
    "words": (
        "do the next step now, with a tool call, instead of announcing it",
        "if something is in your way, say in one sentence what it is",
        "if you are done, give your answer once and stop",
    ),
    "other": (
        "stop this line of work; its result will not change",
        "go back to the task and pick a part that is still open",
        "give your final answer with what you have, and say what is uncertain",
    ),
}
_LAST_WORDS = (
    "Your tools are withdrawn and this run ends with your next message. Call nothing. Write "
    "your final answer now: what you have found or done so far, and what is still missing."
)
_TAG = re.compile(r"<(?=\s*(?:/\s*)?system-notice)", re.IGNORECASE)
_KINDS = {
    "failure": "failing",
    "invalid": "failing",
    "empty": "empty",
    "silent": "empty",
    "waiting": "waiting",
}


def _advice(found: LoopDetection) -> Sequence[str]:
    """Return the advice for this kind of loop."""
    if _is_about_words(found):
        return _ADVICE["words"]
    kind = "cycle" if found.period > 1 and "cycle" in found.details else "other"
    return _ADVICE[_KINDS.get(str(found.details.get("answer")), kind)]


def _is_about_words(found: LoopDetection) -> bool:
    return "words" in found.details


def notice(rule: MessageRule, found: LoopDetection, rung: int) -> str:
    """Write a notice: what was found and what to try. The second one on a loop is stronger.

    Args:
        rule: the user's own text, if any.
        found: the loop.
        rung: how many rungs of the ladder this loop has climbed.
    """
    # Text of the user's is taken as it is: it may be in another language.
    if callable(rule):
        return _text_from(rule, found)
    if rule is not None:
        return rule
    # What fits every loop comes first; what fits this kind is kept for a model that went on.
    # To wait on may be right, so the first notice about it says what to check.
    waits = found.details.get("answer") == "waiting"
    advice = _advice(found) if rung or waits or _is_about_words(found) else _FIRST
    again = "say it" if _is_about_words(found) else "make these calls"
    # The first notice offers a choice; a model that went on after it gets an order.
    urge = "What you wait for may have ended, or may hang. Find out before you wait on:"
    if not waits:
        urge = "Repeating this will not bring anything new. Try another approach:"
    if rung:
        urge = f"You got this notice before and went on. Do not {again} again. Do one of these now:"
    calls = [_call(number, *call) for number, call in enumerate(found.calls, 1)]
    return "\n".join([f"{NOTICE_MARKER} {visible(found.message)}", *calls, urge, *_listed(advice)])


def last_words(found: LoopDetection) -> str:
    """Write what a model is asked at ``conclude``, when its tools are withdrawn."""
    return f"{NOTICE_MARKER} {visible(found.message)}\n{_LAST_WORDS}"


def _text_from(rule: Callable[[LoopDetection], Any], found: LoopDetection) -> str:
    text = rule(found)
    if not isinstance(text, str):
        raise TypeError(f"inject_message must return a text, got {type(text).__name__}")
    return text


def words_of_notice(rule: MessageRule, found: LoopDetection, rung: int) -> str:
    """Return the text of a notice; a rule that raises is logged and ignored."""
    try:
        return notice(rule, found, rung)
    except Exception:
        _logger.exception("inject_message raised; the default text is used")
        return notice(None, found, rung)


def refusal(found: LoopDetection, tool: str, arguments: str) -> str:
    """Write why a call was refused; the text always begins with `REFUSED_MARKER`.

    Args:
        found: the loop that the call belongs to.
        tool: the tool that was refused.
        arguments: its arguments, shortened.
    """
    return "\n".join(
        [
            f"{REFUSED_MARKER} this call was not run. {visible(found.message)}",
            _call(1, tool, arguments),
            "It stays refused until you do something else. Do one of these now:",
            *_listed(_advice(found)),
        ]
    )


@beta
def system_notice(text: str) -> str:
    """Return a system message inside the conversation as text of the user's turn.

    Only the newest models accept the role `system` there; others reject the request. These models
    know tags as a sign of where a text comes from. The text may quote a tool or the model, so the
    tag inside it is defused: it can neither end the notice nor begin one.
    """
    # Only the tag is defused, so that the text stays readable.
    inner = _TAG.sub("&lt;", text)
    return f"<system-notice>\n{inner}\n</system-notice>"


def _call(number: int, tool: str, arguments: str) -> str:
    return f"{number}. {visible(tool, 80)} {visible(arguments, 120)}"


def _listed(advice: Sequence[str]) -> List[str]:
    return [f"- {line}" for line in advice]
