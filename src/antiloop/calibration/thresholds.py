"""The thresholds of a detector: which of them let a loop through, and what raising one means."""

import copy
from typing import Any, Dict, List, Mapping, Tuple, Union

from ..loop_detection import LoopDetection, LoopDetector

Place = Tuple[Union[str, int], ...]
"""The place of a setting in a configuration, as the keys that lead there."""

COUNTS = ("threshold", "repetitions", "patience", "varied", "in_a_row", "limit")
"""Options that say how often is too often, those that others may not be smaller than first."""
FEW = 50
"""Up to here every number is tried."""
NOT_BELOW = {"patience": ("threshold", "repetitions"), "varied": ("threshold",)}
"""Options that may not be smaller than certain others."""


class Thresholds:
    """A configuration whose thresholds go up step by step, and down the same steps.

    A step is one; from 50 on, a tenth. A longest cycle that no longer fits into the window is
    shortened. A detector whose threshold would leave the window only notifies from then on.
    """

    def __init__(self, detector: LoopDetector) -> None:
        self._config = detector.to_config()
        self._names = [each.name for each in detector.detectors]
        self._steps: Dict[Place, List[Any]] = {}

    def detector(self) -> LoopDetector:
        """Make a detector with the thresholds as they are now."""
        return LoopDetector.from_config(self.config())

    def config(self) -> Dict[str, Any]:
        """Return the configuration with the thresholds as they are now."""
        config = copy.deepcopy(self._config)
        for place, values in self._steps.items():
            _put(config, place, values[-1])
        for options in config["detectors"]:
            _make_consistent(options, config["window"])
        return config

    def raised(self) -> List[Place]:
        """Name what was raised, the most steps first."""
        return sorted(self._steps, key=lambda place: -len(self._steps[place]))

    def reached(self, found: LoopDetection) -> Place:
        """Name the threshold that let a loop be found: the highest that it had reached."""
        config, streak = self.config(), found.details.get("limit", found.repetitions)
        values = {place: _get(config, place) for place in self._candidates(config, found)}
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
        value = _get(self.config(), place)
        self._push(place, value + (1 if value < FEW else value // 10))
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

    def put_back(self, place: Place, value: Any) -> None:
        """Undo `lower_one`."""
        self._push(place, value)

    def _push(self, place: Place, value: Any) -> None:
        self._steps.setdefault(place, []).append(value)

    def _only_notify(self, place: Place) -> bool:
        is_new = place not in self._steps
        if is_new:
            self._push(place, {"actions": ["notify"]})
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
        if name in config["tools"].get(tool, {}).get("thresholds", {}):
            places.append(("tools", tool, "thresholds", name))
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


def _put(config: Dict[str, Any], place: Place, value: Any) -> None:
    _get(config, place[:-1])[place[-1]] = value


def _make_consistent(options: Dict[str, Any], window: int) -> None:
    for option, bases in NOT_BELOW.items():
        if option in options:
            options[option] = max(options[option], *(options.get(base, 0) for base in bases))
    if "cycle_length" in options:
        fitting = max(2, window // options["repetitions"])
        options["cycle_length"] = min(options["cycle_length"], fitting)
