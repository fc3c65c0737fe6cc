"""What differs between two configurations, threshold by threshold."""

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Tuple

from ..loop_detection import LoopDetector
from ..short_repr import repr_of_fields
from ..stability import beta


@beta
@dataclass(frozen=True)
class Change:
    """One setting before and after."""

    detector: str
    """The name of the detector that it belongs to."""
    option: str
    """Which setting: an option of the detector; ``actions``: what it does; ``threshold of 'x'`` or
    ``limit of 'x'``: for the tool x alone."""
    before: Any
    """A number, or the names of the actions; None where nothing was set."""
    after: Any
    """Likewise."""

    __repr__ = repr_of_fields


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


def _options(options: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    for option, value in options.items():
        if option == "per_tool":
            yield from ((f"limit of {tool!r}", cap) for tool, cap in value.items())
        else:
            yield option, value
