"""The thresholds of a detector: which of them let a loop through, and what raising one means."""

import copy
from dataclasses import dataclass
from math import inf
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple, Union

from .._short_repr import Shown
from ..loop_detection import Escalation, LoopDetection, LoopDetector
from ..stability import beta


@beta
@dataclass(frozen=True, repr=False)
class Change(Shown):
    """One setting before and after."""

    detector: str
    """The name of the detector that it belongs to; empty for a policy of a tool."""
    option: str
    """The setting: an option of the detector; ``actions``: what it does; ``threshold of 'x'`` or
    ``limit of 'x'``: for the tool x alone; ``poll of 'x'`` or ``exempt of 'x'``."""
    before: Any
    """A number, True, or the names of the actions; None where nothing was set."""
    after: Any
    """Likewise."""


def changes(before: LoopDetector, after: LoopDetector) -> Tuple[Change, ...]:
    """List what was changed, in the order of the detectors, which must be the same."""
    old, new = dict(_settings(before)), dict(_settings(after))
    return tuple(
        Change(place[1], place[2], old.get(place), value)
        for place, value in new.items()
        if value != old.get(place)
    )


def _settings(detector: LoopDetector) -> Iterator[Tuple[Tuple[int, str, str], Any]]:
    """Yield each setting with its place: two detectors may bear the same name."""
    config = detector.to_config()
    for at, (each, options) in enumerate(zip(detector.detectors, config["detectors"])):
        for option, value in _options(options):
            yield (at, each.name, option), value
        if each.name in detector.escalations:
            yield (at, each.name, "actions"), config["escalations"][each.name]["actions"]
    for tool, policy in config["tools"].items():
        for name, threshold in policy["thresholds"].items():
            yield (-1, name, f"threshold of {tool!r}"), threshold
        for name in ("poll", "exempt"):
            if policy[name]:
                yield (-1, "", f"{name} of {tool!r}"), policy[name]


def _options(options: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    for option, value in options.items():
        if option == "per_tool":
            yield from ((f"limit of {tool!r}", cap) for tool, cap in value.items())
        else:
            yield option, value


Place = Tuple[Union[str, int], ...]
"""The place of a setting in a configuration, as the keys that lead there."""

COUNTS = ("threshold", "repetitions", "patience", "varied", "in_a_row", "limit")
"""Options that say how often is too often, those that others may not be smaller than first."""
_OF_TOOLS = ("threshold", "repetitions", "patience")
"""Options in whose place a tool may have its own threshold."""
FEW = 50
"""Up to here every number is tried."""
NOT_BELOW = {
    "patience": ("threshold", "repetitions"),
    "unseen": ("threshold",),
    "varied": ("threshold",),
}
"""Options that may not be smaller than certain others."""


class Thresholds:
    """A configuration whose thresholds go up step by step, and down the same steps.

    A step is one; from 50 on, a tenth. A longest cycle that no longer fits into the window is
    shortened. A detector whose threshold would leave the window only notifies from then on.
    """

    def __init__(self, detector: LoopDetector, max_raise: float = inf) -> None:
        self._config = detector.to_config()
        self._max_raise = max_raise
        self._declared: Dict[Place, int] = {}
        self._names = [each.name for each in detector.detectors]
        self._steps: Dict[Place, List[Any]] = {}

    def detector(self) -> LoopDetector:
        """Make a detector with the thresholds as they are now."""
        return LoopDetector.from_config(self.config())

    def config(self) -> Dict[str, Any]:
        """Return the configuration with the thresholds as they are now."""
        config = copy.deepcopy(self._config)
        for place, value in self._declared.items():
            if place in self._steps:
                policy = config["tools"].setdefault(place[1], {})
                policy.setdefault("thresholds", {})[place[3]] = value
        for place, values in self._steps.items():
            _get(config, place[:-1])[place[-1]] = values[-1]
        for options in config["detectors"]:
            _make_consistent(options, config["window"])
        return config

    def declare_tools(self, stops: Sequence[LoopDetection]) -> None:
        """Declare a threshold for each tool over which alone a detector stopped good runs."""
        tools: Dict[str, Set[str]] = {}
        for found in stops:
            tools.setdefault(found.detector_name, set()).add(str(found.details.get("tool", "")))
        for found in stops:
            name, tool = found.detector_name, str(found.details.get("tool", ""))
            place = self.reached(found)
            if tool and len(tools[name]) == 1 and place[0] == "detectors" and place[2] in _OF_TOOLS:
                self._declared["tools", tool, "thresholds", name] = _get(self.config(), place)

    def raised(self) -> List[Place]:
        """Name what was raised, the most steps first."""
        return sorted(self._steps, key=lambda place: -len(self._steps[place]))

    def reached(self, found: LoopDetection) -> Place:
        """Name the threshold that let a loop be found: the highest that it had reached."""
        config, streak = self.config(), found.details.get("limit", found.repetitions)
        values = {place: self._value(place) for place in self._candidates(config, found)}
        reached = [
            place for place, value in values.items() if value is not None and value <= streak
        ]
        if not reached:
            return ("escalations", found.detector_name)
        return max(reached, key=values.__getitem__)

    def raise_one(self, place: Place, detector_name: str) -> bool:
        """Raise a threshold by one step; say whether anything was left to raise."""
        if place[0] == "escalations":
            return self._only_notify(place)
        value = self._value(place)
        higher = value + (1 if value < FEW else value // 10)
        if higher >= self._max_raise * self._first(place):
            return False
        self.push(place, higher)
        if self._is_possible():
            return True
        self.lower_one(place)
        return self._only_notify(("escalations", detector_name))

    def lower_one(self, place: Place) -> Any:
        """Take the last step of a setting back, and return the value that it led to."""
        values = self._steps[place]
        value = values.pop()
        if not values:
            del self._steps[place]
        return value

    def _value(self, place: Place) -> Any:
        if place in self._declared and place not in self._steps:
            return self._declared[place]
        return _get(self.config(), place)

    def _first(self, place: Place) -> Any:
        """Return the value that a threshold had to begin with."""
        declared = self._declared.get(place)
        return _get(self._config, place) if declared is None else declared

    def push(self, place: Place, value: Any) -> None:
        """Add a step of a setting; with what `lower_one` gave, undo that."""
        self._steps.setdefault(place, []).append(value)

    def _only_notify(self, place: Place) -> bool:
        is_new = place not in self._steps
        if is_new:
            only_notify = LoopDetector.default(policy=Escalation(("notify",)))
            self.push(place, only_notify.to_config()["policy"])
        return is_new

    def _is_possible(self) -> bool:
        try:
            self.detector()
        except ValueError:
            return False
        return True

    def _candidates(self, config: Mapping[str, Any], found: LoopDetection) -> List[Place]:
        """List the thresholds of a detector, those for the tool of a finding included."""
        name, tool = found.detector_name, str(found.details.get("tool"))
        places: List[Place] = []
        declared = ("tools", tool, "thresholds", name)
        if declared in self._declared:
            return [declared]  # it holds for the tool whatever the options of the detector say
        if name in config["tools"].get(tool, {}).get("thresholds", {}):
            places.append(declared)
        for at, known in enumerate(self._names):
            options = config["detectors"][at] if known == name else {}
            places += [("detectors", at, option) for option in COUNTS if option in options]
            if tool in options.get("per_tool", {}):
                places.append(("detectors", at, "per_tool", tool))
        return places


def _get(config: Mapping[str, Any], place: Place) -> Any:
    value: Any = config
    for key in place:
        value = value[key]
    return value


def _make_consistent(options: Dict[str, Any], window: int) -> None:
    for option, bases in NOT_BELOW.items():
        if option in options:
            options[option] = max(options[option], *(options.get(base, 0) for base in bases))
    if "cycle_length" in options:
        fitting = max(2, window // options["repetitions"])
        options["cycle_length"] = min(options["cycle_length"], fitting)
