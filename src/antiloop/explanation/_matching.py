"""Find the earlier calls and answers that those of a step are equal to."""

from dataclasses import dataclass
from typing import List, Optional, Tuple

from .._short_repr import Shown
from .._text.masking import Masking
from ..loop_detection import JudgedCall, LoopDetection, Outcome, Round, Window
from ..loop_detection._internal import CallFeatures, differ, say_alike
from ..stability import beta


@beta
@dataclass(frozen=True, repr=False)
class Seen(Shown):
    """An earlier step with the same call."""

    step: int
    """The step, counted from 0."""
    result: str
    """Its result as compared: ``same``, ``same but for noise``, ``another``, ``unknown`` or
    ``refused``."""


@beta
@dataclass(frozen=True, repr=False)
class Match(Shown):
    """A call, and what the window holds that is equal to it."""

    step: int
    """The step of the call, counted from 0."""
    tool: str
    """Its tool; secrets are masked."""
    arguments: str
    """Its arguments, shortened."""
    call: str
    """Fingerprint of tool and arguments."""
    result: Optional[str]
    """Fingerprint of the result, None where it is not known."""
    answer: str
    """The kind of answer."""
    is_new_answer: bool
    """Whether the window had not seen this answer from this tool; never for a failure."""
    is_change: bool
    """Whether it changed the world in a way that the window had not seen."""
    seen: Tuple[Seen, ...]
    """The same call, earlier in the window, oldest first."""
    near_calls: Tuple[int, ...]
    """Steps with nearly the same arguments: other ids, other order of words; oldest first."""
    same_answer: Tuple[int, ...]
    """Steps at which the tool gave the same answer to other calls, oldest first."""
    like_answer: Tuple[int, ...]
    """Steps at which it was unproductive in other words: other numbers, other echoes of the
    arguments."""


def matches_in(window: Window) -> List[Match]:
    """Compare each call of the last round with all that came before."""
    latest = window.rounds[-1].evidence if window.rounds else []
    before = [item for passed in window.rounds[:-1] for item in passed.evidence]
    return [_match(item, before, window.masking) for item in latest]


def before(window: Window, found: LoopDetection) -> str:
    """Describe what comes right before the calls of a loop."""
    at = next(
        number
        for number, passed in enumerate(window.rounds)
        if any(item.index in found.indices for item in passed.evidence)
    )
    if at:
        return _described(window.rounds[at - 1], window.rounds[at])
    first = window.rounds[0].evidence[0].index
    if first == window.turn_start:
        return "the user's message" if first else "the start of the run"
    return "the start of the window"


def _described(earlier: Round, later: Round) -> str:
    same = [each for key, each in later.calls.items() if key in earlier.calls]
    text = "the same call" if same else "another call"
    if any(differ(earlier.calls[each.call].features, each.features) for each in same):
        text += ", another result"
    elif any(item.is_change for item in earlier.evidence):
        text += ", a change of the world"
    elif any(item.is_fresh for item in earlier.evidence):
        text += ", a new answer"
    return f"{text} (step {earlier.evidence[-1].index})"


def _match(item: JudgedCall, before: List[JudgedCall], masking: Masking) -> Match:
    features = item.features
    others = [each for each in before if each.tool == features.tool]
    seen = [each for each in others if each.call == features.call]
    others = [each for each in others if each.call != features.call]
    alike = [each for each in others if say_alike(each.features, features)]
    return Match(
        item.index,
        masking.text(features.tool),
        features.shown.label,
        features.call,
        features.result,
        features.outcome.name.lower(),
        item.is_fresh,
        item.is_change,
        tuple(Seen(each.index, _compared(each.features, features)) for each in seen),
        tuple(each.index for each in others if each.features.near == features.near),
        tuple(each.index for each in alike if each.result == features.result),
        tuple(each.index for each in alike if each.result != features.result),
    )


def _compared(earlier: CallFeatures, later: CallFeatures) -> str:
    if Outcome.REFUSED in (earlier.outcome, later.outcome):
        return "refused"
    if earlier.result is None or later.result is None:
        return "unknown"
    if earlier.result == later.result:
        return "same"
    return "another" if differ(earlier, later) else "same but for noise"
