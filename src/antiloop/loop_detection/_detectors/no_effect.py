"""The same change applied again and again, although each answer looks new."""

from dataclasses import replace
from typing import Dict, List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.effect import VERBS
from .._evidence.round import JudgedCall
from .._evidence.streak import is_paced
from .._evidence.window import Window
from .base import ThresholdDetector, detection

_WORDS = 5
"""Words of the shortest text that is a message; a name or a place has fewer."""


@beta
class NoEffectDetector(ThresholdDetector):
    """Find a call that changes the world in the same way in consecutive rounds.

    Inserting the same text into a growing file returns a new answer each time, and sending the same
    message again returns a new message id. Results that differ only in numbers and ids, or that
    show the same lines more often, are not new if the tool itself causes the difference. Only tools
    that change something count, because for a reading tool the numbers are the answer.

    One round more is enough, in a row or not, if the call carries a sentence, as a message does.
    That brings a notice and no more: after other work the same words may be right again. So does an
    act that carries no more than one word, such as a step or a turn: the numbers in its answer may
    say where it led.

    Args:
        threshold: consecutive rounds with the call, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "no_effect"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 3) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check the streak of each call of the last round that changes something."""
        if len(window.rounds) < window.lowest(self.name, self.threshold):
            return None
        previous = window.rounds[-2].calls
        again: Optional[LoopDetection] = None  # with other work between
        for item in window.rounds[-1].sorted_evidence:
            features = item.features
            # A key that is pressed again leads further.
            if features.result is None or features.moves or not features.mutates:
                continue
            needed = self._needed_of(window, features.tool)
            streak = self._streak(window, item) if features.call in previous else []
            if len(streak) >= needed:
                found = self._detection(streak, "times in a row")
                return found if _carries_words(features) else _mild(found)
            again = again or self._again(window, item, needed + 1)
        return again

    def _again(self, window: Window, latest: JudgedCall, needed: int) -> Optional[LoopDetection]:
        """Find the same sentence sent or saved again, whatever was done in between."""
        features = latest.features
        if window.occurrences.came(features) < needed or not _says_a_sentence(features):
            return None
        found = [
            item
            for item in window
            if item.call == features.call and item.features.template == features.template
        ]
        # A report after each wait may say the same as the last one.
        if len(found) < needed or is_paced(window, found):
            return None
        return _mild(self._detection(found, "times"))

    def _streak(self, window: Window, latest: JudgedCall) -> List[JudgedCall]:
        streak: List[JudgedCall] = []
        for passed in reversed(window.rounds):
            item = passed.calls.get(latest.call)
            # The file grows and the id of the message counts up, so numbers and lines that came
            # before are left out. Another template is another effect.
            if item is None or item.features.template != latest.features.template:
                break
            streak.append(item)
        streak.reverse()
        return streak

    def _detection(self, streak: List[JudgedCall], times: str) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        return detection(
            self.name,
            f"Tool {features.tool!r} applied the same change {count} {times}.",
            streak,
            times=f" {count} {times}, each the same change",
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
        )


def _mild(found: LoopDetection) -> LoopDetection:
    return replace(found, refused=(), may_end_run=False)


def _says_a_sentence(features: CallFeatures) -> bool:
    """Whether an act that went well carries a text of some words, and not only names."""
    if features.outcome.is_failure:
        return False
    return any(len(text.split(None, _WORDS)) >= _WORDS for text in _texts_of(features).values())


def _carries_words(features: CallFeatures) -> bool:
    """Whether a call carries more than one word beside its verb: ``move east`` does not."""
    if not features.has_texts:
        return True  # it was too long to be kept
    texts = _texts_of(features)
    return len(" ".join(texts[name] for name in texts if name not in VERBS).split()) > 1


def _texts_of(features: CallFeatures) -> Dict[str, str]:
    given = features.arguments if isinstance(features.arguments, dict) else {}
    return {name: each for name, each in given.items() if isinstance(each, str)}
