"""The ladders of the loops of a run."""

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Tuple

from .._short_repr import repr_of_fields
from ..loop_detection import LoopAction, LoopDetector
from ..stability import beta


@beta
@dataclass(frozen=True)
class Rung:
    """The ladder of one loop, and how far the loop has climbed."""

    detector: str
    """The name of the detector that found it."""
    identity: str
    """The key by which it is the same loop next time."""
    actions: Tuple[str, ...]
    """Its ladder, mild to strong; after the last action it stays there."""
    climbed: int
    """The number of rungs that it has behind it, also as another loop of the same calls."""
    found: int
    """The number of times that it took a rung itself, this step included."""
    is_found_now: bool
    """Whether it took one at this step."""
    is_refused: bool
    """Whether its calls are refused from here on."""

    __repr__ = repr_of_fields


def rungs_of(
    detector: LoopDetector, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Rung]:
    """Compare two snapshots of a monitor, and yield the loops that it remembers.

    Args:
        detector: whose ladders.
        before: the snapshot before a step.
        after: the snapshot after it.
    """
    rungs_before = {identity: taken for _, identity, _, taken in _taken_rungs(before)}
    refused = {block[0] for block in after["ladder"]["blocks"]}
    for group, identity, climbed, taken in _taken_rungs(after):
        ladder = detector.escalations.get(group, detector.escalation)
        yield Rung(
            identity.rpartition(":")[0],
            identity,
            tuple(action.value for action in map(LoopAction, ladder.actions)),
            climbed,
            taken,
            taken > rungs_before.get(identity, 0),
            identity in refused,
        )


def _taken_rungs(snapshot: Mapping[str, Any]) -> Iterator[Tuple[str, str, int, int]]:
    """Yield whose ladder it is, the loop, how far it climbed, and how many rungs it took."""
    ladder = snapshot["ladder"]
    for group, rungs in [("", ladder["main"]), *ladder["own"].items()]:
        for identity, climbed, taken, *_ in rungs["loops"]:
            yield group, identity, climbed, taken
