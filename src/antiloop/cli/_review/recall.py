"""Count the labeled loops that a detector finds, and what each change of it costs."""

import copy
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ...loop_detection import LoopAction, LoopDetector
from ...traces import RecordedRun, replay
from .labels import LabeledSteps

Marked = Sequence[Tuple[RecordedRun, Sequence[LabeledSteps]]]
"""Runs, each with the stretches in which its agent is stuck."""


@dataclass(frozen=True)
class Recall:
    """Counts over labeled loops."""

    loops: int
    caught: int
    """Those with any verdict in them."""
    ended: int
    """Those in which a call is blocked, or the run ends."""


def recall_of(marked: Marked, detector: LoopDetector) -> Recall:
    """Replay runs and count what is found of their loops.

    A verdict on the round after a loop counts, too: it is about the calls of the loop.
    """
    loops = caught = ended = 0
    for run, stretches in marked:
        said = [(step, verdict.action) for step, verdict in replay(run, detector)]
        for first, last in stretches:
            actions = [action for step, action in said if first <= step <= last + 1]
            loops += 1
            caught += bool(actions)
            ended += any(action is not LoopAction.NOTIFY for action in actions)
    return Recall(loops, caught, ended)


def costs(
    marked: Marked, before: LoopDetector, after: Mapping[str, Any]
) -> Iterator[Tuple[str, int, int]]:
    """Yield each change, and how many loops are not caught, and not ended, for it alone."""
    old, was = before.to_config(), recall_of(marked, before)
    new = LoopDetector.from_config(after).to_config()
    for name, place in _places(old, new, [each.name for each in before.detectors]):
        config = copy.deepcopy(old)
        holder, key = config[place[0]], place[1]
        holder[key] = new[place[0]][key]
        now = recall_of(marked, LoopDetector.from_config(config))
        yield name, was.caught - now.caught, was.ended - now.ended


def _places(
    old: Mapping[str, Any], new: Mapping[str, Any], names: List[str]
) -> Iterator[Tuple[str, Tuple[str, Any]]]:
    """Yield what differs, by detector, by tool and by ladder: one change for each of them."""
    for at, name in enumerate(names):
        if old["detectors"][at] != new["detectors"][at]:
            yield name, ("detectors", at)
    groups: Dict[str, str] = {"tools": "tool {!r}", "escalations": "actions of {}"}
    for group, title in groups.items():
        for key in new[group]:
            if old[group].get(key) != new[group][key]:
                yield title.format(key), (group, key)
