"""The conversations that were judged last, so that the next request of one costs only its news."""

import marshal
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ...loop_detection import LoopDetector, LoopMonitor, LoopVerdict
from ...loop_detection.config import TYPES
from ...loop_detection.evidence.textless import Missed

_VERSION = 2
"""Of the byte form: from 3 on, equal values may have different bytes."""
_PLACES = 100
"""How many messages may be new."""
_OVERHEAD = 10
"""What a conversation takes besides its calls, in calls."""


@dataclass(frozen=True)
class Known:
    """A conversation up to a place, as far as it is kept."""

    monitor: LoopMonitor
    """The monitor that has seen it. It keeps no text of it."""
    missed: Missed
    """Whether the monitor has needed such a text."""
    calls: int
    """Calls of the turn."""
    verdict: Optional[LoopVerdict]
    """The verdict on the last round, if nothing was found; None otherwise."""


Place = Tuple[int, bytes]
"""A number of messages, and the hash of these messages."""


class KnownConversations:
    """Conversations by the hash of all their messages, those that were judged last.

    A conversation is taken out to go on with it, so each state has one user at a time. Several
    threads may use it.

    Args:
        detector: the detector that judges them.
        most_calls: how many calls are kept; about 1.5 kB each. A conversation keeps its window.
    """

    def __init__(self, detector: LoopDetector, most_calls: int) -> None:
        self.detector = detector
        self.most_calls = most_calls
        self.is_used = most_calls > 0 and _needs_no_texts(detector)
        self._lock = Lock()
        self._known: Dict[bytes, Known] = {}
        self._size = 0

    def __reduce__(self) -> Tuple[Any, ...]:
        # What is known belongs to the process.
        return KnownConversations, (self.detector, self.most_calls)

    def __len__(self) -> int:
        """Count the conversations."""
        return len(self._known)

    def places(self, name: str, messages: Sequence[Any]) -> List[Place]:
        """Return up to where a conversation may be known, the whole of it first.

        Args:
            name: what tells it from conversations that are read otherwise.
            messages: all of it; there are no places if it holds anything but plain values.
        """
        if not self.is_used or not messages:
            return []
        first = max(1, len(messages) - _PLACES)
        try:
            written = [marshal.dumps(each, _VERSION) for each in messages]
        except ValueError:
            return []
        so_far = sha256(marshal.dumps(name, _VERSION) + b"".join(written[:first]))
        places = [(first, so_far.digest())]
        for count in range(first, len(messages)):
            so_far.update(written[count])
            places.append((count + 1, so_far.digest()))
        return places[::-1]

    def take(self, places: Sequence[Place]) -> Tuple[int, Optional[Known]]:
        """Return what is known up to the first of these places that is known, and take it out.

        What is known of a whole conversation stays: the request is a repeated one.
        """
        with self._lock:
            for place in places:
                known = self._taken(place[1])
                if known is not None:
                    if place is places[0]:
                        self._put(place[1], known)
                    return place[0], known
        return 0, None

    def keep(self, place: Place, known: Known) -> None:
        """Keep what is known up to a place, and forget what was used longest ago."""
        with self._lock:
            self._taken(place[1])
            self._put(place[1], known)
            while self._size > self.most_calls:
                self._taken(next(iter(self._known)))

    def _put(self, key: bytes, known: Known) -> None:
        self._known[key] = known
        self._size += _size(known)

    def _taken(self, key: bytes) -> Optional[Known]:
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= _size(known)
        return known


def _size(known: Known) -> int:
    return _OVERHEAD + len(list(known.monitor.window))


def _needs_no_texts(detector: LoopDetector) -> bool:
    """Whether a detector can go on without the texts of earlier calls.

    A judge reads them, and a detector of the user's own may.
    """
    own = TYPES.values()
    return detector.second_opinion is None and all(type(each) in own for each in detector.detectors)
