"""Whether two answers are the same, and whether they are known to differ."""

from typing import Iterable, List

from .evidence import Facts
from .outcome import Outcome


def say_alike(one: Facts, other: Facts) -> bool:
    """Whether two answers say the same.

    Failures do, and answers that ask to wait, if only echoes and numbers differ; but between
    answers to the same call numbers count, and to nearly the same where it waits.
    """
    if one.result == other.result:
        return one.result is not None
    kind = one.outcome
    if kind is not other.outcome or not (kind.is_fruitless or kind is Outcome.WAITING):
        return False
    if not kind.says_something:
        return True
    if one.call == other.call or (kind is Outcome.WAITING and one.near == other.near):
        return one.steady == other.steady
    return one.gist == other.gist


def differ(one: Facts, other: Facts, exactly: bool = False) -> bool:
    """Whether two results are known to differ; noise makes no difference unless asked for."""
    if one.result is None or other.result is None or one.result == other.result:
        return False
    if Outcome.REFUSED in (one.outcome, other.outcome):
        return False
    return exactly or one.steady != other.steady


def is_step_forward(facts: Facts, earlier: Iterable[List[Facts]]) -> bool:
    """Whether less is left to do than when this was answered last, to whatever question.

    Args:
        facts: of the answer.
        earlier: those of the rounds before, the last one first.
    """
    left = facts.left
    if left is None:
        return False
    for passed in earlier:
        alike = [
            each.left
            for each in passed
            if each.tool == facts.tool and each.outcome is facts.outcome
            if each.call == facts.call or each.gist == facts.gist
        ]
        known = [each for each in alike if each is not None]
        if known:
            return left < min(known)
    return False
