"""The base classes of detectors: pure functions from calls and results to a finding."""

import copy
import inspect
from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import takewhile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, TypeVar

from ..._checks import check_threshold
from ..._frozen import Unchangeable
from ..._short_repr import short_repr
from ..._text.shortening import visible
from ...stability import beta, stable
from ...types import ToolCall
from .._detection import LoopDetection
from .._evidence.answered import Result
from .._evidence.fingerprint import KEY_LENGTH, text_fingerprint
from .._evidence.keys import DeclaredKey, KeyRule
from .._evidence.outcome import REFUSED
from .._evidence.round import JudgedCall
from .._evidence.streak import Patient, is_amid_work, is_early, may_lead_on
from .._evidence.window import USUAL_SIZE, Window
from .._lists import check_lists

T = TypeVar("T")

MESSAGE_LENGTH = 600
"""Largest length of a message, which may contain long names from a model."""
SHOWN_CALLS = 5
"""The number of calls of a loop that a detection names."""
# `git status` beside each new edit is a habit. It may be said once, and again only much later.
BESIDE = 8
"""Rounds between two rungs of a call that is repeated beside new work."""


@stable
class BaseDetector(ABC):
    """Find one kind of loop. Subclass this to write a custom detector.

    A detector keeps no state, has no clock and does no I/O, so one object can serve every run of
    the process. It never raises on what a model or a tool produced.
    """

    name: str = "custom"
    """Name of the detector in verdicts, traces and logs: each class has its own."""

    def __repr__(self) -> str:
        return short_repr(self, f"name={self.name!r}")

    @abstractmethod
    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Check a run's calls and results so far.

        Args:
            tool_calls: oldest first.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``. The list may be shorter
                and may hold None: such results are unknown. A plain string is a success.

        Returns:
            The loop that contains the run's last round, or None.
        """


@beta
class WindowDetector(Unchangeable, BaseDetector):
    """Find one kind of loop in the window, which holds fingerprints instead of texts.

    All built-in detectors of calls are of this kind. Subclass it for a detector that compares
    something else: `keys` declares it, `find` compares it. A run that is resumed in another process
    is then judged as the unbroken one.
    """

    span: int = 2
    """Rounds that the window must hold for the detector to fire at all."""

    def __repr__(self) -> str:
        return repr_of_options(self)

    ignores_new_rounds: bool = False
    """Whether a round of new calls never completes a loop where each succeeded with a new answer or
    changed the world, so that `find` is not called. A subclass that overrides `find` declares it
    again."""

    keys: Mapping[str, KeyRule] = {}
    """Functions of a call and its result that give what the detector compares, by name.

    The engine computes each once, when the result arrives, and keeps it in the window and in
    snapshots; `find` reads it as ``item.key(name)``. A text is kept as a fingerprint, a whole
    number of 0 or more as digits that sort like the number. The rules get the arguments parsed,
    and the result as a `ToolResult`, None where it is unknown; one that raises gives None.
    """

    look_back: int = 0
    """The rounds to look back in a detector that allows other calls in between."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "find" in vars(cls) and "ignores_new_rounds" not in vars(cls):
            cls.ignores_new_rounds = False

    @property
    def counted(self) -> Iterable[str]:
        """Tools whose calls must be counted beyond the window, by name."""
        return ()

    @property
    def reach(self) -> int:
        """Largest number of rounds for a first finding."""
        return max(self.span, self.look_back)

    def with_values(self: T, **values: Any) -> T:
        """Copy the detector with other values, even some that its constructor would refuse.

        An explanation asks such a copy how far a loop has got.
        """
        other = copy.copy(self)
        vars(other).update(values)
        return other

    @abstractmethod
    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check a window; only loops that contain its last round count."""

    def detection(self, message: str, found: Sequence[JudgedCall], **details: Any) -> LoopDetection:
        """Make a detection of this detector.

        Args:
            message: one sentence for a person; the notice to the model quotes it.
            found: the calls of the loop, oldest first. A block refuses calls equal to these.
            details: further fields of its details, plain JSON.

        Raises:
            TypeError: for anything but one or more calls.
        """
        if not (found and all(isinstance(item, JudgedCall) for item in found)):
            raise TypeError(
                f"detection takes the calls of the loop, one or more, got {found!r};"
                " pass the items of `evidence`"
            )
        return detection(self.name, message, found, details=details)

    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Check a run's calls and results so far; see `BaseDetector.check`.

        Raises:
            TypeError: for anything but a list of `ToolCall` and a list of results.
        """
        # A run of 100,000 calls is not compared as a whole: what a loop needs lies at its end. The
        # window grows until it holds the whole loop, as a count must not depend on where it was
        # cut. It begins with the usual size, as whether a call is new depends on those before it.
        size, keys = max(USUAL_SIZE, 4 * self.reach), keys_of([self])
        while True:
            check_lists("check", tool_calls, tool_results, size)
            window = Window(size, counted=self.counted, keys=keys).fill(tool_calls, tool_results)
            found = self.find(window) if window.rounds else None
            check_finding(self, found)
            if size >= len(tool_calls) or self._is_whole(window, found):
                return found
            size *= 4

    def _is_whole(self, window: Window, found: Optional[LoopDetection]) -> bool:
        """Whether looking further back cannot change the answer."""
        rounds = window.rounds
        if found is None or not found.indices:
            return len(rounds) > self.reach
        # The first round may be cut, so only a later one can show where a loop began.
        begin = found.period + 1
        return len(rounds) > begin and found.indices[0] >= rounds[begin].evidence[0].index


class ThresholdDetector(WindowDetector):
    """A detector that counts rounds up to a threshold, which may be another one for a tool."""

    def __init__(self, threshold: int) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.span: int = threshold

    def _needed_of(self, window: Window, tool: str) -> int:
        return window.threshold(self.name, tool, self.threshold)


def check_finding(detector: BaseDetector, found: Any) -> None:
    """Raise TypeError for anything but a detection or None."""
    if not (found is None or isinstance(found, LoopDetection)):
        method = "find" if isinstance(detector, WindowDetector) else "check"
        raise TypeError(
            f"{type(detector).__name__}.{method} must return a LoopDetection or None, got {found!r}"
        )


def keys_of(detectors: Iterable[WindowDetector]) -> Dict[str, DeclaredKey]:
    """Return the keys that detectors declare, by name.

    Raises:
        TypeError: if a detector declares anything but functions by name.
        ValueError: if two detectors mean different things by one name.
    """
    keys: Dict[str, DeclaredKey] = {}
    for detector in detectors:
        declared: Any = detector.keys
        if not (isinstance(declared, Mapping) and all(map(_is_rule, declared.items()))):
            raise TypeError(
                f"detector {detector.name!r}: keys must map names to functions of a call and its"
                f" result, got {declared!r}; write keys = {{'id': id_of}}"
            )
        for name, rule in declared.items():
            known = keys.setdefault(name, DeclaredKey(detector.name, name, rule))
            if known.rule is not rule:
                raise ValueError(
                    f"detector {detector.name!r} declares the key {name!r} in another way than a"
                    " detector before it; give it another name"
                )
    return keys


def _is_rule(item: Tuple[Any, Any]) -> bool:
    name, rule = item
    return isinstance(name, str) and callable(rule)


def patience_of(threshold: int, patience: Optional[int], patience_s: Optional[int] = None) -> int:
    """Return the patience of a detector, by default its threshold.

    Raises:
        ValueError: if it is below the threshold, or the time is not a whole number of seconds.
    """
    if patience_s is not None:
        check_threshold("patience_s", patience_s, 1)
    return weaker_count("patience", patience, threshold)


def weaker_count(name: str, count: Optional[int], threshold: int) -> int:
    """Return the rounds that weaker evidence needs, by default the threshold; never fewer."""
    if count is None:
        return threshold
    check_threshold(name, count, threshold)
    return count


def repr_of_options(detector: BaseDetector) -> str:
    """Return the repr of a built-in detector: its first option, and the others that are set."""
    options = list(inspect.signature(type(detector)).parameters.values())
    values = [(each, getattr(detector, each.name, each.default)) for each in options]
    shown = values[:1] + [pair for pair in values[1:] if pair[1] != pair[0].default]
    return short_repr(detector, *(f"{each.name}={value!r}" for each, value in shown))


def detection(
    detector: str,
    message: str,
    found: Sequence[JudgedCall],
    *,
    period: int = 1,
    lap: Optional[Sequence[JudgedCall]] = None,
    identity: Optional[Iterable[Optional[str]]] = None,
    details: Optional[Dict[str, Any]] = None,
    refused: Optional[Tuple[str, ...]] = None,
    is_certain: bool = True,
    times: str = "",
    label: str = "",
) -> LoopDetection:
    """Build a detection.

    Args:
        detector: the detector's name.
        message: one sentence for a person.
        found: the calls of the loop, oldest first.
        period: rounds per lap.
        lap: the calls of the last lap; by default the last call.
        identity: what identifies the loop next time; by default the calls' fingerprints.
        details: fields to add to the common details.
        refused: keys of the calls that a block refuses; by default the calls themselves.
        is_certain: whether the finding needs no second opinion.
        times: how often, to follow the calls in the summary; without it that is the message.
        label: the calls in the summary; by default those of the last lap.
    """
    lap = found[-1:] if lap is None else lap
    label, answer = visible(label or _named(lap), MESSAGE_LENGTH), visible(found[-1].features.said)
    # A lap of several calls has as many answers, of which the last one tells little.
    listed = f': "{answer}"' if answer and len(lap) == 1 else ""
    by_key = {item.call: item.features for item in found}
    members = tuple([features.call for features in by_key.values()])
    # Sorted, so that calls of one round in another order are the same loop.
    named = sorted(members) if identity is None else [str(part) for part in identity]
    indices = [item.index for item in found]
    return LoopDetection(
        detector_name=detector,
        message=visible(message, MESSAGE_LENGTH),
        details={
            **(details or {}),
            # The kind of answer, never its text: details may reach the model.
            "answer": found[-1].outcome.name.lower(),
            "indices": indices,
            "calls": [
                {"tool": item.tool, "arguments": item.features.shown.label}
                for item in lap[-SHOWN_CALLS:]
            ],
        },
        identity=f"{detector}:{text_fingerprint(' '.join(named))[:KEY_LENGTH]}",
        period=period,
        repetitions=len(found) // len(lap),
        indices=tuple(indices),
        call_ids=tuple(
            item.call_id for item in lap[-SHOWN_CALLS:] if isinstance(item.call_id, str)
        ),
        wasted_calls=len(found) - len(lap),
        members=members,
        answers=_answers(found),
        refused=refused,
        is_certain=is_certain,
        summary=f"{label}{times}{listed}" if times else "",
        label=label,
        answer=answer,
    )


def _answers(found: Sequence[JudgedCall]) -> Tuple[Optional[str], ...]:
    """Return the answer of each call; None where it has several or none that says anything new."""
    answers: Dict[str, Set[str]] = {}
    for item in found:
        features, known = item.features, answers.setdefault(item.call, set())
        # Of a refused call the tool's answer is not known, and another failure is not progress.
        if features.steady and not (features.outcome is REFUSED or features.outcome.is_failure):
            known.add(features.steady)
    return tuple(known.pop() if len(known) == 1 else None for known in answers.values())


def eased(
    found: LoopDetection, window: Window, detector: Patient, streak: Sequence[JudgedCall]
) -> LoopDetection:
    """Return a finding that ends no run where only the clock says that its calls waited long."""
    if not is_early(window, detector, streak):
        return found
    return replace(found, may_end_run=False, spacing=detector.patience)


def spaced(found: LoopDetection, window: Window, streak: Sequence[JudgedCall]) -> LoopDetection:
    """Return a finding that takes its next rung much later where its calls are a habit.

    What may lead to the next piece of work is not refused.
    """
    if may_lead_on(window, streak):
        return replace(found, refused=(), may_end_run=False)
    return replace(found, spacing=BESIDE) if is_amid_work(window, streak) else found


def call_names(items: Sequence[JudgedCall]) -> List[str]:
    """Name calls for a person: each by its tool, and its telling text or all its arguments."""
    shown = [item.features.shown for item in items]
    named = []
    for item, each, words in zip(items, shown, _apart([each.words for each in shown])):
        arguments = f'"{words}"' if words else each.label if each.label != "{}" else ""
        named.append(f"{item.tool} {arguments}".rstrip())
    return named


def _named(lap: Sequence[JudgedCall]) -> str:
    more = f" and {len(lap) - SHOWN_CALLS} more" if len(lap) > SHOWN_CALLS else ""
    return " + ".join(call_names(lap[:SHOWN_CALLS])) + more


def _apart(texts: Sequence[str]) -> Sequence[str]:
    """Cut what long texts begin with alike, as commands do that first enter the same folder."""
    if len(texts) < 2 or max(map(len, texts)) < 60:
        return texts
    alike = takewhile(lambda chars: len(set(chars)) == 1, zip(*texts))
    cut = sum(1 for _ in alike) - 20
    return [f"...{text[cut:]}" for text in texts] if cut > 3 else texts
