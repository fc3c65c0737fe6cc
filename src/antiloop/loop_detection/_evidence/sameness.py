"""Whether two answers are the same, and whether they are known to differ."""

from itertools import starmap
from typing import Iterable, List, Sequence

from .call_features import CallFeatures
from .document import Checksums
from .noise import stated
from .outcome import REFUSED, SUCCESS, WAITING
from .round import Round

REMEMBERED = 8
"""The number of rounds in which a document is remembered."""


def say_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two answers say the same.

    Equal results do, and so do two empty or two silent answers. Two failures or waits say the same
    if their words agree; if the call was the same, their numbers must agree, too.
    """
    if one.result == other.result:
        return one.result is not None
    kind = one.outcome
    if kind is not other.outcome or not (kind.is_fruitless or kind is WAITING):
        return False
    if not kind.says_something:
        return True
    # Status 403 after status 404 is another answer to this question. To another question, a number
    # is mostly an echo.
    if one.call == other.call or (kind is WAITING and one.near == other.near):
        return one.steady == other.steady
    return one.wording == other.wording


def show_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two answers show the same sentence or page, whatever was asked."""
    if one.outcome is not SUCCESS or other.outcome is not SUCCESS:
        return False
    # Where the texts are known, most differ soon, and their statements need not be made.
    if one.text is not None and other.text is not None:
        if one.look != other.look or not one.may_state:
            return False
        texts = (one.text.begin, one.arguments), (other.text.begin, other.arguments)
        if one.result != other.result and any(a != b for a, b in zip(*starmap(stated, texts))):
            return False
    return one.statement is not None and one.statement == other.statement


def is_echo(features: CallFeatures) -> bool:
    """Whether an answer is a text of the arguments: a checker gives back what it finds right."""
    text, given = features.text, features.arguments
    if text is None or text.rest or not isinstance(given, dict):
        return False
    texts = given.values()
    return text.begin in texts or text.begin.strip() in texts


def retells(features: CallFeatures, earlier: Sequence[Round]) -> bool:
    """Whether most lines of an answer came before, in answers of the tool to other questions.

    Args:
        features: of the answer.
        earlier: the rounds before, the last one last. The tool must have been asked in that one:
            few healthy steps need more than a glance at it.
    """
    tool = features.tool
    if not (earlier and any(item.tool == tool for item in earlier[-1].evidence)):
        return False
    if not features.lines:
        return False
    items = (item.features for passed in earlier[-REMEMBERED:] for item in passed.evidence)
    documents = [each for each in items if each.tool == tool and each.lines]
    # Most lines are new, so the arguments are looked at last.
    if not _are_most_in(features.lines, documents) or not features.texts:
        return False
    # Questions that share a text, such as a path, may ask for parts of one thing.
    others = [each for each in documents if each.texts and features.texts.isdisjoint(each.texts)]
    return _are_most_in(features.lines, others)


def _are_most_in(lines: Checksums, earlier: Iterable[CallFeatures]) -> bool:
    """Whether earlier answers hold at least four of five lines."""
    new = lines.difference(*[each.lines for each in earlier])
    return 5 * len(new) <= len(lines)


def acknowledges(features: CallFeatures) -> bool:
    """Whether a value such as "ok" may say that a call has done something once more."""
    is_value = features.outcome is SUCCESS and features.is_terse and not features.is_long
    return is_value and not (features.only_looks or features.is_command)


def differ(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two results are known to differ by more than noise."""
    if one.result is None or other.result is None or one.result == other.result:
        return False
    # After a refusal, the answer of the tool is not known.
    if REFUSED in (one.outcome, other.outcome):
        return False
    return one.steady != other.steady


def is_step_forward(features: CallFeatures, earlier: Iterable[List[CallFeatures]]) -> bool:
    """Whether less is left to do than the last such answer said, whatever the call was.

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
            if each.call == features.call or each.wording == features.wording
        ]
        if alike:
            return left < min(alike)
    return False
