"""Whether two answers are the same, and whether they are known to differ."""

from typing import Iterable, List

from .call_features import CallFeatures
from .outcome import REFUSED, WAITING


def say_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two answers say the same.

    Failures do, and answers that ask to wait, if only echoes and numbers differ; but between
    answers to the same call numbers count, and to nearly the same where it waits.
    """
    if one.result_key == other.result_key:
        return one.result_key is not None
    kind = one.outcome
    if kind is not other.outcome or not (kind.is_fruitless or kind is WAITING):
        return False
    if not kind.says_something:
        return True
    if one.call_key == other.call_key or (kind is WAITING and one.near == other.near):
        return one.steady == other.steady
    return one.wording == other.wording


def may_say_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two answers of one tool may say the same, by what is quick to see."""
    return one.tool == other.tool and (
        one.outcome is other.outcome or one.result_key == other.result_key
    )


def differ(one: CallFeatures, other: CallFeatures, exactly: bool = False) -> bool:
    """Whether two results are known to differ; noise makes no difference unless asked for."""
    if one.result_key is None or other.result_key is None or one.result_key == other.result_key:
        return False
    if REFUSED in (one.outcome, other.outcome):
        return False
    return exactly or one.steady != other.steady


def is_step_forward(features: CallFeatures, earlier: Iterable[List[CallFeatures]]) -> bool:
    """Whether less is left to do than when this was answered last, to whatever question.

    Args:
        features: of the answer.
        earlier: those of the rounds before, the last one first.
    """
    left = features.left
    if left is None:
        return False
    for passed in earlier:
        alike = [
            each.left
            for each in passed
            if each.tool == features.tool and each.outcome is features.outcome
            if each.left is not None
            if each.call_key == features.call_key or each.wording == features.wording
        ]
        if alike:
            return left < min(alike)
    return False
