"""A detection: what a detector returns when it finds a loop."""

from dataclasses import dataclass, field, replace
from typing import Any, List, Mapping, Optional, Tuple

from .._frozen import frozen
from .._short_repr import quoted, short_repr
from .._text_enum import TextEnum
from ..exceptions import LoopDetectedError
from ..stability import stable


@stable
class LoopSeverity(TextEnum):
    """The severity of a verdict."""

    OK = "ok"
    """Nothing was found, or nothing new."""
    WARNING = "warning"
    """The model receives a notice."""
    CRITICAL = "critical"
    """Calls are blocked, or the run ends."""


@stable
@dataclass(frozen=True)
class LoopDetection:
    """One loop that a detector found, as a sentence and as data."""

    detector_name: str
    """Name of the detector, e.g. ``"repeat"``."""
    message: str
    """The finding in one sentence, for a person."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The finding as plain JSON; ``indices`` are the calls of the loop, counted from 0."""
    severity: LoopSeverity = LoopSeverity.WARNING
    """Set by the policy: ``warning`` for a notice, ``critical`` for a stronger action."""
    identity: str = ""
    """Equal for two detections of the same loop: same kind, same calls, cycles up to rotation."""
    period: int = 1
    """Rounds in one lap."""
    repetitions: int = 0
    """Laps of the loop so far. In a monitor those that have left the window count, too."""
    indices: Tuple[int, ...] = ()
    """The calls of the loop, counted from the start of the run, oldest first."""
    call_ids: Tuple[str, ...] = ()
    """Ids of the last calls of the loop, at most five, if the provider gave ids."""
    wasted_calls: int = 0
    """Number of calls that brought nothing new: all calls after the first lap. In a monitor those
    that have left the window count, too."""
    members: Tuple[str, ...] = ()
    """Fingerprints of the calls in the loop."""
    answers: Tuple[Optional[str], ...] = ()
    """For each member, the fingerprint of its answer without noise. None where the answer is not
    known, is a failure, or is not always the same."""
    refused: Optional[Tuple[str, ...]] = None
    """Keys of the calls that a block refuses; None means the members. Empty if a block would hit
    healthy work: there is a notice instead, and then the last action of the ladder. If the loop
    goes on from one with a notice, its members are refused."""
    is_lasting: bool = False
    """Whether a block stays when the agent does something else, as the block of a budget does."""
    is_refusal: bool = False
    """Whether it says no more than that a call of a blocked loop was refused again."""
    spacing: int = 1
    """Rounds that must pass before the same loop takes the next rung, 1 or more."""
    inherits: bool = True
    """Whether this loop continues on the rung of an overlapping loop that was found earlier. False
    for several different calls, which need not have been part of that loop."""
    may_end_run: bool = True
    """Whether the ladder may end the run over it. False for what may be a habit beside work."""
    is_certain: bool = True
    """Whether no judge is asked about it. False if the calls are only nearly the same, or other
    work lies between them."""
    # Texts for a person take no part in equality: a run that was resumed no longer has them all.
    summary: str = field(default="", compare=False)
    """The finding for a person: the calls, how often, and the tool's answer, masked and escaped.
    It quotes a tool, so it is never sent to a model; by default the message."""
    label: str = field(default="", compare=False)
    """Names of the calls of a lap, each with its command line or another telling text, masked and
    escaped; empty if they are not known."""
    answer: str = field(default="", compare=False)
    """Both ends of the last answer, masked and escaped; empty if it is not known."""

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.detector_name), quoted(self.message))

    def __post_init__(self) -> None:
        if not self.summary:
            object.__setattr__(self, "summary", self.message)
        # All listeners receive this one object.
        object.__setattr__(self, "details", frozen(self.details))

    @property
    def calls(self) -> List[Tuple[str, str]]:
        """Tool and arguments of the calls of the last lap, at most five, masked and shortened.

        A custom detector may store something else under the same key; then there are none.
        """
        return named_calls(self.details)

    def as_error(self) -> LoopDetectedError:
        """Return the finding as an exception that carries this detection."""
        error = LoopDetectedError(self.message, self.detector_name, self.details)
        error.detection = self
        return error


def named_calls(details: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Return tool and arguments of the calls that details name; see `LoopDetection.calls`."""
    calls = details.get("calls")
    listed = calls if isinstance(calls, (list, tuple)) else ()
    return [
        (str(call["tool"]), str(call.get("arguments", "")))
        for call in listed
        if isinstance(call, Mapping) and "tool" in call
    ]


def lengthened(found: LoopDetection, calls: int) -> LoopDetection:
    """Return a finding with the count of a loop of that many calls.

    A detector counts within its window; the run may know of calls that have left it.
    """
    seen = len(found.indices)
    if not seen or calls <= seen:
        return found
    if found.wasted_calls:  # a custom detector need not say what was wasted
        found = replace(found, wasted_calls=found.wasted_calls + calls - seen)
    # Findings of the same calls have laps of one size, so the calls give the laps.
    laps = calls * found.repetitions // seen
    if laps <= found.repetitions:
        return found
    of_laps, of_rounds = found.repetitions, found.repetitions * found.period
    counts = {of_rounds: laps * found.period, of_laps: laps}
    known = {name: found.details.get(name) for name in ("count", "repetitions")}
    details = {name: counts[value] for name, value in known.items() if value in counts}
    old, new = f"{found.repetitions} ", f"{laps} "
    message, summary = found.message, found.summary
    if summary != message:
        # The names of calls come from a model and may hold any number; the count stands after them.
        rest = summary[len(found.label) :]
        summary = found.label + rest.replace(f" {old}", f" {new}", 1)
        before, times, after = message.rpartition(f"{old}times")
        message = f"{before}{times and new + 'times'}{after}"
    return replace(
        found,
        repetitions=laps,
        details={**found.details, **details},
        message=message,
        summary=summary,
    )
