"""Where the loops of a run stand on their ladders."""

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Tuple

from ..loop_detection import LoopAction, LoopDetector
from ..stability import beta


@beta
@dataclass(frozen=True)
class Rung:
    """Where one loop stands."""

    detector: str
    """Which detector found it."""
    identity: str
    """What makes it the same loop next time."""
    actions: Tuple[str, ...]
    """Its ladder, mild to strong; after the last action it stays there."""
    found: int
    """How often it was found as a further lap, this step included."""
    is_found_now: bool
    """Whether this step is such a further lap."""
    is_refused: bool
    """Whether its calls are refused from here on."""


def rungs_of(
    detector: LoopDetector, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Rung]:
    """Compare two snapshots of a monitor, and yield the loops that it remembers.

    Args:
        detector: whose ladders.
        before: the snapshot before a step.
        after: the snapshot after it.
    """
    found_before = {identity: found for identity, found, _ in before["ladder"]["loops"]}
    for identity, found, _ in after["ladder"]["loops"]:
        name = identity.rpartition(":")[0]
        ladder = detector.escalations.get(name, detector.escalation)
        yield Rung(
            name,
            identity,
            tuple(action.value for action in map(LoopAction, ladder.actions)),
            found,
            found > found_before.get(identity, 0),
            after["ladder"].get("blocked_by") == identity,
        )
