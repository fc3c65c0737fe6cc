"""The same failure under changing arguments, and rows of unproductive calls.

A round is looked at in this order, and the first finding counts:

1. Calls of one tool that gave this fruitless answer, whatever they asked. The evidence is strong,
   and a block of the tool can refuse more of them.
2. Different calls that brought this page or sentence. One login or one quota may answer for
   all tools of an agent, so this brings a notice and never ends the run.
3. Rounds that were all unproductive, over any tools. The evidence is weakest: attempts that fail in
   different ways are normal work, so some of them must repeat an earlier answer.
"""

from dataclasses import replace
from typing import Callable, List, Optional

from ..._checks import check_threshold
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import EMPTY, SILENT, SUCCESS, WAITING
from .._evidence.refusal import whole_tool
from .._evidence.round import JudgedCall
from .._evidence.sameness import say_alike, show_alike
from .._evidence.streak import is_amid_acts, is_paced, streak_of
from .._evidence.window import Window
from .base import ThresholdDetector, detection, patience_of

# A tool that finds nothing for a dozen questions, or is busy a dozen times, will not do better for
# the next one.
PATIENCE = 12
"""Rounds with the same answer if it is not a failure."""
ROW_SPACING = 2
"""Rounds between two detections of a streak over any tools. Such a streak is never blocked, so this
spacing lets its stop come as late after the notice as that of other loops."""
TOOL_SPACING = 2
"""Rounds between two rungs if a block refuses a whole tool, and its calls differed."""
# One captcha or quota answers every question alike, in any language. Four equal answers also come
# from inserts and from empty patches, so a tool that may act needs more.
ONE_LOOK = 6
"""Rounds with one answer to different questions, if the tool only looks."""
ONE_ANSWER = 9
"""The same if the tool may be something else, or the answer is a word such as "available"."""
# With one more from the start on, an agent whose server failed on and off, and who got through, got
# four notices more.
FRESH_PER_MATCH = 0.25
"""New results allowed for each failure: an agent that learns something else is not stuck."""


@beta
class FailureStreakDetector(ThresholdDetector):
    """Find a tool that fails in the same way under changing arguments, or rounds that all fail.

    Two failures are the same if they differ only in numbers and in echoes of the arguments:
    "ticket 1000 not found", "ticket 1001 not found". An identical long answer counts as well: the
    agent has read it before. Rounds that failed, found nothing or returned known results are also a
    streak, for any mix of tools; rounds that are neither unproductive nor new are skipped. If all
    are failures of one tool, and a call was made again although it failed, their words do not
    matter. The next calls differ, so a block would not help, and the ladder takes its last action
    instead. An answer with less left to do, such as fewer failed tests, starts a new streak.

    The same page or sentence after six different calls, but for addresses and echoes of the
    arguments, brings a notice and no more.

    With `patience`, answers that are not failures need more rounds: a tool that finds nothing for
    any arguments, or one that asks to come back later.

    Args:
        threshold: rounds with the same failure of one tool, with at most one new result for four
            of them, 2 or more; or rounds in a row with any failures of one tool, if one of its
            calls had failed in the same way before.
        patience: rounds with the same answer of one tool that finds nothing or is too busy; by
            default 12, or the threshold if that is more.
        in_a_row: unproductive rounds in a row, over any tools, 2 or more. Such a streak is weaker
            evidence, so it is reported again only two rounds later. If each round looks for
            something else and finds nothing, it is reported again `in_a_row` rounds later.
        repeats: rounds of such a streak that must repeat an earlier answer, including the last
            one, 0 or more; a streak of twice the length needs none. An agent whose attempts all
            fail in different ways explores.

    Raises:
        ValueError: if a number other than `repeats` is below 2, or patience below the threshold.
    """

    name = "failure_streak"
    look_back = 50
    ignores_new_rounds = True

    def __init__(
        self,
        threshold: int = 4,
        *,
        in_a_row: int = 5,
        repeats: int = 0,
        patience: Optional[int] = None,
    ) -> None:
        super().__init__(threshold)
        check_threshold("in_a_row", in_a_row)
        check_threshold("repeats", repeats, 0)
        self.in_a_row = in_a_row
        self.repeats = repeats
        usual = max(PATIENCE, threshold)
        self.patience: int = patience_of(threshold, usual if patience is None else patience)
        self.span: int = max(threshold, in_a_row)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the failures of the last round."""
        is_unproductive = bool(window.rounds)
        for item in window.rounds[-1].sorted_evidence if is_unproductive else ():
            found = self._of_same_answer(window, item)
            if found is not None:
                return found
            # One productive sibling is enough for the round to have brought something.
            is_unproductive = is_unproductive and item.is_unproductive
        if is_unproductive:
            row = streak_of(window, lambda item: item.is_unproductive, fresh_per_match=0.0)
            is_enough = self._is_enough(window, row) and not _is_poll(window, row)
            if is_enough and not is_amid_acts(window, row):
                return self._of_any_tool(window, row)
        return None

    def _of_same_answer(self, window: Window, item: JudgedCall) -> Optional[LoopDetection]:
        """Find the calls that were answered as this one was."""
        is_success = item.outcome is SUCCESS
        if is_success and item.is_fresh:
            return None
        if _is_fruitless(item):
            needed = self._needed(window, item.features)
            # Waits are judged by themselves: an agent that looks at a log between two of them is
            # patient.
            streak = self._same_failure(window, item.features, needed)
            if len(streak) >= needed and not _is_poll(window, streak):
                return self._of_one_tool(streak)
        shown = self._same_page(window, item.features) if is_success else []
        return self._of_one_page(shown) if shown else None

    def _is_enough(self, window: Window, row: List[JudgedCall]) -> bool:
        """Whether a row over any tools is long enough and repeats answers often enough."""
        needed = self._needed_of(window, row[-1].tool)
        if row[-1].features.is_command:
            # A shell is many tools, so its row is one over any tools that repeats one answer.
            needed = max(needed, self.in_a_row - 1)
        # An agent that makes a call again although it failed has not read the answer, so four
        # rounds are enough, in whatever words the others failed.
        if len(row) >= needed and _is_stubborn(row):
            return True
        # Five attempts that fail in five ways are exploring; ten of them are not. Eight of 23 false
        # alarms on labeled runs were such rows, and the repeats cost one loop.
        if len(row) < self.in_a_row or len(row) >= 2 * self.in_a_row or not self.repeats:
            return len(row) >= self.in_a_row
        repeats = _repeats(row, _are_alike)
        # A failure in new words may be the first step of another way.
        return repeats >= self.repeats and repeats > _repeats(row[:-1], _are_alike)

    def _same_failure(self, window: Window, latest: CallFeatures, needed: int) -> List[JudgedCall]:
        # Most failures of a healthy run come alone, and wording is costly to compare.
        if window.occurrences.count_possibly_alike(latest) < needed:
            return []
        return streak_of(
            window,
            lambda item: item.tool == latest.tool and say_alike(item.features, latest),
            fresh_per_match=FRESH_PER_MATCH,
        )

    def _same_page(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        """Return the calls that brought the same page as the latest one, if these are enough.

        One tool may acknowledge what it did with the same sentence each time.
        """
        needed = max(self.threshold, ONE_LOOK)
        looks = [item.features.look for item in window]
        # A statement is costly to make, and most are of answers that begin like few others.
        if None not in looks and looks.count(latest.look) < needed:
            return []
        shown = streak_of(
            window,
            lambda item: show_alike(item.features, latest),
            fresh_per_match=FRESH_PER_MATCH,
        )
        is_telling = latest.only_looks or latest.is_page
        is_telling = is_telling or len({item.tool for item in shown}) > 1
        return shown if is_telling and len(shown) >= needed else []

    def _needed(self, window: Window, features: CallFeatures) -> int:
        # A long answer that the agent has read before is as telling as a failure: it will not say
        # more.
        usual = self.threshold if features.outcome.is_failure or features.is_long else self.patience
        if features.outcome is SUCCESS and not features.is_long:
            usual = max(
                self.threshold,
                ONE_LOOK if features.only_looks and not features.is_terse else ONE_ANSWER,
            )
        # The tool says that it found nothing, so twice `in_a_row` is enough.
        if features.outcome is EMPTY:
            usual = min(usual, max(self.threshold, 2 * self.in_a_row))
        return window.threshold(self.name, features.tool, usual)

    def _of_one_tool(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        waits = features.outcome is WAITING
        what = "asked to come back later" if waits else "gave the same fruitless answer"
        # Failures in the same words are one loop, whatever they echo; so are all answers of
        # "nothing".
        said = features.result if features.outcome.says_something else features.outcome.value
        found = detection(
            self.name,
            f"Tool {features.tool!r} {what} {count} times.",
            streak,
            times=f", the last of {count} calls that {what}"
            if waits
            else f", {count} calls with the same fruitless answer",
            identity=(features.tool, features.wording if features.outcome.counts_down else said),
            refused=whole_tool(features),
            details={"tool": features.tool, "count": count, "result_hash": features.result},
        )
        # It may be the acknowledgment of a tool that does something new each time.
        if _may_acknowledge(features):
            return replace(found, refused=(), may_end_run=False)
        # The next port or page may be the right one, and no block would help: the end comes late.
        if _tries_numbers(streak):
            return replace(found, spacing=PATIENCE)
        # A block of a whole tool hits healthy calls, too. Where calls only resembled each other,
        # the agent gets a round more to leave by itself.
        is_firm = features.is_command or features.is_missing or 2 * _exact(streak) >= count
        return found if is_firm else replace(found, spacing=TOOL_SPACING)

    def _of_one_page(self, shown: List[JudgedCall]) -> LoopDetection:
        features, count = shown[-1].features, len(shown)
        found = detection(
            self.name,
            f"{count} different calls brought the same page or sentence.",
            shown,
            times=f", the last of {count} calls that brought the same",
            identity=("page", features.statement),
            refused=(),
            details={"tool": features.tool, "count": count, "result_hash": features.result},
            is_certain=False,
        )
        return replace(found, may_end_run=False)

    def _of_any_tool(self, window: Window, row: List[JudgedCall]) -> LoopDetection:
        tools = list(dict.fromkeys(item.tool for item in row))
        found = detection(
            self.name,
            f"The last {len(row)} rounds failed, found nothing or repeated what was known.",
            row,
            times=f", after {len(row) - 1} rounds that brought nothing either",
            period=min(self.in_a_row, len(row)),
            identity=("any",),
            refused=(),
            details={"tool": tools[-1], "tools": tools, "count": len(row)},
            is_certain=False,
        )
        # Different searches that find nothing may be the last ones of a thorough agent, so the end
        # waits for a second row as long as the first.
        is_firm = _repeats(row, _are_exactly_alike) >= self.repeats
        return replace(
            found,
            spacing=ROW_SPACING if is_firm else self.in_a_row,
            # An earlier loop lends its position only if the last rounds still hold its calls.
            members=found.members[-2:],
            answers=found.answers[-2:],
            inherits=False,
            may_end_run=not (_is_second_pass(window, row) or all(map(_may_be_done, row))),
        )


def _may_be_done(item: JudgedCall) -> bool:
    """Whether a call that seems to have found nothing may have done something."""
    return item.outcome is EMPTY and _may_acknowledge(item.features)


def _may_acknowledge(features: CallFeatures) -> bool:
    """Whether an answer that is always the same may be the right one each time."""
    if features.is_long:
        return False
    # Many questions share an answer such as "The name is available.", and all acts the words "all
    # went well".
    if features.outcome is SUCCESS:
        return features.statement is None or not features.only_looks
    # "No results found" looks; "[]" may be how a tool of unknown effect says that all went well.
    return features.outcome is EMPTY and features.is_terse and not features.only_looks


def _is_fruitless(item: JudgedCall) -> bool:
    """Whether an answer may belong to a streak of one tool."""
    features, kind = item.features, item.outcome
    if features.waits:
        return False
    if kind is SUCCESS and not features.is_long:
        # Many questions share the answer "available" or "0", and every save is acknowledged alike.
        is_answer = features.only_looks or not features.is_terse
        return is_answer and features.is_question
    if kind is WAITING:
        # How long work elsewhere may take is for detectors to judge that know what is waited for.
        return features.is_put_off and not features.is_polled
    if features.is_long:
        return kind.is_failure or not item.is_fresh
    return kind.is_failure or kind is EMPTY or (kind is SILENT and features.only_looks)


def _is_poll(window: Window, streak: List[JudgedCall]) -> bool:
    """Whether the agent looks now and then, between waits, how work elsewhere goes on."""
    # After a failure there is nothing left to wait for.
    fails = any(item.outcome.is_failure for item in streak)
    return not fails and is_paced(window, streak)


def _tries_numbers(streak: List[JudgedCall]) -> bool:
    """Whether one command line was run with one number after the other."""
    is_one = len({item.features.shape for item in streak}) == 1
    return is_one and streak[-1].features.is_command and not _exact(streak)


def _exact(streak: List[JudgedCall]) -> int:
    """Count the calls of a streak that were made before in it."""
    return len(streak) - len({item.call for item in streak})


def _is_second_pass(window: Window, row: List[JudgedCall]) -> bool:
    """Whether a row only looks again at what was seen once: a model forgets, or checks."""
    return all(
        item.outcome in (SUCCESS, EMPTY) and window.occurrences.came(item.features) == 2
        for item in row
    )


def _is_stubborn(row: List[JudgedCall]) -> bool:
    """Whether one tool failed each time, although a call had failed in the same way before."""
    is_repeated = any(item.is_known for item in row)
    return is_repeated and all(item.tool == row[0].tool and item.outcome.is_failure for item in row)


def _repeats(row: List[JudgedCall], are_alike: Callable[[CallFeatures, CallFeatures], bool]) -> int:
    """Count the rounds that repeat the answer of an earlier round of the row."""
    return sum(
        item.is_known or any(are_alike(item.features, each.features) for each in row[:place])
        for place, item in enumerate(row)
    )


def _are_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two rounds failed in the same way, or found nothing with the same tool."""
    kind = one.outcome
    if kind.is_failure:
        return say_alike(one, other)
    # Two tools that find nothing looked in two places.
    if kind is not other.outcome or one.tool != other.tool:
        return False
    return one.result == other.result or not kind.says_something


def _are_exactly_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two rounds failed in the same way, or looked for the same and found nothing."""
    return _are_alike(one, other) and (one.outcome.is_failure or one.near == other.near)
