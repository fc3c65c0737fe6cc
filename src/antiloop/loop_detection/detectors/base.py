"""The base classes of detectors: pure functions from calls and results to a finding."""

import inspect
from abc import ABC, abstractmethod
from typing import Any, Dict, Iterable, Optional, Sequence, Tuple

from ...short_repr import short_repr
from ...stability import beta
from ...types import ToolCall
from ..detection import LoopDetection
from ..evidence.compared import Result
from ..evidence.fingerprint import KEY_LENGTH, text_fingerprint
from ..evidence.judged_call import JudgedCall
from ..evidence.window import Window
from ..text.shortening import visible

MESSAGE_LENGTH = 600
"""Largest length of a message, which may contain long names from a model."""
SHOWN_CALLS = 5
"""How many calls of a loop a detection names."""


@beta
class BaseDetector(ABC):
    """Find one kind of loop. Subclass this to write a custom detector.

    A detector keeps no state, has no clock and does no I/O, so one object can serve every run of
    the process. It never raises on what a model or a tool produced.
    """

    name: str = "custom"
    """Name of the detector in verdicts, traces and logs."""

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


class WindowDetector(BaseDetector):
    """A detector that reads the window, which all such detectors share."""

    span: int
    """Rounds that the window must hold for the detector to fire at all."""

    def __repr__(self) -> str:
        options = list(inspect.signature(type(self)).parameters.values())
        values = [(each, getattr(self, each.name, each.default)) for each in options]
        shown = values[:1] + [pair for pair in values[1:] if pair[1] != pair[0].default]
        return short_repr(self, *(f"{each.name}={value!r}" for each, value in shown))

    ignores_new_rounds: bool = False
    """Whether a round of new calls with new, successful answers never completes a loop, so that
    `find` is not called. A subclass that overrides `find` declares it again."""

    look_back: int = 0
    """How many rounds to look back in a detector that allows other calls in between."""

    def __init_subclass__(cls) -> None:
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

    @abstractmethod
    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check a window; only loops that contain its last round count."""

    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Check a run's calls and results so far; see `BaseDetector.check`."""
        size = 4 * self.reach
        while True:
            window = Window.of(tool_calls, tool_results, size, counted=self.counted)
            found = self.find(window)
            if size >= len(tool_calls) or self._is_whole(window, found):
                return found
            size *= 4

    def _is_whole(self, window: Window, found: Optional[LoopDetection]) -> bool:
        """Whether looking further back cannot change the answer."""
        rounds = window.rounds
        if found is None:
            return len(rounds) > self.reach
        # The first round may be cut, so only a later one can show where a loop began.
        begin = found.period + 1
        return len(rounds) > begin and found.indices[0] >= rounds[begin].evidence[0].index


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
    """
    lap = found[-1:] if lap is None else lap
    by_key = {item.features.call_key: item.features for item in found}
    members = tuple([features.call for features in by_key.values()])
    named = sorted(members) if identity is None else [str(part) for part in identity]
    indices = [item.index for item in found]
    return LoopDetection(
        detector_name=detector,
        message=visible(message, MESSAGE_LENGTH),
        details={
            **(details or {}),
            "answer": found[-1].features.outcome.name.lower(),
            "indices": indices,
            "calls": [
                {"tool": item.features.tool, "arguments": item.features.shown.label}
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
        refused=refused,
        is_certain=is_certain,
    )
